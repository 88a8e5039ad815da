/* Affine warps (warp.cl) on CPU devices, if output rows nearly follow rows of the source, as in a rotation by a few degrees. A
 * work-item computes sixteen neighbours along x, and loads sixteen neighbours of a source row at a time:
 *
 *     dst   # # # # # # # #     src   # # # . . . . .
 *                                     . . . # # # . .    the positions are next to each other in a few rows
 *                                     . . . . . . # #
 *
 * The position of lane l is in column x0 + l + shift of the source, where x0 is the column of lane 0. So one load has a sample
 * for every lane with that shift; lanes with another row or shift are masked. There are few rows and shifts: with the cubic 5
 * rows and mostly 1 shift for a rotation by 2 degrees, 12 rows and 3 shifts for 30 degrees.
 *
 * Each lane sums in the order of warp.cl: down each column of samples, then over the columns. A masked lane keeps its sum:
 * it must not add 0 times the sample, which may be NaN.
 *
 *   -DTAPS=n    samples along each axis (warp.h)
 *   -DPLANES=n  planes of a work-item, which share its positions and weights
 *
 * Grid: x counts vecs of dst, y rows, z groups of PLANES planes. */
#include "warp.h"

#ifndef PLANES
#define PLANES 1
#endif

/* Bounds of the columns and rows that a work-item needs. The limits of warp_follows_rows() of src/filters/warp.c are widest for
 * one plane: columns are at most 16 lanes + 8 (last_shift) + 5 (TAPS - 1), rows at most 12 (bottom - top) + 6 (TAPS). */
#define TILE_COLUMNS 32
#define TILE_ROWS    20

/* Prefetches a cache line. OpenCL's prefetch() does nothing in PoCL 3.1. Other targets have address spaces, which
 * __builtin_prefetch() does not take. */
#if defined __x86_64__ || defined __aarch64__
#define PREFETCH(p) __builtin_prefetch((const void *)(size_t)(p))
#else
#define PREFETCH(p)
#endif

/* The positions of sixteen neighbours in the source: whole pixels, and fractions in [0, 1). */
struct positions {
    int16 y, shift; /* row, and column - x - lane number */
    vec fraction_x, fraction_y;
    int x;             /* column of lane 0, whose shift is 0 */
    int last_shift;    /* shift of lane 15; all shifts are between 0 and this one */
    int top, bottom;   /* least and largest row of all lanes */
    int16 missing;     /* not 0: the sample nearest to the lane's position is outside the picture */
};

/* Returns the fractions of positions, to 24 bits, which are exact in a float. */
INLINE vec find_fractions(long16 position)
{
    return convert_float16(convert_int16(position >> (UNIT_BITS - 24)) & 0xffffff) * 0x1p-24f;
}

/* Returns the positions in the source of output pixels x to x + 15 of row y. */
INLINE struct positions find_positions(const struct warp *warp, int x, int y, const struct geometry src_at)
{
    const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const long16 along = convert_long16(x + lanes);
    const long16 source_x = warp->xx * along + (warp->xy * y + warp->x), source_y = warp->yx * along + (warp->yy * y + warp->y);
    const int16 columns = convert_int16(source_x >> UNIT_BITS), rows = convert_int16(source_y >> UNIT_BITS);
    struct positions at = {.y = rows,
                           .shift = columns - columns.s0 - lanes,
                           .fraction_x = find_fractions(source_x),
                           .fraction_y = find_fractions(source_y),
                           .x = columns.s0,
                           .top = min(rows.s0, rows.sf),
                           .bottom = max(rows.s0, rows.sf)};
    at.last_shift = at.shift.sf;
    const int16 nearest_x = columns - (at.fraction_x >= 0.5f), nearest_y = rows - (at.fraction_y >= 0.5f); /* true is -1 */
    at.missing = (nearest_x < 0) | (nearest_x >= src_at.width) | (nearest_y < 0) | (nearest_y >= src_at.height);
    return at;
}

/* Computes the weights of the TAPS samples along an axis. */
INLINE void find_weights(vec *weights, const struct warp *warp, vec fraction)
{
#if TAPS == 4
#pragma unroll
    for (int k = 0; k < 4; k++)
        weights[k] = mad(mad(mad(warp->cubic[3][k], fraction, (vec)(warp->cubic[2][k])), fraction, (vec)(warp->cubic[1][k])),
                         fraction, (vec)(warp->cubic[0][k]));
#elif TAPS == 2
    weights[0] = 1 - fraction;
    weights[1] = fraction;
#else
    const vec first = 1 - TAPS / 2 - fraction;
    vec sum = 0.0f;
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        weights[k] = weigh(warp, fabs(k + first));
        sum += weights[k];
    }
