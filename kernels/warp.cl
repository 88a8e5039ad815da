/* Affine warps:
 *
 *     dst[x, y] = src at (xx x + xy y + x0, yx x + yy y + y0), interpolated; centres of pixels are at integers
 *               = sum over i of wx[i] * (sum over j of wy[j] * src[u + i, v + j])
 *
 * (x0, y0) is x, y of struct warp; (u, v) is the first of the TAPS x TAPS samples around the position.
 *
 * Cubic weights: D. Mitchell, A. Netravali, "Reconstruction filters in computer graphics", SIGGRAPH 1988; Keys' cubic is
 * one of these. Lanczos weights: C. Duchon, J. Appl. Meteorology 18 (1979), sin(pi d) sin(pi d / 3) 3 / (pi d)^2. If the
 * source shrinks, the filter is stretched and its weights are normalised (warp_shrinking).
 *
 * Order of sums: down each column of samples, then over the columns. warp_rows_cpu.cl computes the same bits.
 *
 *   -DPLANES=n  in buffers: planes of a texel, at most 4. As an argument it made --rotate 33 take 1.17 times as long for gray
 *               and 1.21 times for RGB, on a CPU
 *
 * Grid: x counts pixels of dst, y rows, z texels. In the kernels named _tiled a group first copies its part of the
 * source to local memory:
 *
 *     dst   +----+         src     /\             the group's pixels cross rows of src at an angle; the
 *           |    |  ---->       +-/--\-+          tile is their bounding box, read along x, each sample
 *           +----+              |/    \|          once
 *                               +\----/+
 *
 * All kernels are in one program, as the matrix decides which one runs. */
#define LANES 1
#include "warp.h"

/* A position in the source: of sample (x, y), plus fractions in [0, 1). */
struct position {
    int x, y;
    float fraction_x, fraction_y;
};

/* Returns the fraction of a position, to 24 bits, which are exact in a float. */
static inline float position_fraction(long position)
{
    return convert_float((int)(position >> (FRACTION_BITS - 24)) & 0xffffff) * 0x1p-24f;
}

/* Returns the position in the source of output pixel x, y. */
static inline struct position find_position(const struct warp *warp, int x, int y)
{
    const long source_x = warp->xx * x + warp->xy * y + warp->x, source_y = warp->yx * x + warp->yy * y + warp->y;
    return (struct position){(int)(source_x >> FRACTION_BITS), (int)(source_y >> FRACTION_BITS), position_fraction(source_x),
                             position_fraction(source_y)};
}

#if defined(IMAGES) || PLANES > 2
typedef float4 texel;
#elif PLANES == 2
typedef float2 texel;
#else
typedef float texel;
#endif

/* Loads a texel: planes PLANES * z and on. */
INLINE texel load_texel(PLANES_IN(src), int x, int y, int z)
{
#ifdef IMAGES
    return load(PLANES_ARG(src), x, y, z);
#else
    __global const float *at = src + offset(src_at, x, y, z * PLANES);
    const size_t plane = (size_t)src_at.plane_rows * src_at.pitch;
    texel v = 0.0f;
#pragma unroll
    for (int p = 0; p < PLANES; p++)
        ((float *)&v)[p] = at[p * plane];
    return v;
#endif
}

INLINE texel fill_texel(const struct warp *warp)
{
    texel v = 0.0f;
#pragma unroll
    for (int p = 0; p < (int)(sizeof(texel) / sizeof(float)); p++)
        ((float *)&v)[p] = warp->fill[p];
    return v;
}

/* Stores a texel: planes PLANES * z and on. */
INLINE void store_texel(PLANES_OUT(dst), int x, int y, int z, texel v)
{
#ifdef IMAGES
    store(PLANES_ARG(dst), x, y, z, v);
#else
    __global float *at = dst + offset(dst_at, x, y, z * PLANES);
    const size_t plane = (size_t)dst_at.plane_rows * dst_at.pitch;
#pragma unroll
    for (int p = 0; p < PLANES; p++)
        at[p * plane] = ((float *)&v)[p];
#endif
}

/* Returns true if `columns` samples from x on, in `rows` rows from y on, are all in memory. */
static inline bool contains(const struct geometry at, int x, int y, int columns, int rows)
{
    return x >= 0 && x + columns <= at.width && y >= at.first_row && y + rows <= at.first_row + at.rows;
}

