/* Which OpenCL drivers the loader loads. It loads every installed driver before it lists a device: 0.1 s for
 * NVIDIA's, 0.03 s for PoCL's. */
#ifndef CLIMG_DEVICE_DRIVERS_H
#define CLIMG_DEVICE_DRIVERS_H

#include "settings/environment.h"

#include <limits.h>

struct drivers {
    int count;          /* drivers that the loader would load; 0 if unknown */
    char cpu[PATH_MAX]; /* library of the first driver for CPUs, PoCL or Intel's CPU runtime; "" if missing */
};

void drivers_find(const struct environment *environment, struct drivers *drivers);

/* Makes the loader load this library and no other. Call it before the first OpenCL call and while no other
 * thread reads the environment. False if the library cannot be loaded: then all drivers are. */
bool drivers_load_only(const char *library);

#endif
