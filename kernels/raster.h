/* The interleaved samples of a file in memory, of any type. A raster's pitch is a multiple of 16 pixels, so a vector
 * may run past the width. The rasters of a group of images are adjacent in memory, `rows` rows apart; z is the raster's
 * number.
 *
 *     memory of one row:  c0 c1 c2 | c0 c1 c2 | ...   width pixels, then padding up to pitch pixels */
#pragma once
#include "planes.h"

#define RASTER_IN(sample, name) __global const sample *restrict name, int name##_pitch, int name##_row, int name##_rows
#define RASTER_IN_ARG(name) name, name##_pitch, name##_row, name##_rows

/* Parameters of a raster to write: in addition its width, and counters of clipped samples (count_clipped), which may be
 * NULL. */
#define RASTER_OUT(sample, name)                                                                                       \
    __global sample *restrict name, int name##_pitch, int name##_row, int name##_rows, int name##_width,               \
        __global uint *name##_clipped
#define RASTER_OUT_ARG(name) name, name##_pitch, name##_row, name##_rows, name##_width, name##_clipped

/* The index of a pixel in memory, in pixels. */
#define PIXEL_NUMBER(name, x, y, z) (((size_t)(z) * name##_rows + (y) - name##_row) * name##_pitch + (x))

/* lanes: a value of each of LANES pixels. mask: results of a comparison, -1 for true in vectors and 1 in scalars. */
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
static inline int is_any(mask t)
{
    const int8 a = t.lo | t.hi;
    const int4 b = a.lo | a.hi;
    return (b.x | b.y | b.z | b.w) != 0;
}
#else
typedef float lanes;
typedef int mask;
#define LANE_BITS(v) as_uint(v)
#define LANE_NUMBERS 0

static inline int popcount_mask(mask t)
{
    return t;
}

static inline int is_any(mask t)
{
    return t;
}
#endif

#define COUNTED_ROWS 64 /* also in src/chain/transfer.c */

/* Counts clipped values (beyond the range by more than half a step) and NaN, in the valid lanes `there`. Each image of
 * a group has COUNTED_ROWS pairs of counters, which its rows use cyclically, so that no counter overflows. */
static inline void count_clipped(__global uint *counters, int y, int z, lanes counts, float lowest, float highest, mask there)
{
    const mask inside = (counts >= lowest - 0.5f) & (counts <= highest + 0.5f);
    if (!is_any((!inside) & there)) /* the usual case */
        return;
    const int beyond = popcount_mask(((counts < lowest - 0.5f) | (counts > highest + 0.5f)) & there);
    const int nan = popcount_mask((counts != counts) & there);
    __global uint *counter = counters + 2 * (z * COUNTED_ROWS + y % COUNTED_ROWS);
    if (beyond > 0)
        atomic_add(counter, (uint)beyond);
    if (nan > 0)
        atomic_add(counter + 1, (uint)nan);
}
