/* Planes: pixels in device memory, as float32, one plane per channel; and small constants and counters.
 *
 * Planes come from a pool, which reuses released memory, since clCreateBuffer and the first touch of memory
 * pages cost more than the kernels of a small image. Release planes of planes_acquire with planes_release;
 * the pool must outlive them. Constants belong to their cache, counters to the caller.
 *
 * Thread safety: a pool, and a cache of constants, belong to one thread and its device's queue. */
#ifndef CLIMG_DEVICE_PLANES_H
#define CLIMG_DEVICE_PLANES_H

#include "device/device.h"

/* Kinds of device memory; struct planes has their layouts. */
enum memory { MEMORY_BUFFER, MEMORY_IMAGE };

/* Planes of one size in one allocation.
 *
 *     MEMORY_BUFFER   layers x channels planes, one after the other. `pitch` floats from row to row, and
 *                     geometry.plane_rows rows from plane to plane. The pitch is a multiple of PITCH_UNIT, so
 *                     kernels may store whole vectors beyond the width.
 *     MEMORY_IMAGE    a 2-D image array of float4 texels: an array layer per layer, up to four channels in a
 *                     texel
 *
 * A picture has one layer; in a pyramid the real and the imaginary part of each subband are a layer each. */
struct planes {
    enum memory memory;
    cl_mem object;       /* belongs to the pool */
    int width, height;   /* size of the whole image, in pixels */
    int first_row, rows; /* rows of the image that are present */
    int layers;
    int channels; /* 1 to 4, times the number of pictures of a group (always MEMORY_BUFFER) */
    int pitch;    /* floats between rows; buffers only */
};

/* The layout of planes as an argument of kernels: the same struct as in kernels/planes.h. */
struct geometry {
    cl_int width, height, first_row, rows, pitch, layers, channels;
    cl_int plane_rows; /* rows from plane to plane */
};

enum { PITCH_UNIT = 16 }; /* floats: a cache line, and the vector of the CPU variants */

struct pool_entry;

/* Allocations for planes, which are reused from stage to stage and from page to page. On a dry-run device
 * they are only counted. */
struct pool {
    /* Set by the owner; may be zero except for the device. */
    struct device *device;
    double headroom; /* new allocations are larger by this factor, for later slices that need slightly more;
                      * 1 or less: they have the requested size */
    bool poison;     /* fill acquired planes with NaN, to find samples that no kernel writes */

    /* Set by the pool. */
    struct pool_entry *entries;
    size_t allocated; /* bytes of all allocations */
    size_t peak;      /* most bytes of all allocations at one time so far */
    size_t largest;   /* bytes of the largest allocation so far */
};

/* Allocates memory for planes whose `memory` and sizes are set, and sets their object and pitch. The content
 * is undefined. Fails if a limit of the device is exceeded, which the message names, or if out of memory;
 * then error->is_out_of_memory is set. */
enum status planes_acquire(struct pool *pool, struct planes *planes, struct error *error);

/* Returns the memory to the pool; kernels that use it may still be in the queue. Safe on planes without
 * memory. */
void planes_release(struct pool *pool, struct planes *planes);

/* Frees unused memory: all of it, or without `all` only what was not acquired since the last call, as between
 * the pages of a file. */
void pool_free_unused(struct pool *pool, bool all);

/* Frees all memory, including memory in use. */
void pool_free(struct pool *pool);

/* Returns the bytes that planes occupy, including padding. */
size_t planes_bytes(const struct planes *planes);

/* Copies planes_bytes bytes in the layout of the device to the host, and waits. */
enum status planes_read(struct device *device, const struct planes *planes, void *host, struct error *error);

/* Returns the layout for kernels. */
struct geometry planes_geometry(const struct planes *planes);

/* Return the size of the grid along z, whose items are the planes of a buffer or the layers of an image.
 * planes_depth: for kernels that process all layers; planes_layer_depth: one layer. */
int planes_depth(const struct planes *planes);
int planes_layer_depth(const struct planes *planes);

/* ---------------------------------------------------------------- constants and counters */

struct constant;

/* A cache of floats in device memory, such as weights. The key may be the values themselves, or parameters
 * from which they are computed. Empty if zeroed. */
struct constants {
    struct constant *first;
};

/* Key of a constant. */
struct constant_key {
    const char *what; /* a string literal, part of the key and of messages */
    const void *bytes;
    size_t size;
};

/* True if the cache has the constant; *memory receives it. It belongs to the cache, which frees the least
 * recently used constants beyond 32 MiB, but never the 8 most recently used. */
bool constants_find(struct constants *constants, const struct constant_key *key, cl_mem *memory);

/* Copies floats to the device and adds them to the cache, which owns *memory. Not for a dry-run device. */
enum status constants_add(struct constants *constants, const struct device *device,
                          const struct constant_key *key, const float *values, size_t count, cl_mem *memory,
                          struct error *error);

/* Frees all constants. */
void constants_free(struct constants *constants);

/* Allocates `count` 32-bit words on the device, all zero. The caller frees them with memory_release. NULL on
 * a dry-run device. */
enum status counters_create(const struct device *device, size_t count, cl_mem *memory, struct error *error);

/* Enqueues a copy to the host of `count` 32-bit words, counters or floats, beginning at index `first`. `to`
 * must remain valid until the queue has finished. With `wait` the function waits for all earlier kernels and
 * the copy. Does nothing on a dry-run device. */
enum status words_read(const struct device *device, cl_mem memory, size_t first, size_t count, void *to,
                       bool wait, struct error *error);

/* Releases a memory object; it is freed after the kernels that use it have finished. NULL is fine. */
void memory_release(cl_mem memory);

#endif
