/* Shows a wavelet pyramid as one picture. The host decides where cells begin; for three or more levels:
 *
 *     +-----------------------+-----------+
 *     |  15  |  45  |  75     |  level 2  |
 *     |       level 1         |           |      degrees of the six subbands
 *     +-----------------------+-----+--+--+      lo: the lowpass
 *     | -15  | -45  | -75     |  3  |4 |lo|
 *     |                       |     |--+--|
 *     +-----------------------+-----+-----+
 *
 *   -DVIEW=n  0 magnitude, 1 phase as hue and magnitude as brightness, of the mean of the colours, 2 real, 3 imaginary
 *
 * The brightness of a coefficient z is b(|z|) = sqrt(min(1, gain |z| / m)), with m the largest magnitude of the level's six
 * subbands. A real or imaginary part v has the brightness 1/2 + b(|v|) / 2 for v >= 0, and 1/2 - b(|v|) / 2 for v < 0.
 *
 * Work-items have single samples, as cells begin at any column. Grid: x counts columns of a cell, y rows, z planes. */
#define LANES 1
#include "planes.h"

#ifndef VIEW
#define VIEW 0
#endif

#define MAGNITUDE 0
#define PHASE     1
#define REAL      2
#define IMAGINARY 3

/* Finds the largest squared magnitude of a level over six subbands and `colours` channels. largest[level] has the bits of the
 * float as an integer, for atomic_max(): for floats >= 0 both have the same order. Grid: columns, subbands, planes. */
__kernel void mosaic_largest(PLANES_IN(subbands), __global int *largest, int level, int colours)
{
    const int x = get_global_id(0), subband = get_global_id(1), z = get_global_id(2);
    if (x >= subbands_at.width || subband >= 6)
        return;
#ifndef IMAGES
    if (z >= colours)
        return;
#endif
    vec most = 0.0f;
    for (int y = 0; y < subbands_at.height; y++) {
        const vec re = load(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * subband, z, subbands_at.channels));
        const vec im = load(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * subband + 1, z, subbands_at.channels));
        most = fmax(most, mad(re, re, im * im));
    }
#ifdef IMAGES
    most = select(most, (vec)(0.0f), (int4)(0, 1, 2, 3) >= colours);
    atomic_max(largest + level, as_int(fmax(fmax(most.x, most.y), fmax(most.z, most.w))));
#else
    atomic_max(largest + level, as_int(most));
#endif
}

/* Stores a sample if its row is in memory: the next stage, such as a warp or a crop, may need a few rows only. */
static inline void store_if_in_memory(PLANES_OUT(dst), int x, int y, int z, vec v)
{
    if (y >= dst_at.first_row && y < dst_at.first_row + dst_at.rows)
        store(PLANES_ARG(dst), x, y, z, v);
}

/* Sets colour to black and alpha (channel `alpha`, -1: no alpha) to 1. */
__kernel void mosaic_clear(PLANES_OUT(dst), int alpha)
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x < dst_at.width && y < dst_at.first_row + dst_at.rows)
        store(PLANES_ARG(dst), x, y, z, select_alpha(0.0f, 1.0f, z, dst_at.channels, alpha));
}

#if VIEW == PHASE
typedef float number; /* a real or imaginary part; with PHASE of the mean colour */
#else
typedef vec number;
#endif

/* Returns the brightness of coefficients with the real and imaginary parts re and im. `scale` is gain / m. */
static inline number brightness(number re, number im, float scale)
{
#if VIEW == REAL || VIEW == IMAGINARY
    const number v = VIEW == REAL ? re : im;
    return mad(copysign((number)(0.5f), v), sqrt(fmin(fabs(v) * scale, 1.0f)), (number)(0.5f));
#else
    return sqrt(fmin(sqrt(mad(re, re, im * im)) * scale, 1.0f));
#endif
}

#if VIEW == PHASE
/* Returns the mean of the colour channels of a layer at (x, y). */
static inline float mean_colour(PLANES_IN(s), int x, int y, int layer, int colours)
{
#ifdef IMAGES
    const float4 texel = select(load(PLANES_ARG(s), x, y, layer), (vec)(0.0f), (int4)(0, 1, 2, 3) >= colours);
    return (texel.x + texel.y + texel.z + texel.w) / (float)colours;
#else
    float sum = 0.0f;
    for (int c = 0; c < colours; c++)
        sum += load(PLANES_ARG(s), x, y, PLANE_INDEX(layer, c, s_at.channels));
    return sum / (float)colours;
#endif
}