/* Returns the sample at (x, y) by the border rule. `in_memory`: (x, y) is in the picture and in memory (contains()). */
INLINE texel border_texel(PLANES_IN(src), int x, int y, int z, bool in_memory)
{
    if (in_memory)
        return load_texel(PLANES_ARG(src), x, y, z);
    if (beyond_border(x, src_at.width) || beyond_border(y, src_at.height))
        return 0.0f;
    return load_texel(PLANES_ARG(src), edge(x, src_at.width), clamp_row(src_at, edge(y, src_at.height)), z);
}

/* Returns true if a pixel at that position is missing: its nearest sample is beyond the picture. With warp->nearest the
 * host has added 0.5 to positions, so (x, y) is the nearest sample. */
static inline bool is_missing(const struct warp *warp, const struct position at, const struct geometry src_at)
{
    const int x = at.x + (!warp->nearest && at.fraction_x >= 0.5f), y = at.y + (!warp->nearest && at.fraction_y >= 0.5f);
    return warp->missing && (x < 0 || x >= src_at.width || y < 0 || y >= src_at.height);
}

/* The source of samples: the group's tile, whose first sample is at (left, top), or, unless `tiled`, all of src. */
struct samples {
    bool tiled;
    __local const texel *tile;
    int left, top, pitch;
};

/* Loads a sample from the tile or from src. */
INLINE texel load_sample(const struct samples from, PLANES_IN(src), int x, int y, int z, bool in_memory)
{
    if (from.tiled)
        return from.tile[(y - from.top) * from.pitch + x - from.left];
    return border_texel(PLANES_ARG(src), x, y, z, in_memory);
}

/* Copies the group's tile. All work-items of the group call it. */
INLINE struct samples copy_samples(__local texel *tile, const struct warp *warp, PLANES_IN(src), int first_row)
{
    const int x = get_group_id(0) * get_local_size(0), y = get_group_id(1) * get_local_size(1) + first_row;
    const struct position at = find_position(warp, x, y);
    const struct samples samples = {true, tile, at.x + warp->left, at.y + warp->top, warp->pitch};
    const bool in_memory = contains(src_at, samples.left, samples.top, warp->columns, warp->rows);
    const int items = get_local_size(0) * get_local_size(1);
    for (int k = get_local_id(1) * get_local_size(0) + get_local_id(0); k < warp->columns * warp->rows; k += items) {
        /* k / columns; exact, as k is small and 0.5 keeps the quotient away from integers. */
        const int row = (k + 0.5f) / warp->columns, column = k - row * warp->columns;
        tile[row * warp->pitch + column] =
            border_texel(PLANES_ARG(src), samples.left + column, samples.top + row, get_global_id(2), in_memory);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return samples;
}

/* Returns the weighted sum of TAPS x TAPS samples from first_x, first_y on: down each column, then over the
 * columns. */
INLINE texel sum_around(const struct samples from, PLANES_IN(src), int first_x, int first_y, int z, const float *wx,
                        const float *wy, bool in_memory)
{
    texel column[TAPS] = {0.0f}, sum = 0.0f;
#pragma unroll
    for (int j = 0; j < TAPS; j++)
#pragma unroll
        for (int i = 0; i < TAPS; i++)
            column[i] = mad(load_sample(from, PLANES_ARG(src), first_x + i, first_y + j, z, in_memory), wy[j], column[i]);
#pragma unroll
    for (int i = 0; i < TAPS; i++)
        sum = mad(column[i], wx[i], sum);
    return sum;
}

/* Computes an output pixel of a warp that does not shrink. */
INLINE void warp_pixel(const struct samples from, PLANES_IN(src), PLANES_OUT(dst), const struct warp *warp)
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const struct position at = find_position(warp, x, y);
    if (is_missing(warp, at, src_at)) {
        store_texel(PLANES_ARG(dst), x, y, z, (texel)NAN);
        return;
    }
    if (warp->nearest) {
        const bool beyond = beyond_border(at.x, src_at.width) || beyond_border(at.y, src_at.height);
        store_texel(PLANES_ARG(dst), x, y, z, beyond ? fill_texel(warp) : border_texel(PLANES_ARG(src), at.x, at.y, z, false));
        return;
    }
    const int first_x = at.x - TAPS / 2 + 1, first_y = at.y - TAPS / 2 + 1;
    float wx[LINE_LANES], wy[LINE_LANES];
    find_weights(wx, warp, at.fraction_x);
    find_weights(wy, warp, at.fraction_y);
    /* The last argument is constant, so that the common copy has no tests of the border. */
    if (contains(src_at, first_x, first_y, TAPS, TAPS))
        store_texel(PLANES_ARG(dst), x, y, z, sum_around(from, PLANES_ARG(src), first_x, first_y, z, wx, wy, true));
    else
        store_texel(PLANES_ARG(dst), x, y, z, sum_around(from, PLANES_ARG(src), first_x, first_y, z, wx, wy, false));
}

