/* One level of the inverse 2-D dual-tree complex wavelet transform, for CPUs: columns into two planes L and H, then
 * rows into the next finer lowpass. N. Kingsbury, "Complex wavelets for shift invariant analysis and filtering of
 * signals", ACHA 10 (2001).
 *
 *     L = cols_g0 Z + cols_g1 c2q(0, 5),  H = cols_g0 c2q(2, 3) + cols_g1 c2q(1, 4),  result = rows_g0 L + rows_g1 H
 *
 *   level 1      F: y[n] = sum of w[k] X[n - taps / 2 + k], taps odd
 *   from 2 on    U doubles the size: with M = taps / 2, odd, and (e, o) = pair n - M / 2 + k of X, k < M,
 *                (y[4n], y[4n + 1], y[4n + 2], y[4n + 3]) = sum of w[k] * (e, o, e, o); for the highpass * (o, e, o, e)
 *
 * Order of sums: row after row (or pair after pair) of coefficients, first with g0, then with g1; of two rows the even
 * one first.
 *
 * w: the weights of g0, then the weights of g1; for U four weights per k. Z may be larger than the level by one sample
 * per side. These samples are skipped here (`crop`), as removing them would take a pass.
 *
 * Work-items: the columns pass computes PAIRS pairs of columns, the rows pass a vec (level 1) or four outputs per pair.
 * z counts planes. */
#define PAIRS 8
#include "axis.h"
#include "planes_pairs.h"

#define MAX_TAPS 19

/* Two rows of the lowpass, and of the quads of each pair of subbands: outer (0, 5), upper (2, 3), diagonal (1, 4). */
struct rows {
    struct quads lowpass, outer, upper, diagonal;
};

/* Returns the two rows of quads exchanged. */
static inline struct quads swap_even_odd(const struct quads rows)
{
    struct quads other;
    other.even = rows.odd;
    other.odd = rows.even;
    return other;
}

/* Loads rows 2i and 2i + 1. Beyond the border the mirrored even and odd row exchange places. */
static inline struct rows load_rows(PLANES_IN(lowpass), PLANES_IN(subbands), int2 crop, int n, int i, int z)
{
    const int at = reflect(2 * i, 2 * subbands_at.height), row = at >> 1, y = 2 * row + crop.y;
    struct rows rows;
    rows.lowpass.even = VLOAD(lowpass + offset(lowpass_at, 2 * n + crop.x, y, z));
    rows.lowpass.odd = VLOAD(lowpass + offset(lowpass_at, 2 * n + crop.x, y + 1, z));
    rows.outer = load_c2q(PLANES_ARG(subbands), 0, 5, n, row, z);
    rows.upper = load_c2q(PLANES_ARG(subbands), 2, 3, n, row, z);
    rows.diagonal = load_c2q(PLANES_ARG(subbands), 1, 4, n, row, z);
    if (at & 1) {
        rows.lowpass = swap_even_odd(rows.lowpass);
        rows.outer = swap_even_odd(rows.outer);
        rows.upper = swap_even_odd(rows.upper);
        rows.diagonal = swap_even_odd(rows.diagonal);
    }
    return rows;
}

/* Adds one row of coefficients to a sum, first with g0, then with g1. */
static inline pair add(pair sum, pair a, float g0, pair b, float g1)
{
    return mad(b, g1, mad(a, g0, sum));
}

/* Adds two rows of quads to a row of outputs: both rows with g0, then both with g1. k is the tap of the even row. Taps
 * beyond the filter are left out, as 0 * NaN would be NaN. */
static inline pair add_quads(pair sum, const struct quads a, const struct quads b, __constant const float *w, int k, int taps)
{
    __constant const float *g0 = w + 2 + k, *g1 = g0 + taps + 4;
    if (k >= 0 && k + 1 < taps)
        return mad(b.odd, g1[1], mad(b.even, g1[0], mad(a.odd, g0[1], mad(a.even, g0[0], sum))));
    if (k >= 0 && k < taps)
        return mad(b.even, g1[0], mad(a.even, g0[0], sum));
    return k == -1 ? mad(b.odd, g1[1], mad(a.odd, g0[1], sum)) : sum;
}

/* Work-item parameters of a grid in blocks of columns: the grid's x has one block, and its z all blocks of all planes.
 * The rows of twelve planes that the next row of work-items reads again are in the cache then, even in wide pictures. */
#define BLOCK_ITEM(planes)                                                                                              \
    (get_global_id(2) / (planes) * get_global_size(0) + get_global_id(0)) * ITEMS_PER_CALL, get_global_id(1), get_global_id(2) % (planes)

/* Filters columns on level 1. dst: layer 0 is L, layer 1 is H. The grid's x counts pairs of columns, its y pairs of
 * rows. Each filter has two unused weights on both sides. */
