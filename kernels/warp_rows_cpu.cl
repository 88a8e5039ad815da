/* Affine warps (warp.cl) on CPU devices, if output rows nearly follow rows of the source, as in a rotation by a few degrees. A
 * work-item computes sixteen neighbours along x, and loads sixteen neighbours of a source row at a time:
 *
 *     dst   # # # # # # # #     src   # # # . . . . .
 *                                     . . . # # # . .    the positions are next to each other in a few rows
 *                                     . . . . . . # #
 *
 * The position of lane l is in column x0 + l + shift of the source, where x0 is the column of lane 0. So one load has a sample
 * for every lane with that shift; lanes with another row or shift are masked. There are few rows and shifts: with the cubic 5
 * rows and mostly 1 shift for a rotation by 2 degrees, 12 rows and 3 shifts for 30 degrees, of which a shift needs 6 or 7 rows.
 * Without shifts, and with positions in one or two rows, only the outermost rows have masks: 2 degrees take 0.6 of the time of
 * masks for all rows with AVX2, whose masks are separate instructions.
 *
 * Each lane sums in the order of warp.cl: down each column of samples, then over the columns. A masked lane keeps its sum:
 * it must not add 0 times the sample, which may be NaN.
 *
 *   -DTAPS=n    samples along each axis (warp.h)
 *   -DPLANES=n  planes of a work-item, which share its positions and weights
 *
 * Grid: x counts vecs of dst, y rows, z groups of PLANES planes. */
#include "warp.h"

/* Bounds of the columns and rows that a work-item needs. The limits in src/filters/warp.c are widest for one
 * plane: columns are at most 16 lanes + 8 (last_shift) + 5 (TAPS - 1), rows at most 12 (bottom - top) + 6 (TAPS). */
#define TILE_COLUMNS 32
#define TILE_ROWS    20

#define LANE_NUMBERS ((int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))

/* Distances of the lanes from lane 0 along an axis of the source: high * 2^-24 + low * 2^-40 pixels, modulo 256 pixels. */
struct distances {
    uint16 high, low;
};

INLINE struct distances find_distances(long step)
{
    const long16 distance = step * convert_long16(LANE_NUMBERS);
    return (struct distances){as_uint16(convert_int16(distance >> 16)), as_uint16(convert_int16(distance & 0xffff))};
}

/* Returns the positions of the lanes along an axis, in units of 2^-24 pixels and modulo 256 pixels. `first` is the position of
 * lane 0 in units of 2^-40 pixels. AVX2 has no 64-bit products and signed shifts, so this is in 32 bits. */
INLINE uint16 find_axis(const struct distances distances, long first)
{
    return distances.high + (uint)(first >> 16) + ((distances.low + (uint)(first & 0xffff)) >> 16);
}

/* Returns the whole pixels of positions, relative to the pixel of lane 0. */
INLINE int16 find_pixels(uint16 position)
{
    return as_int16(position - (position.s0 & 0xff000000)) >> 24;
}

/* Returns the fractions of positions, which are exact in a float. */
INLINE vec find_fractions(uint16 position)
{
    return convert_float16(as_int16(position & 0xffffff)) * 0x1p-24f;
}

/* The positions of sixteen neighbours in the source: whole pixels, and fractions in [0, 1). */
struct positions {
    int x, top;       /* column of lane 0, and row of the uppermost lane */
    int16 shift, row; /* column - x - lane number, and row - top */
    vec fraction_x, fraction_y;
    int last_shift;   /* shift of lane 15; all shifts are between 0 and this one */
    int last_row;     /* largest `row` */
    bool falls;       /* lane 15 is in a lower row than lane 0 */
};

/* Returns the positions of sixteen neighbours in the source. Lane 0 is at (first_x, first_y), in units of 2^-40 pixels. */
INLINE struct positions find_positions(const struct distances along_x, const struct distances along_y, long first_x, long first_y)
{
    const uint16 x = find_axis(along_x, first_x), y = find_axis(along_y, first_y);
    const int16 row = find_pixels(y);
    struct positions at = {.x = (int)(first_x >> FRACTION_BITS),
                           .top = (int)(first_y >> FRACTION_BITS) + min(row.sf, 0),
                           .shift = find_pixels(x) - LANE_NUMBERS,
                           .row = row - min(row.sf, 0),
                           .fraction_x = find_fractions(x),
                           .fraction_y = find_fractions(y),
                           .last_row = abs(row.sf),
                           .falls = row.sf > 0};
    at.last_shift = at.shift.sf;
    return at;
}

/* Returns the smallest lane. */
INLINE int smallest(int16 v)
{
    const int8 a = v.lo < v.hi ? v.lo : v.hi;
    const int4 b = a.lo < a.hi ? a.lo : a.hi;
    return min(min(b.x, b.y), min(b.z, b.w));
}

/* Returns the weighted sums of TAPS x TAPS samples, which begin in column x0 for lane 0 and in row `top` for the uppermost
 * lane. If `tile` is not NULL, samples are read from it: its first one is at (left, top). */