__kernel void warp(PLANES_IN(src), PLANES_OUT(dst), const struct warp warp)
{
    const struct samples all = {false};
    warp_pixel(all, PLANES_ARG(src), PLANES_ARG(dst), &warp);
}

#ifndef IMAGES
__kernel void warp_tiled(PLANES_IN(src), PLANES_OUT(dst), const struct warp warp, __local texel *tile)
{
    warp_pixel(copy_samples(tile, &warp, PLANES_ARG(src), dst_at.first_row), PLANES_ARG(src), PLANES_ARG(dst), &warp);
}
#endif

/* Adds LINE_LANES samples from first_x, first_y on, times the weight of their row, to a line of columns. */
INLINE void add_row(texel *column, const struct samples from, PLANES_IN(src), int first_x, int first_y, int z, float weight,
                    bool in_memory)
{
#pragma unroll
    for (int i = 0; i < LINE_LANES; i++)
        column[i] = mad(load_sample(from, PLANES_ARG(src), first_x + i, first_y, z, in_memory), weight, column[i]);
}

/* Computes an output pixel of a warp that shrinks: the filter is stretched, and its weights are normalised. */
INLINE void shrink_pixel(const struct samples from, PLANES_IN(src), PLANES_OUT(dst), const struct warp *warp)
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const struct position at = find_position(warp, x, y);
    const int reach_x = (int)ceil(TAPS / 2 * warp->stretch_x), reach_y = (int)ceil(TAPS / 2 * warp->stretch_y);
    /* Far from the picture the window, which may have millions of samples, is not read: they are all 0. */
    const bool is_far = EDGE == 3 && (at.x < -reach_x || at.x >= src_at.width - 1 + reach_x || at.y < -reach_y ||
                                      at.y >= src_at.height - 1 + reach_y);
    if (is_far || is_missing(warp, at, src_at)) {
        store_texel(PLANES_ARG(dst), x, y, z, is_far ? (texel)(0.0f) : (texel)(NAN));
        return;
    }
    texel sum = 0.0f;
    float across = 0.0f, down = 0.0f;
    /* LINE_LANES (4 or 8) columns of samples at a time: sums along y, then adds the weighted columns. */
    for (int left = 1 - reach_x; left <= reach_x; left += LINE_LANES) {
        const int first_x = at.x + left;
        const bool in_memory = contains(src_at, first_x, at.y - reach_y + 1, LINE_LANES, 2 * reach_y);
        texel column[LINE_LANES] = {0.0f};
        float wx[LINE_LANES], wy[LINE_LANES];
        down = 0.0f;
        for (int top = 1 - reach_y; top <= reach_y; top += LINE_LANES) {
            STORE_LINE(weigh(warp, fabs(LANE_NUMBERS + (top - at.fraction_y)) / warp->stretch_y), 0, wy);
            const int rows = min(LINE_LANES, reach_y - top + 1);
            for (int j = 0; j < rows; j++) {
                const int first_y = at.y + top + j;
                down += wy[j];
                if (wy[j] == 0.0f) /* skip zero weights: samples there may be NaN */
                    continue;
                if (in_memory)
                    add_row(column, from, PLANES_ARG(src), first_x, first_y, z, wy[j], true);
                else
                    add_row(column, from, PLANES_ARG(src), first_x, first_y, z, wy[j], false);
            }
        }
        STORE_LINE(weigh(warp, fabs(LANE_NUMBERS + (left - at.fraction_x)) / warp->stretch_x), 0, wx);
#pragma unroll
        for (int i = 0; i < LINE_LANES; i++) { /* skip zero weights: samples there may be NaN */
            across += wx[i];
            if (wx[i] != 0.0f)
                sum = mad(column[i], wx[i], sum);
        }
    }
    store_texel(PLANES_ARG(dst), x, y, z, sum / (across * down));
}

__kernel void warp_shrinking(PLANES_IN(src), PLANES_OUT(dst), const struct warp warp)
{
    const struct samples all = {false};
    shrink_pixel(all, PLANES_ARG(src), PLANES_ARG(dst), &warp);
}

#ifndef IMAGES
__kernel void warp_shrinking_tiled(PLANES_IN(src), PLANES_OUT(dst), const struct warp warp, __local texel *tile)
{
    shrink_pixel(copy_samples(tile, &warp, PLANES_ARG(src), dst_at.first_row), PLANES_ARG(src), PLANES_ARG(dst), &warp);
}
#endif
