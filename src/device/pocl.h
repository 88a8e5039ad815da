/* The directory in which PoCL caches compiled kernels. Without one PoCL offers no device.
 *
 * Other drivers ignore it. State is per process. Thread safety: call pocl_cache_open before the first OpenCL
 * call and before there are threads; then any thread may call the other functions. */
#ifndef CLIMG_DEVICE_POCL_H
#define CLIMG_DEVICE_POCL_H

#include "settings/environment.h"

/* Sets POCL_CACHE_DIR to a usable directory, that is, a writable one on a disk that is not full: climg/pocl
 * below XDG_CACHE_HOME or ~/.cache, or else a directory below TMPDIR, which is printed if `verbose` is set.
 * Creates a marker file in it, which pocl_cache_close removes. If an earlier run has left its marker, it
 * crashed; then the directory is emptied first. Does nothing if the user's POCL_CACHE_DIR is usable; if it is
 * set and not usable, prints that unless `quiet` is set. */
void pocl_cache_open(const struct environment *environment, bool verbose, bool quiet);

/* True if pocl_cache_open found no usable directory. Then PoCL offers no device. */
bool pocl_cache_is_missing(void);

/* Removes the marker file of pocl_cache_open, as this process did not crash. Safe in a signal handler. */
void pocl_cache_close(void);

/* Makes pocl_cache_close leave the marker file, so that the next run empties the directory. For failures of
 * PoCL that damaged files may have caused. */
void pocl_cache_invalidate(void);

/* Copies the files of a program from the PoCL cache for all users to the user's own. `binary` is the
 * program's binary (CL_PROGRAM_BINARIES), whose header names their directory. Failures are ignored. */
void pocl_copy_program(const struct environment *environment, const unsigned char *binary, size_t size);

#endif
