/* Small memory on the device: a filter's weights, and counters. */
#ifndef CLIMG_DEVICE_CONSTANTS_H
#define CLIMG_DEVICE_CONSTANTS_H

#include "device/device.h"

struct constant;

/* Floats on the device; equal contents share one object. Zeroed, it is empty. */
struct constants {
    struct constant *first;
};

/* The memory belongs to `constants`. On an imaginary device there is none. */
enum status constants_find(struct constants *constants, const struct device *device, const float *values,
                           size_t count, cl_mem *memory, struct error *error);

void constants_free(struct constants *constants);

/* `count` 32-bit words, all zero, to be given to memory_release. */
enum status counters_acquire(const struct device *device, size_t count, cl_mem *memory, struct error *error);

/* It lives on until the kernels that use it are done. NULL is fine. */
void memory_release(cl_mem memory);

#endif