#pragma unroll
    for (int k = 0; k < TAPS; k++)
        weights[k] /= sum;
#endif
}

/* Returns the weighted sums of TAPS x TAPS samples, which begin in column x0 for lane 0 and in row `top` for the uppermost
 * lane. If `tile` is not NULL, samples are read from it: its first one is at (left, top). */
INLINE vec sum_rows(const float *tile, int left, PLANES_IN(src), int x0, int top, int z, const struct positions at,
                    const vec *wx, const vec *wy)
{
    const int step = at.last_shift < 0 ? -1 : 1;
    vec column[TAPS] = {0.0f}, sum = 0.0f;
    for (int row = 0; row < at.bottom - at.top + TAPS; row++) {
        const int16 tap = row + at.top - at.y; /* index of this row in the window of a lane; outside [0, TAPS): not in it */
        vec weight = wy[0];
#pragma unroll
        for (int j = 1; j < TAPS; j++)
            weight = tap == j ? wy[j] : weight;
        for (int shift = 0;; shift += step) {
            const int16 adds = (tap >= 0) & (tap < TAPS) & (at.shift == shift);
#pragma unroll
            for (int i = 0; i < TAPS; i++) {
                const int x = x0 + shift + i;
                const vec v = tile ? VLOAD(tile + row * TILE_COLUMNS + x - left) : VLOAD(src + offset(src_at, x, top + row, z));
                column[i] = adds ? mad(v, weight, column[i]) : column[i];
            }
            if (shift == at.last_shift)
                break;
        }
    }
#pragma unroll
    for (int i = 0; i < TAPS; i++)
        sum = mad(column[i], wx[i], sum);
    return sum;
}

/* Fills a tile with `columns` x `rows` samples of plane z, from (left, top) on, by the border rule. */
INLINE void fill_tile(float *tile, PLANES_IN(src), int left, int top, int columns, int rows, int z)
{
    for (int row = 0; row < rows; row++) {
        float *tile_row = tile + row * TILE_COLUMNS;
        if (beyond_border(top + row, src_at.height))
            for (int i = 0; i < columns; i++)
                tile_row[i] = 0.0f;
        else
            fill_line(tile_row, columns, PLANES_ARG(src), left, clamp_row(src_at, edge(top + row, src_at.height)), z);
    }
}

NOINLINE void warp_run(PLANES_IN(src), PLANES_OUT(dst), const struct warp *warp, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row;
        if (x >= dst_at.width)
            return;
        const struct positions at = find_positions(warp, x, y, src_at);
        vec wx[TAPS], wy[TAPS];
        find_weights(wx, warp, at.fraction_x);
        find_weights(wy, warp, at.fraction_y);
        /* The columns and rows of the source that all lanes together load. */
        const int x0 = at.x - TAPS / 2 + 1, left = x0 + min(at.last_shift, 0), columns = LANES + abs(at.last_shift) + TAPS - 1;
        const int top = at.top - TAPS / 2 + 1, rows = at.bottom - at.top + TAPS, end_row = src_at.first_row + src_at.rows;
        const bool in_memory = left >= 0 && left + columns <= src_at.width && top >= src_at.first_row && top + rows <= end_row;
#pragma unroll 1
        for (int p = 0; p < PLANES; p++) {
            const int z = item_z * PLANES + p;
            vec value;
            if (in_memory) {
                /* Prefetches a cache line, two output rows before its first use. Without this every cache miss stalls:
                 * 35 megapixels by 2 degrees in slices of 1000 rows took 0.8 s instead of 0.1. */
                PREFETCH(src + offset(src_at, at.y.sf > at.y.s0 ? x0 : x0 + LANES, min(top + rows + 1, end_row - 1), z));
                value = sum_rows(0, 0, PLANES_ARG(src), x0, top, z, at, wx, wy);
            } else {
                float tile[TILE_ROWS * TILE_COLUMNS];
                fill_tile(tile, PLANES_ARG(src), left, top, columns, rows, z);
                value = sum_rows(tile, left, PLANES_ARG(src), x0, top, z, at, wx, wy);
            }
            if (warp->missing)
                value = at.missing ? (vec)(NAN) : value;
            store(PLANES_ARG(dst), x, y, z, value);
        }
    }
}

__kernel void warp_rows(PLANES_IN(src), PLANES_OUT(dst), const struct warp warp)
{
    warp_run(PLANES_ARG(src), PLANES_ARG(dst), &warp, WORK_ITEM_ARGS);
}
