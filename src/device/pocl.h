/* The directory in which PoCL caches compiled kernels. Without one PoCL offers no device.
 *
 * State is per process. pocl_start must come before the first OpenCL call and before there are threads. */
#ifndef CLIMG_DEVICE_POCL_H
#define CLIMG_DEVICE_POCL_H

#include "settings/environment.h"

/* Sets POCL_CACHE_DIR to climg/pocl below XDG_CACHE_HOME or HOME; if that is not writable or its disk is
 * full, to a directory below TMPDIR, which `verbose` prints. Empties the directory if a run that used it
 * crashed. A directory that the user set in POCL_CACHE_DIR is left alone; if it is not writable, this is
 * printed unless `quiet`. */
void pocl_start(const struct environment *environment, bool verbose, bool quiet);

/* Removes the marker: this process did not crash. Safe in a signal handler. */
void pocl_end(void);

/* Makes the next run empty the directory: PoCL failed in a way that damaged files may cause. */
void pocl_invalidate(void);

/* Copies PoCL's files of a program that was compiled for all users to the user's directory. `binary`
 * identifies it. */
void pocl_copy_program(const struct environment *environment, const unsigned char *binary, size_t size);

#endif
