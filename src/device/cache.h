/* climg's own cache of a device: the result of --selftest, and programs that --warm compiled. Files under
 * climg/ of XDG_CACHE_HOME or ~/.cache, and programs for all users under /var/cache. Functions may be called
 * by any thread. */
#ifndef CLIMG_DEVICE_CACHE_H
#define CLIMG_DEVICE_CACHE_H

#include "device/device.h"

struct selftest_result {
    bool known, passed;
    double error;   /* the largest, of full scale */
    char stage[32]; /* the first to fail: "--blur" */
    char date[16];  /* 2026-01-31 */
};

/* Sets result->known to false if there is none. */
void selftest_result_load(const struct device *device, struct selftest_result *result);

/* *path receives the file's, to be freed, also after a failure. */
enum status selftest_result_save(const struct device *device, const struct selftest_result *result,
                                 char **path, struct error *error);

/* Returns STATUS_FAILED, with advice, for a device that failed. */
enum status selftest_result_check(const struct device *device, struct error *error);

/* Returns the program of this file of kernels with these options, for PoCL alone: the system's, else the
 * user's. NULL if it is in neither, or the driver does not take it. */
cl_program program_cache_load(const struct device *device, const char *file, const char *options);

/* Writes a program of PoCL's to the user's cache. A failure to write is ignored. */
void program_cache_save(const struct device *device, const char *file, const char *options,
                        cl_program program);

/* Removes programs of other versions of the kernels from the user's cache. */
void program_cache_clean(const struct environment *environment);

#endif
