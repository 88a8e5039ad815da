/* Small memory on the device: a filter's weights, and counters. */
#ifndef CLIMG_DEVICE_CONSTANTS_H
#define CLIMG_DEVICE_CONSTANTS_H

#include "device/device.h"

struct constant;

/* Floats on the device that are asked for by a key, such as their values. Zeroed, it is empty. */
struct constants {
    struct constant *first;
};

struct constant_key {
    const char *what; /* a literal, which messages say */
    const void *bytes;
    size_t size;
};

/* Whether there are floats of that key. The memory belongs to `constants`, which keeps the last 8 that were
 * asked for, and more while they are small. */
bool constants_find(struct constants *constants, const struct constant_key *key, cl_mem *memory);

/* Copies them to the device, which is not an imaginary one. */
enum status constants_add(struct constants *constants, const struct device *device,
                          const struct constant_key *key, const float *values, size_t count, cl_mem *memory,
                          struct error *error);

void constants_free(struct constants *constants);

/* `count` 32-bit words, all zero, to be given to memory_release. */
enum status counters_acquire(const struct device *device, size_t count, cl_mem *memory, struct error *error);

/* Some of them, the first being `first`, when all that was enqueued is done. */
enum status counters_read(const struct device *device, cl_mem memory, size_t first, size_t count,
                          cl_uint *counts, struct error *error);

/* Some floats, the first being `first`: they are in `to` when all that was enqueued before is done. */
enum status floats_fetch(const struct device *device, cl_mem memory, size_t first, size_t count, float *to,
                         struct error *error);

/* It lives on until the kernels that use it are done. NULL is fine. */
void memory_release(cl_mem memory);

#endif