NOINLINE void inverse_columns_1_run(PLANES_IN(lowpass), PLANES_IN(subbands), PLANES_OUT(dst), __constant const float *w, int taps,
                                 int2 crop, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int n = item * PAIRS, i = item_y + dst_at.first_row / 2, z = item_z;
        if (n >= subbands_at.width || 2 * i >= dst_at.first_row + dst_at.rows)
            return;
        const int lo = PLANE_INDEX(0, z, dst_at.channels), hi = PLANE_INDEX(1, z, dst_at.channels);
        const int radius = taps / 2, reach = (radius + 1) / 2;
        pair low0 = 0.0f, low1 = 0.0f, high0 = 0.0f, high1 = 0.0f;
        for (int c = -reach; c <= reach; c++) {
            const struct rows v = load_rows(PLANES_ARG(lowpass), PLANES_ARG(subbands), crop, n, i + c, z);
            const int k = radius + 2 * c;
            low0 = add_quads(low0, v.lowpass, v.outer, w, k, taps);
            low1 = add_quads(low1, v.lowpass, v.outer, w, k - 1, taps);
            high0 = add_quads(high0, v.upper, v.diagonal, w, k, taps);
            high1 = add_quads(high1, v.upper, v.diagonal, w, k - 1, taps);
        }
        store_pair(PLANES_ARG(dst), 2 * n, 2 * i, lo, low0);
        store_pair(PLANES_ARG(dst), 2 * n, 2 * i + 1, lo, low1);
        store_pair(PLANES_ARG(dst), 2 * n, 2 * i, hi, high0);
        store_pair(PLANES_ARG(dst), 2 * n, 2 * i + 1, hi, high1);
    }
}

__kernel void inverse_columns_1(PLANES_IN(lowpass), PLANES_IN(subbands), PLANES_OUT(dst), __constant const float *w, int taps,
                                int2 crop)
{
    inverse_columns_1_run(PLANES_ARG(lowpass), PLANES_ARG(subbands), PLANES_ARG(dst), w, taps, crop, BLOCK_ITEM(dst_at.channels));
}

/* Filters columns from level 2 on. The grid's y counts groups of four rows. */
NOINLINE void inverse_columns_2_run(PLANES_IN(lowpass), PLANES_IN(subbands), PLANES_OUT(dst), __constant const float *w, int taps,
                                 int2 crop, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int n = item * PAIRS, i = item_y + dst_at.first_row / 4, z = item_z;
        if (n >= subbands_at.width || 4 * i >= dst_at.first_row + dst_at.rows)
            return;
        const int lo = PLANE_INDEX(0, z, dst_at.channels), hi = PLANE_INDEX(1, z, dst_at.channels), fours = taps / 2;
        pair low0 = 0.0f, low1 = 0.0f, low2 = 0.0f, low3 = 0.0f, high0 = 0.0f, high1 = 0.0f, high2 = 0.0f, high3 = 0.0f;
        for (int k = 0; k < fours; k++) {
            const struct rows v = load_rows(PLANES_ARG(lowpass), PLANES_ARG(subbands), crop, n, i + k - fours / 2, z);
            __constant const float *g0 = w + 4 * k, *g1 = g0 + 4 * fours;
            low0 = add(low0, v.lowpass.even, g0[0], v.outer.odd, g1[0]);
            low1 = add(low1, v.lowpass.odd, g0[1], v.outer.even, g1[1]);
            low2 = add(low2, v.lowpass.even, g0[2], v.outer.odd, g1[2]);
            low3 = add(low3, v.lowpass.odd, g0[3], v.outer.even, g1[3]);
            high0 = add(high0, v.upper.even, g0[0], v.diagonal.odd, g1[0]);
            high1 = add(high1, v.upper.odd, g0[1], v.diagonal.even, g1[1]);
            high2 = add(high2, v.upper.even, g0[2], v.diagonal.odd, g1[2]);
            high3 = add(high3, v.upper.odd, g0[3], v.diagonal.even, g1[3]);
        }
        store_pair(PLANES_ARG(dst), 2 * n, 4 * i, lo, low0);
        store_pair(PLANES_ARG(dst), 2 * n, 4 * i + 1, lo, low1);
        store_pair(PLANES_ARG(dst), 2 * n, 4 * i + 2, lo, low2);
        store_pair(PLANES_ARG(dst), 2 * n, 4 * i + 3, lo, low3);
        store_pair(PLANES_ARG(dst), 2 * n, 4 * i, hi, high0);
        store_pair(PLANES_ARG(dst), 2 * n, 4 * i + 1, hi, high1);
        store_pair(PLANES_ARG(dst), 2 * n, 4 * i + 2, hi, high2);
        store_pair(PLANES_ARG(dst), 2 * n, 4 * i + 3, hi, high3);
    }
}

__kernel void inverse_columns_2(PLANES_IN(lowpass), PLANES_IN(subbands), PLANES_OUT(dst), __constant const float *w, int taps,
                                int2 crop)
{
    inverse_columns_2_run(PLANES_ARG(lowpass), PLANES_ARG(subbands), PLANES_ARG(dst), w, taps, crop, BLOCK_ITEM(dst_at.channels));
}

