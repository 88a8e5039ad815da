/* The folder in which PoCL keeps what it compiles: without one it offers no device. */
#ifndef CLIMG_DEVICE_POCL_H
#define CLIMG_DEVICE_POCL_H

#include "settings/environment.h"

/* Gives PoCL climg/pocl below XDG_CACHE_HOME or HOME, or a folder below TMPDIR if that cannot be written or
 * its disk is full; `verbose` prints which. Empties the folder if a run that used it crashed. A folder that
 * the user named by POCL_CACHE_DIR is left as it is; if it cannot be written, that is printed unless `quiet`.
 * Call it before the first OpenCL call and while no other thread reads the environment. */
void pocl_start(const struct environment *environment, bool verbose, bool quiet);

/* Tells the next run that this one did not crash. Safe in a signal handler. */
void pocl_end(void);

/* Makes the next run empty the folder: PoCL failed in a way that damaged files may cause. */
void pocl_invalidate(void);

/* Copies what PoCL made of a program for all users, of which this is the binary, to the user's folder. */
void pocl_copy_program(const struct environment *environment, const unsigned char *binary, size_t size);

#endif
