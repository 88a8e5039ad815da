/* Planes: pixels in device memory, as float32, one plane per channel; and small constants and counters.
 *
 * Planes come from a pool, which keeps released memory for later requests, since clCreateBuffer and the
 * first touch of pages cost more than the kernels of a small image. planes_acquire and planes_release
 * pair up; the pool must outlive its planes. Constants belong to their cache.
 *
 * Thread safety: a pool, and a cache of constants, belong to one thread and its device's queue. */
#ifndef CLIMG_DEVICE_PLANES_H
#define CLIMG_DEVICE_PLANES_H

#include "device/device.h"

#include <stdint.h>

enum memory { MEMORY_BUFFER, MEMORY_IMAGE };

/* Planes of one size in one allocation.
 *
 *     buffer  layers x channels planes one after the other, rows at a distance of `pitch` floats. The pitch
 * is a multiple of PITCH_UNIT, so that vectors may be stored beyond the width. image   a 2-D array of float4
 * texels: one array layer per layer, up to four channels in a texel
 *
 * Subbands of a pyramid are layers. */
struct planes {
    enum memory memory;
    cl_mem object;
    int width, height;   /* size of the whole image */
    int first_row, rows; /* rows that are present */
    int layers;
    int channels; /* 1 to 4; for a group, in buffers, times the number of images */
    int pitch;    /* floats between rows */
};

/* The layout of planes as kernels get it: struct geometry of kernels/planes.h. */
struct geometry {
    cl_int width, height, first_row, rows, pitch, layers, channels, spacing;
};

enum { PITCH_UNIT = 16 };

struct pool_entry;

/* Allocations for planes, which outlive a stage. Kernels that still read released memory run before
 * those that overwrite it, as the queue is in order. On a dry-run device allocations are only counted. */
struct pool {
    struct device *device;
    struct pool_entry *entries;
    size_t allocated; /* bytes in total */
    size_t largest;   /* bytes of the largest allocation so far */
    double headroom; /* allocate this multiple of the requested size, at least 1, for images that are slightly
                        larger */
    bool poison;     /* fill acquired planes with NaN, to find samples that no kernel writes */
};

/* Allocates memory for planes whose memory kind and sizes are set, and sets their pitch. A failure names
 * the limit that is exceeded, or says that the device is out of memory. */
enum status planes_acquire(struct pool *pool, struct planes *planes, struct error *error);

/* Returns the memory to the pool. Safe on planes without memory. */
void planes_release(struct pool *pool, struct planes *planes);

/* Frees memory that was not acquired since the last call. No planes may be in use. */
void pool_trim(struct pool *pool);

/* Frees all memory that is not in use. */
void pool_clear(struct pool *pool);

/* Frees all memory, also that in use. */
void pool_free(struct pool *pool);

/* Returns the bytes that planes occupy, including padding. */
size_t planes_bytes(const struct planes *planes);

/* Copies the planes to the host, planes_bytes in the device's layout, and waits. */
enum status planes_read(struct device *device, const struct planes *planes, void *host, struct error *error);

/* Returns the layout for kernels. */
struct geometry planes_geometry(const struct planes *planes);

/* Return the z size of the grid for kernels that process all layers, and for those that process one. For
 * buffers z counts planes, for images layers of texels. */
int planes_depth(const struct planes *planes);
int planes_layer_depth(const struct planes *planes);

/* ---------------------------------------------------------------- constants and counters */

struct constant;

/* A cache of floats in device memory, such as weights, found by a key, such as their values on the host.
 * Empty if zeroed. */
struct constants {
    struct constant *first;
};

/* Key of a constant. */
struct constant_key {
    const char *what; /* a string literal for messages */
    const void *bytes;
    size_t size;
};

/* True if the cache has the constant; *memory receives it. It belongs to the cache, which keeps the last
 * 8 that were requested, and older ones up to 32 MiB. */
bool constants_find(struct constants *constants, const struct constant_key *key, cl_mem *memory);

/* Copies floats to the device and adds them to the cache. Not for a dry-run device. */
enum status constants_add(struct constants *constants, const struct device *device,
                          const struct constant_key *key, const float *values, size_t count, cl_mem *memory,
                          struct error *error);

/* Frees all constants. */
void constants_free(struct constants *constants);

/* Allocates `count` 32-bit words, all zero. Free them with memory_release. */
enum status counters_acquire(const struct device *device, size_t count, cl_mem *memory, struct error *error);

/* Enqueues a copy of 32-bit words, counters or floats, from index `first` to the host. `to` must stay
 * valid until the queue has finished; with `wait` the copy is complete on return. */
enum status words_read(const struct device *device, cl_mem memory, size_t first, size_t count, void *to,
                       bool wait, struct error *error);

/* Releases a memory object; it is freed after the kernels that use it have finished. NULL is fine. */
void memory_release(cl_mem memory);

#endif