/* Returns true if row y is in memory. */
static inline bool has_row(const struct geometry at, int y)
{
    return y >= at.first_row && y < at.first_row + at.rows;
}

/* Filters rows on level 1. dst has the image's own size: the padding of odd sizes is dropped here. Only rows of src
 * that dst has are computed. */
NOINLINE void inverse_rows_1_run(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + src_at.first_row, z = item_z;
        if (x >= dst_at.width || !has_row(dst_at, y) || !has_row(src_at, y))
            return;
        const struct axis axis = {src_at.width, 0, src_at.width};
        const int lo = PLANE_INDEX(0, z, src_at.channels), hi = PLANE_INDEX(1, z, src_at.channels), x0 = x - taps / 2;
        vec sum = 0.0f;
        if (is_interior(axis, x0, LANES + taps)) {
            __global const float *low = src + offset(src_at, x0, y, lo), *high = src + offset(src_at, x0, y, hi);
            for (int k = 0; k < taps; k++)
                sum = add(sum, VLOAD(low + k), w[k], VLOAD(high + k), w[taps + k]);
        } else {
            float low[LANES + MAX_TAPS], high[LANES + MAX_TAPS];
            fill_axis(low, LANES + taps, PLANES_ARG(src), axis, x0, y, lo);
            fill_axis(high, LANES + taps, PLANES_ARG(src), axis, x0, y, hi);
            for (int k = 0; k < taps; k++)
                sum = add(sum, VLOAD(low + k), w[k], VLOAD(high + k), w[taps + k]);
        }
        store(PLANES_ARG(dst), x, y, z, sum);
    }
}

__kernel void inverse_rows_1(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps)
{
    inverse_rows_1_run(PLANES_ARG(src), PLANES_ARG(dst), w, taps, WORK_ITEM_ARGS);
}

/* The L and H inputs of tap 0: in the source or, at the border, in lines of mirrored samples. */
struct pass {
    __global const float *low, *high;
    const float *low_line, *high_line;
};

/* Adds up outputs 4n, 4n + 1 (`first`) and 4n + 2, 4n + 3 (`second`) of PAIRS pairs, with four weights per k. */
INLINE void add_fours(pair *first, pair *second, bool inside, const struct pass of, __constant const float *w, int fours)
{
    for (int k = 0; k < fours; k++) {
        const pair a = inside ? VLOAD(of.low + 2 * k) : VLOAD(of.low_line + 2 * k);
        const pair b = swap(inside ? VLOAD(of.high + 2 * k) : VLOAD(of.high_line + 2 * k));
        const float4 g0 = vload4(k, w), g1 = vload4(fours + k, w);
        *first = mad(b, g1.s0101010101010101, mad(a, g0.s0101010101010101, *first));
        *second = mad(b, g1.s2323232323232323, mad(a, g0.s2323232323232323, *second));
    }
}

/* Filters rows from level 2 on. The grid's x counts pairs of src's columns, each of which becomes four columns of dst. */
NOINLINE void inverse_rows_2_run(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int n = item * PAIRS, y = item_y + src_at.first_row, z = item_z;
        if (2 * n >= src_at.width || !has_row(dst_at, y) || !has_row(src_at, y))
            return;
        const struct axis axis = {src_at.width, 0, src_at.width};
        const int fours = taps / 2, x0 = 2 * (n - fours / 2), count = 2 * (PAIRS + fours);
        const int lo = PLANE_INDEX(0, z, src_at.channels), hi = PLANE_INDEX(1, z, src_at.channels);
        pair first = 0.0f, second = 0.0f;
        float low[2 * (PAIRS + MAX_TAPS)], high[2 * (PAIRS + MAX_TAPS)];
        const struct pass of = {src + offset(src_at, x0, y, lo), src + offset(src_at, x0, y, hi), low, high};
        if (is_interior(axis, x0, count)) {
            add_fours(&first, &second, true, of, w, fours);
        } else {
            fill_axis(low, count, PLANES_ARG(src), axis, x0, y, lo);
            fill_axis(high, count, PLANES_ARG(src), axis, x0, y, hi);
            add_fours(&first, &second, false, of, w, fours);
        }
        const float8 a = first.lo, b = second.lo, c = first.hi, d = second.hi;
        store_pair(PLANES_ARG(dst), 4 * n, y, z, (pair)(a.s01, b.s01, a.s23, b.s23, a.s45, b.s45, a.s67, b.s67));
        if (4 * n + LANES < dst_at.pitch)
            store_pair(PLANES_ARG(dst), 4 * n + LANES, y, z, (pair)(c.s01, d.s01, c.s23, d.s23, c.s45, d.s45, c.s67, d.s67));
    }
}

__kernel void inverse_rows_2(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps)
{
    inverse_rows_2_run(PLANES_ARG(src), PLANES_ARG(dst), w, taps, WORK_ITEM_ARGS);
}
