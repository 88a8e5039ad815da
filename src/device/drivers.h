/* Selection of the OpenCL drivers that the loader loads. By default it loads every installed driver, even to
 * list devices: 0.1 s for NVIDIA's, 0.03 s for PoCL's. Small commands save time if only the CPU's driver is
 * loaded.
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

/* Adds the rules of drivers to the confinement (base/confine.h): libraries and data that they read, and the
 * caches that they and climg write. Creates missing folders of the drivers' caches. */
void drivers_allow(const struct environment *environment);

/* A file to which a driver has no access, with the reason; "" if there is none. */
struct driver_denial {
    char text[PATH_MAX + 128];
};

/* Returns why a driver cannot start in this confined process: a library cannot be read (dlopen's message), or
 * NVIDIA's device files are missing, which otherwise a setuid program of the driver creates. */
struct driver_denial drivers_find_denied(const struct environment *environment);

#endif
