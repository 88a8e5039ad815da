/* climg's own cache: for each device, the result of --selftest and programs that --warm compiled.
 *
 * Entries are files in climg/ below XDG_CACHE_HOME or ~/.cache. Programs for all users are in
 * /var/cache/climg, which is only read. An entry is valid for one device, driver and version of the kernels.
 * A missing or damaged entry is no error. Returned programs belong to the caller.
 *
 * Thread safety: any thread may call; files are replaced atomically. */
#ifndef CLIMG_DEVICE_CACHE_H
#define CLIMG_DEVICE_CACHE_H

#include "device/device.h"

struct selftest_result {
    bool known;     /* false: --selftest was not run with this driver; the other fields are unset */
    bool passed;    /* all results were right */
    double error;   /* largest error; full scale is 1 */
    char stage[32]; /* first stage that failed: "--blur" */
    char date[16];  /* of the self-test: 2026-01-31 */
};

/* Reads the result of --selftest. Sets result->known to false if there is no entry. */
void selftest_result_load(const struct device *device, struct selftest_result *result);

/* Stores the result. *path receives the path of the file, also after a failure; the caller frees it. */
enum status selftest_result_save(const struct device *device, const struct selftest_result *result,
                                 char **path, struct error *error);

/* Returns STATUS_FAILED, with advice, if the device failed --selftest. */
enum status selftest_result_check(const struct device *device, struct error *error);

/* True if a CPU failed --selftest with these kernels, with any driver. Needs no OpenCL call. */
bool selftest_failed_on_cpu(const struct environment *environment);

/* Returns the cached program of kernels/FILE.cl with these options, from the cache for all users or else the
 * user's own. NULL if there is no entry, if the driver refuses it, or if the driver is not PoCL. */
cl_program program_cache_load(const struct device *device, const char *file, const char *options);

/* Writes a compiled program to the user's cache, for PoCL only. Failures are ignored. */
void program_cache_save(const struct device *device, const char *file, const char *options,
                        cl_program program);

/* Removes programs of other versions of the kernels from the user's cache. */
void program_cache_clean(const struct environment *environment);

#endif