/* Stores a colour, and alpha 1 if dst has alpha. */
static inline void store_colour(PLANES_OUT(dst), int x, int y, float3 colour)
{
#ifdef IMAGES
    store_if_in_memory(PLANES_ARG(dst), x, y, 0, (float4)(colour, 1.0f));
#else
    store_if_in_memory(PLANES_ARG(dst), x, y, 0, colour.x);
    store_if_in_memory(PLANES_ARG(dst), x, y, 1, colour.y);
    store_if_in_memory(PLANES_ARG(dst), x, y, 2, colour.z);
    if (dst_at.channels > 3)
        store_if_in_memory(PLANES_ARG(dst), x, y, 3, 1.0f);
#endif
}

/* Returns the phase in turns, 0 to 1, at most 1e-7 from the exact value. Sums the power series of arctan x for x up to
 * tan(pi / 8). For larger x, arctan x = pi / 4 + arctan((x - 1) / (x + 1)). */
static inline float phase_in_turns(float re, float im)
{
    const float a = fabs(re), b = fabs(im), less = fmin(a, b), more = fmax(a, b);
    const bool is_large = less > 0.41421356f * more; /* tan(pi / 8) */
    const float x = more > 0.0f ? is_large ? (less - more) / (less + more) : less / more : 0.0f, t = x * x;
    float sum = mad(t, 1.0f / 17, -1.0f / 15);
    sum = mad(t, sum, 1.0f / 13);
    sum = mad(t, sum, -1.0f / 11);
    sum = mad(t, sum, 1.0f / 9);
    sum = mad(t, sum, -1.0f / 7);
    sum = mad(t, sum, 1.0f / 5);
    sum = mad(t, sum, -1.0f / 3);
    sum = mad(t, sum, 1.0f);
    float turn = mad(x * sum, 0.15915494f, is_large ? 0.125f : 0.0f);
    turn = b > a ? 0.25f - turn : turn;
    turn = re < 0.0f ? 0.5f - turn : turn;
    return im < 0.0f ? 1.0f - turn : turn;
}

/* Returns the colour of hue `turn`, full saturation and `value` (HSV): turn 0 is red, 1/3 green, 2/3 blue. */
static inline float3 hue(float turn, float value)
{
    const float3 distance = fabs((float3)(turn, turn - 1.0f / 3.0f, turn - 2.0f / 3.0f));
    return value * clamp(mad(-6.0f, fmin(distance, 1.0f - distance), (float3)(2.0f)), 0.0f, 1.0f);
}

#endif

/* Draws the six subbands of a level in three columns and two rows: 15, 45, 75 above, -15, -45, -75 below. The first cell begins
 * at pixel `origin`, and `gap` pixels are between cells. */
__kernel void mosaic_subbands(PLANES_IN(subbands), PLANES_OUT(dst), __global const int *largest, int level, float gain,
                              int2 origin, int gap, int colours, int alpha)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= subbands_at.width || y >= subbands_at.height)
        return;
    const float most = sqrt(as_float(largest[level])), scale = most > 0.0f ? gain / most : 0.0f;
    for (int subband = 0; subband < 6; subband++) {
        /* Subbands are in the order 15, 45, 75, -75, -45, -15 degrees: the second row runs backwards. */
        const int column = subband < 3 ? subband : 5 - subband, row = subband >= 3;
        const int to_x = origin.x + column * (subbands_at.width + gap) + x;
        const int to_y = origin.y + row * (subbands_at.height + gap) + y;
#if VIEW == PHASE
        const float re = mean_colour(PLANES_ARG(subbands), x, y, 2 * subband, colours);
        const float im = mean_colour(PLANES_ARG(subbands), x, y, 2 * subband + 1, colours);
        store_colour(PLANES_ARG(dst), to_x, to_y, hue(phase_in_turns(re, im), brightness(re, im, scale)));
#else
        const vec re = load(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * subband, z, subbands_at.channels));
        const vec im = load(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * subband + 1, z, subbands_at.channels));
        store_if_in_memory(PLANES_ARG(dst), to_x, to_y, z,
                           select_alpha(brightness(re, im, scale), 1.0f, z, dst_at.channels, alpha));
#endif
    }
}

/* Draws the lowpass times `scale`, in the range of the image; with PHASE, the mean of its colours in gray. */
__kernel void mosaic_lowpass(PLANES_IN(lowpass), PLANES_OUT(dst), int2 origin, float scale, int colours, int alpha)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= lowpass_at.width || y >= lowpass_at.height)
        return;
#if VIEW == PHASE
    store_colour(PLANES_ARG(dst), origin.x + x, origin.y + y,
                 (float3)(scale * mean_colour(PLANES_ARG(lowpass), x, y, 0, colours)));
#else
    store_if_in_memory(PLANES_ARG(dst), origin.x + x, origin.y + y, z,
                       select_alpha(scale * load(PLANES_ARG(lowpass), x, y, z), 1.0f, z, dst_at.channels, alpha));
#endif
}
