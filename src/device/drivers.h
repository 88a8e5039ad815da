/* Which OpenCL drivers are started. The loader starts every one that is installed before it names a device:
 * 0.1 s for NVIDIA's, 0.03 for PoCL's. So climg remembers which library each device came from, and tells the
 * loader of that one alone. What starts no driver is asked whether this still holds: the vendors' folder, the
 * libraries, the devices of the system and the variables that hide some. */
#ifndef CLIMG_DEVICE_DRIVERS_H
#define CLIMG_DEVICE_DRIVERS_H

#include "device/device.h"

#include <limits.h>

enum { MAX_DEVICES = 64 };

/* A device and the library of its driver; that is empty where the driver does not say. */
struct driven {
    struct device device; /* remembered: names, versions, type and units, nothing else */
    char library[PATH_MAX];
};

/* All devices that were found last time, in the order of their numbers: how many, at most MAX_DEVICES. 0:
 * nothing is remembered, or something has changed since, or the user's own variables direct the loader. */
int drivers_recall(const struct environment *environment, struct driven *known);

/* Remembers all devices, where several drivers are there. After a failure all are started each time. */
void drivers_remember(const struct environment *environment, const struct driven *found, int count);

/* Has the loader start the driver of that device alone. To be called before the first call of OpenCL and
 * before there are threads that read variables; false: it stays as it is. */
bool drivers_start_only(const struct environment *environment, const struct driven *known);

/* Whether that was done. */
bool drivers_are_left_out(void);

/* Forgets what is remembered. */
void drivers_forget(const struct environment *environment);

/* The library that a platform's functions come from. */
void drivers_find_library(cl_platform_id platform, char library[PATH_MAX]);

#endif
