/* The interleaved samples of a file in memory, of any type. A raster's pitch is a multiple of 16 pixels, so a vector
 * may run past the width. The rasters of a group of images follow one another in memory, `rows` rows each; z is the
 * number of the raster.
 *
 *     memory of one row:  c0 c1 c2 | c0 c1 c2 | ...   width pixels, then padding up to pitch pixels */
#pragma once
#include "planes.h"

/* Parameters of a raster to read: samples, pixels per row with padding, first row in memory, rows of a raster. */
#define RASTER_IN(type, name) __global const type *restrict name, int name##_pitch, int name##_row, int name##_rows
#define RASTER_IN_ARG(name) name, name##_pitch, name##_row, name##_rows

/* Parameters of a raster to write. In addition its width, and counters of clipped samples (count_clipped), which may be
 * NULL. */
#define RASTER_OUT(type, name)                                                                                         \
    __global type *restrict name, int name##_pitch, int name##_row, int name##_rows, int name##_width,                 \
        __global uint *name##_clipped
#define RASTER_OUT_ARG(name) name, name##_pitch, name##_row, name##_rows, name##_width, name##_clipped

/* The index of pixel (x, y) of raster z in memory, counted in pixels. */
#define PIXEL_INDEX(name, x, y, z) (((size_t)(z) * name##_rows + (y) - name##_row) * name##_pitch + (x))

/* Types and macros for the values of a work-item, of 16 pixels or 1:
 *
 *   lanes         a float of each of LANES pixels
 *   mask          results of a comparison of lanes: -1 for true in vectors, 1 in scalars
 *   LANE_BITS     the bits of lanes, as unsigned integers
 *   LANE_NUMBERS  the number of each lane: 0, 1, 2, ... */
#if LANES == 16
typedef float16 lanes;
typedef int16 mask;
#define LANE_BITS(v) as_uint16(v)
#define LANE_NUMBERS (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

/* Returns the number of lanes that are true. */
static inline int popcount_mask(mask t)
{
    const int8 a = t.lo + t.hi;
    const int4 b = a.lo + a.hi;
    return -(b.x + b.y + b.z + b.w);
}

/* Stores sixteen pixels of three bytes, the low bytes of `pixels`. Four pixels are three words: word j has the bytes of pixel j
 * from byte j on, then the first bytes of pixel j + 1. */
static inline void store_three_bytes(__global uint *p, uint16 pixels)
{
    const uint16 shift = (uint16)(0, 8, 16, 0, 8, 16, 0, 8, 16, 0, 8, 16, 0, 0, 0, 0);
    const uint16 words = pixels.s01245689acdeffff >> shift | pixels.s1235679abdefffff << (24 - shift);
    vstore8(words.lo, 0, p);
    vstore4(words.hi.lo, 2, p);
}

/* Returns true if any lane is true. */
static inline bool any_lane(mask t)
{
    const int8 a = t.lo | t.hi;
    const int4 b = a.lo | a.hi;
    return (b.x | b.y | b.z | b.w) != 0;
}
#else
typedef float lanes;
typedef int mask;
#define LANE_BITS(v)     as_uint(v)
#define LANE_NUMBERS     0
#define popcount_mask(t) (t)
#define any_lane(t)      (t)
#endif

#define CLIP_COUNTERS 64 /* pairs of counters of an image; also in src/engine/transfer.c */

/* Counts values that are clipped, beyond [lowest, highest] by more than 1/2, and NaN. The values are in units of integer
 * samples, not yet rounded; only lanes in which `valid` is true are counted. Row y of an image adds to pair
 * y % CLIP_COUNTERS of its counters, so that no counter overflows. */
static inline void count_clipped(__global uint *counters, int y, int z, lanes value, float lowest, float highest, mask valid)
{
    const mask inside = (value >= lowest - 0.5f) & (value <= highest + 0.5f);
    if (!any_lane((!inside) & valid)) /* usually nothing is clipped */
        return;
    const int beyond = popcount_mask(((value < lowest - 0.5f) | (value > highest + 0.5f)) & valid);
    const int nan = popcount_mask((value != value) & valid);
    __global uint *counter = counters + 2 * (z * CLIP_COUNTERS + y % CLIP_COUNTERS);
    if (beyond > 0)
        atomic_add(counter, (uint)beyond);
    if (nan > 0)
        atomic_add(counter + 1, (uint)nan);
}