INLINE vec sum_rows(const float *tile, int left, PLANES_IN(src), int x0, int top, int z, const struct positions at,
                    const vec *wx, const vec *wy)
{
    const int step = at.last_shift < 0 ? -1 : 1;
    vec column[TAPS] = {0.0f}, sum = 0.0f;
    for (int shift = 0;; shift += step) {
        /* The rows that lanes with this shift need. */
        const int16 has_shift = at.shift == shift;
        int row = 0, last = at.last_row;
        if (at.last_shift != 0) {
            row = smallest(has_shift ? at.row : last);
            last -= smallest(has_shift ? last - at.row : last);
        }
        for (; row < last + TAPS; row++) {
            const int16 tap = row - at.row; /* index of this row in the window of a lane; outside [0, TAPS): not in it */
            const int16 adds = (tap >= 0) & (tap < TAPS) & has_shift;
            vec weight = wy[0];
#pragma unroll
            for (int j = 1; j < TAPS; j++)
                weight = tap == j ? wy[j] : weight;
#pragma unroll
            for (int i = 0; i < TAPS; i++) {
                const int x = x0 + shift + i;
                const vec v = tile ? VLOAD(tile + row * TILE_COLUMNS + x - left) : VLOAD(src + offset(src_at, x, top + row, z));
                column[i] = adds ? mad(v, weight, column[i]) : column[i];
            }
        }
        if (shift == at.last_shift)
            break;
    }
#pragma unroll
    for (int i = 0; i < TAPS; i++)
        sum = mad(column[i], wx[i], sum);
    return sum;
}

/* The same for samples in memory and lanes without shifts in at most two rows: only the outermost rows need a mask. */
INLINE vec sum_two_rows(PLANES_IN(src), int x0, int top, int z, const struct positions at, const vec *wx, const vec *wy)
{
    const int16 is_lower = at.row != 0;
    __global const float *p = src + offset(src_at, x0, top, z);
    vec column[TAPS] = {0.0f}, sum = 0.0f;
#pragma unroll
    for (int row = 0; row <= TAPS; row++, p += src_at.pitch) {
        if (row == TAPS && at.last_row == 0)
            break;
        const vec weight = row == 0 ? wy[0] : row == TAPS ? wy[TAPS - 1] : is_lower ? wy[row - 1] : wy[row];
#pragma unroll
        for (int i = 0; i < TAPS; i++) {
            const vec added = mad(VLOAD(p + i), weight, column[i]);
            column[i] = row == 0 ? (is_lower ? column[i] : added) : row == TAPS ? (is_lower ? added : column[i]) : added;
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
    const int y = item_y + dst_at.first_row;
    const long row_x = warp->xy * y + warp->x, row_y = warp->yy * y + warp->y;
    const struct distances along_x = find_distances(warp->xx), along_y = find_distances(warp->yx);
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES;
        if (x >= dst_at.width)
            return;
        const struct positions at = find_positions(along_x, along_y, warp->xx * x + row_x, warp->yx * x + row_y);
        vec wx[TAPS], wy[TAPS];
        find_weights(wx, warp, at.fraction_x);
        find_weights(wy, warp, at.fraction_y);
        /* The columns and rows of the source that all lanes together load. */
        const int x0 = at.x - TAPS / 2 + 1, left = x0 + min(at.last_shift, 0), columns = LANES + abs(at.last_shift) + TAPS - 1;
        const int top = at.top - TAPS / 2 + 1, rows = at.last_row + TAPS, end_row = src_at.first_row + src_at.rows;
        const bool in_memory = left >= 0 && left + columns <= src_at.width && top >= src_at.first_row && top + rows <= end_row;
#pragma unroll 1
        for (int p = 0; p < PLANES; p++) {
            const int z = item_z * PLANES + p;
            vec value;
            if (in_memory) {
                /* Prefetches a cache line of the source row that output row y + 2 is the first to need. Without this every
                 * cache miss stalls: 35 megapixels by 2 degrees in slices of 1000 rows took 0.8 s instead of 0.1. */
                PREFETCH(src + offset(src_at, at.falls ? x0 : x0 + LANES, min(top + rows + 1, end_row - 1), z));
                value = at.last_row <= 1 && at.last_shift == 0 ? sum_two_rows(PLANES_ARG(src), x0, top, z, at, wx, wy)
                                                               : sum_rows(0, 0, PLANES_ARG(src), x0, top, z, at, wx, wy);
            } else {
                float tile[TILE_ROWS * TILE_COLUMNS];
                fill_tile(tile, PLANES_ARG(src), left, top, columns, rows, z);
                value = sum_rows(tile, left, PLANES_ARG(src), x0, top, z, at, wx, wy);
            }
            if (warp->missing) { /* the nearest sample is outside the picture: comparisons that are true are -1 */
                const int16 near_x = at.x + at.shift + LANE_NUMBERS - (at.fraction_x >= 0.5f);
                const int16 near_y = at.top + at.row - (at.fraction_y >= 0.5f);
                const int16 is_outside =
                    (near_x < 0) | (near_x >= src_at.width) | (near_y < 0) | (near_y >= src_at.height);
                value = is_outside ? (vec)(NAN) : value;
            }
            store(PLANES_ARG(dst), x, y, z, value);
        }
    }
}

__kernel void warp_rows(PLANES_IN(src), PLANES_OUT(dst), const struct warp warp)
{
    warp_run(PLANES_ARG(src), PLANES_ARG(dst), &warp, WORK_ITEM_ARGS);
}
