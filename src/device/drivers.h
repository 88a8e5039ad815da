/* Selection of the OpenCL drivers that the loader loads. By default it loads every installed driver
 * before it lists a device: 0.1 s for NVIDIA's, 0.03 s for PoCL's. Loading only the CPU's driver saves
 * that for small commands.
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

/* Makes the loader load this library only, by setting environment variables. Returns false if the
 * library cannot be loaded; then all drivers are. */
bool drivers_load_only(const char *library);

/* Allows a process that is to be confined (base/confine.h) what drivers read, and the caches that they and
 * climg write. Creates missing folders of caches. */
void drivers_allow(const struct environment *environment);

/* The path to which a driver was denied access, with the reason; "" if none was. */
struct driver_denial {
    char text[PATH_MAX + 128];
};

/* Returns why a driver cannot start in this confined process: a library that may not be read, or missing
 * device files of NVIDIA, which its driver would let a setuid program create. */
struct driver_denial drivers_find_denied(const struct environment *environment);

#endif
