/* Where PoCL keeps what it compiles: without such a folder it offers no device. What lies there is loaded and
 * run, so climg checks it first. */
#ifndef CLIMG_DEVICE_POCL_H
#define CLIMG_DEVICE_POCL_H

#include "settings/environment.h"

#include <stdint.h>
#include <time.h>

/* Gives PoCL climg/pocl below XDG_CACHE_HOME or HOME, or a folder of ours below TMPDIR where that one cannot
 * be written or its disk is full; `verbose` says so. After a crash everything there is removed, which is said
 * unless `quiet`. A folder that the user names by
 * POCL_CACHE_DIR is left as it is. Call it before anything calls OpenCL, and while nothing else reads the
 * environment. */
void pocl_prepare(const struct environment *environment, bool verbose, bool quiet);

/* Before a program is built: removes what PoCL has of it if a file changed since it was compiled. `program`
 * is a hash of all that it depends on. */
void pocl_check(uint64_t program);

/* After it was built, since that time. */
void pocl_built(uint64_t program, const struct timespec *since);

/* Notes the sums of what was compiled since. Without it the next run compiles that again. */
void pocl_remember(void);

/* After a crash: the next run begins with an empty folder. For signal handlers. */
void pocl_distrust(void);

#endif
