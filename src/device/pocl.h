/* The directory in which PoCL caches compiled kernels. Without one PoCL offers no device.
 *
 * Other drivers ignore it. State is per process. Thread safety: call pocl_cache_open before the first OpenCL
 * call and before there are threads; then any thread may call the other functions. */
#ifndef CLIMG_DEVICE_POCL_H
#define CLIMG_DEVICE_POCL_H

#include "settings/environment.h"

/* Sets POCL_CACHE_DIR to climg/pocl below XDG_CACHE_HOME or ~/.cache; if that is not writable or its disk is
 * full, to a directory below TMPDIR, which `verbose` prints. Creates a marker file there, which
 * pocl_cache_close removes. A marker that is left from an earlier run means that it crashed; then the
 * directory is emptied. Does nothing if the user set POCL_CACHE_DIR to a usable directory; if it is not
 * usable, prints that unless `quiet`. */
void pocl_cache_open(const struct environment *environment, bool verbose, bool quiet);

/* Removes the marker file of pocl_cache_open, as this process did not crash. Safe in a signal handler. */
void pocl_cache_close(void);

/* Makes pocl_cache_close leave the marker file, so that the next run empties the directory. Call it when PoCL
 * failed in a way that damaged files may cause. */
void pocl_cache_invalidate(void);

/* Copies a program from the system-wide cache to the user's PoCL cache. `binary` is the program's binary
 * (CL_PROGRAM_BINARIES), whose header names its files. Failures are ignored. */
void pocl_copy_program(const struct environment *environment, const unsigned char *binary, size_t size);

#endif
