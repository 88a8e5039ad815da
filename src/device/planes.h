/* Pixels on the device as stages see them: float32 planes of one size in one allocation. */
#ifndef CLIMG_DEVICE_PLANES_H
#define CLIMG_DEVICE_PLANES_H

#include "device/device.h"

#include <stdint.h>

enum memory { MEMORY_BUFFER, MEMORY_IMAGE };

/* Buffers hold layers*channels planes one after the other, each row `pitch` floats from the last; the pitch
 * is a multiple of PITCH_UNIT, so that vectors may be stored past the width. Images are 2-D arrays of float4
 * texels: one array layer a layer, its up to four channels in a texel. Subbands of a pyramid are layers. */
struct planes {
    enum memory memory;
    cl_mem object;
    int width, height;   /* of the whole image */
    int first_row, rows; /* those held here */
    int layers;
    int channels; /* 1 to 4, in buffers as many times that as there are images in a group */
    int pitch;    /* floats */
};

/* The same for kernels: `struct geometry` of kernels/planes.h. */
struct geometry {
    cl_int width, height, first_row, rows, pitch, layers, channels, spacing;
};

enum { PITCH_UNIT = 16 };

struct pool_entry;

/* Allocations that outlive a stage: what is released is taken again by the next that fits. The queue is in
 * order, so memory may change hands while kernels that read it are still waiting to run. What is had on an
 * imaginary device is only counted. */
struct pool {
    struct device *device;
    struct pool_entry *entries;
    size_t allocated; /* bytes */
    size_t largest;   /* bytes of the largest one so far */
    double headroom;  /* new memory is this many times as large as wanted, at least 1 */
    bool poison;      /* fill what is acquired with NaN, to find what is never written */
};

/* Gives `planes`, whose sizes are set, memory of the kind they ask for. Says which limit an image goes
 * beyond, and when the device is out of memory. */
enum status planes_acquire(struct pool *pool, struct planes *planes, struct error *error);

/* Gives it back to the pool; planes without memory are fine. */
void planes_release(struct pool *pool, struct planes *planes);

/* Frees what was not used since the last call: memory of the sizes of earlier images. Nothing may be in use.
 */
void pool_trim(struct pool *pool);

/* Frees all that is not in use. */
void pool_clear(struct pool *pool);

void pool_free(struct pool *pool);

size_t planes_bytes(const struct planes *planes);

/* Copies all bytes (planes_bytes), in the device's order, to the host, and waits. */
enum status planes_read(struct device *device, const struct planes *planes, void *host, struct error *error);
struct geometry planes_geometry(const struct planes *planes);

/* The z extent of kernels that treat every layer alike, and of those that treat one: planes in buffers,
 * texel layers in images. */
int planes_depth(const struct planes *planes);
int planes_layer_depth(const struct planes *planes);

/* Small memory on the device: a filter's weights, and counters. */

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

/* Some 32-bit words, counters or floats, the first being `first`: they are in `to` when all that was enqueued
 * before is done. `wait`: it is when this returns. */
enum status words_read(const struct device *device, cl_mem memory, size_t first, size_t count, void *to,
                       bool wait, struct error *error);

/* It lives on until the kernels that use it are done. NULL is fine. */
void memory_release(cl_mem memory);

#endif
