/* Selection of the OpenCL drivers, and their rights in a confined process (base/confine.h). By default the
 * OpenCL loader, libOpenCL, loads every installed driver: 0.1 s for NVIDIA's, 0.03 s for PoCL's. Small
 * commands save time if only the CPU's driver is loaded.
 *
 * Thread safety: drivers_load_only changes environment variables, which the loader reads at the first OpenCL
 * call. Call it before that call and before there are threads. */
#ifndef CLIMG_DEVICE_DRIVERS_H
#define CLIMG_DEVICE_DRIVERS_H

#include "settings/environment.h"

#include <limits.h>

struct drivers {
    int count;          /* drivers that the loader would load; 0 if unknown */
    char cpu[PATH_MAX]; /* library of the first driver for CPUs, PoCL or Intel's CPU runtime; "" if missing */
};

/* Lists the drivers that the loader would load. */
void drivers_find(const struct environment *environment, struct drivers *drivers);

/* Makes the loader load this library only, by setting environment variables. Returns false if the library
 * cannot be loaded; then the loader loads all drivers. */
bool drivers_load_only(const char *library);

/* Allows a process that will be confined to read the drivers' libraries and data, and to write their caches
 * and climg's. Creates missing directories of caches. */
void drivers_allow(const struct environment *environment);

/* Fails, in a confined process, if the library of a driver cannot be read, or if NVIDIA's device files are
 * missing, which a setuid program of the driver would create in a process that is not confined. */
enum status drivers_check(const struct environment *environment, struct error *error);

#endif
