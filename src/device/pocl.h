/* The directory in which PoCL caches compiled kernels. Without one PoCL offers no device.
 *
 * Other drivers ignore it. State is per process. Thread safety: call pocl_start before the first OpenCL call
 * and before there are threads; then any thread may call the other functions. */
#ifndef CLIMG_DEVICE_POCL_H
#define CLIMG_DEVICE_POCL_H

#include "settings/environment.h"

/* Sets POCL_CACHE_DIR to climg/pocl below XDG_CACHE_HOME or ~/.cache; if that is not writable or its disk is
 * full, to a directory below TMPDIR, which `verbose` prints. Empties the directory if a run that used it
 * crashed. Does nothing if the user set POCL_CACHE_DIR to a usable directory; if it is not usable, prints
 * that unless `quiet`. */
void pocl_start(const struct environment *environment, bool verbose, bool quiet);

/* Removes the marker, as this process did not crash. Safe in a signal handler. */
void pocl_end(void);

/* Leaves the marker at the end, so that the next run empties the directory. Call it when PoCL failed in a way
 * that damaged files may cause. */
void pocl_invalidate(void);

/* Copies PoCL's files of a program that was compiled for all users to the user's directory. `binary` is the
 * program's binary (CL_PROGRAM_BINARIES), whose header names its files. Failures are ignored. */
void pocl_copy_program(const struct environment *environment, const unsigned char *binary, size_t size);

#endif
