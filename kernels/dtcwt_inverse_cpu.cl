/* One level of the inverse 2-D dual-tree complex wavelet transform, for CPUs: columns into two planes L and H, then
 * rows into the next finer lowpass. N. Kingsbury, "Complex wavelets for shift invariant analysis and filtering of
 * signals", ACHA 10 (2001).
 *
 *     L = cols_g0 Z + cols_g1 c2q(0, 5),  H = cols_g0 c2q(2, 3) + cols_g1 c2q(1, 4),  result = rows_g0 L + rows_g1 H
 *
 *   Z            the lowpass of this level
 *   c2q(a, b)    the quads (2x2 blocks of samples) of subbands a and b (planes_pairs.h)
 *   cols_, rows_ columns or rows filtered with the lowpass g0 or the highpass g1:
 *
 *   level 1      y[n] = sum over k < taps of w[k] X[n - taps / 2 + k], taps odd
 *   from 2 on    each pair of inputs gives four outputs, with weights of their own:
 *                y[4n + i] = sum over k < taps / 2 of w[k][i] s[k][i], taps / 2 odd. With g0, s[k][i] is the even sample of
 *                pair n - taps / 4 + k of X for i = 0 and 2, the odd one for i = 1 and 3. With g1 it is the reverse
 *
 * w: the weights of g0, then the weights of g1. Z may have one more sample per side than the level, which `crop` skips:
 * cutting these samples off before would take another pass.
 *
 * Order of sums: k ascending; for each k first g0, then g1. In columns of level 1 rows are added two at a time, the even
 * one first: two rows with g0, then two with g1.
 *
 * Work-items: inverse_columns_* compute PAIRS pairs of columns. inverse_rows_1 computes a vec, inverse_rows_2 the outputs
 * of PAIRS pairs. z counts planes. */
#define PAIRS 8
#include "padded_axis.h"
#include "planes_pairs.h"

#define MAX_TAPS 19

/* An even and an odd row of the inputs: the lowpass, and c2q of subbands (0, 5), (2, 3) and (1, 4). */
struct row_pair {
    struct quads lowpass, c2q05, c2q23, c2q14;
};

/* Exchanges the even and the odd row. */
static inline struct quads swap_even_odd(const struct quads quads)
{
    struct quads swapped;
    swapped.even = quads.odd;
    swapped.odd = quads.even;
    return swapped;
}

/* Loads rows 2i and 2i + 1 of PAIRS pairs of columns, from pair n on. Mirrored at the border, the odd row comes first. */
static inline struct row_pair load_row_pair(PLANES_IN(lowpass), PLANES_IN(subbands), int2 crop, int n, int i, int z)
{
    const int at = reflect(2 * i, 2 * subbands_at.height), row = at >> 1, y = 2 * row + crop.y;
    struct row_pair rows;
    rows.lowpass.even = VLOAD(lowpass + offset(lowpass_at, 2 * n + crop.x, y, z));
    rows.lowpass.odd = VLOAD(lowpass + offset(lowpass_at, 2 * n + crop.x, y + 1, z));
    rows.c2q05 = load_c2q(PLANES_ARG(subbands), 0, 5, n, row, z);
    rows.c2q23 = load_c2q(PLANES_ARG(subbands), 2, 3, n, row, z);
    rows.c2q14 = load_c2q(PLANES_ARG(subbands), 1, 4, n, row, z);
    if (at & 1) {
        rows.lowpass = swap_even_odd(rows.lowpass);
        rows.c2q05 = swap_even_odd(rows.c2q05);
        rows.c2q23 = swap_even_odd(rows.c2q23);
        rows.c2q14 = swap_even_odd(rows.c2q14);
    }
    return rows;
}

/* Returns sum + g0 a + g1 b. */
static inline pair add_weighted(pair sum, pair a, float g0, pair b, float g1)
{
    return mad(b, g1, mad(a, g0, sum));
}

/* Returns sum + g0 a + g1 b over two rows: both rows of a, then both rows of b. k is the tap of the even row. Skips taps beyond
 * the filter, as 0 * NaN would be NaN. */
static inline pair add_quads(pair sum, const struct quads a, const struct quads b, __constant const float *w, int k, int taps)
{
    __constant const float *g0 = w + 2 + k, *g1 = g0 + taps + 4;
    if (k >= 0 && k + 1 < taps)
        return mad(b.odd, g1[1], mad(b.even, g1[0], mad(a.odd, g0[1], mad(a.even, g0[0], sum))));
    if (k >= 0 && k < taps)
        return mad(b.even, g1[0], mad(a.even, g0[0], sum));
    return k == -1 ? mad(b.odd, g1[1], mad(a.odd, g0[1], sum)) : sum;
}

/* WORK_ITEM_ARGS for a grid that is divided into blocks of columns: x is a position in a block, z counts blocks times planes.
 * Neighbouring rows of outputs read nearly the same rows of the subbands' twelve planes. In a narrow block, these rows are
 * still in the cache. */
#define BLOCK_WORK_ITEM_ARGS(planes)                                                                                    \
    (get_global_id(2) / (planes) * get_global_size(0) + get_global_id(0)) * ITEMS_PER_CALL, get_global_id(1),           \
        get_global_id(2) % (planes)

/* Filters columns on level 1. Layer 0 of dst is L, layer 1 is H. Rows are loaded in pairs, so the first or the last row may be
 * outside the filter. In `w` each filter has two unused weights before and after its own. A work-item computes PAIRS pairs of
 * columns in two rows. */
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
            const struct row_pair v = load_row_pair(PLANES_ARG(lowpass), PLANES_ARG(subbands), crop, n, i + c, z);
            const int k = radius + 2 * c;
            low0 = add_quads(low0, v.lowpass, v.c2q05, w, k, taps);
            low1 = add_quads(low1, v.lowpass, v.c2q05, w, k - 1, taps);
            high0 = add_quads(high0, v.c2q23, v.c2q14, w, k, taps);
            high1 = add_quads(high1, v.c2q23, v.c2q14, w, k - 1, taps);
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
    inverse_columns_1_run(PLANES_ARG(lowpass), PLANES_ARG(subbands), PLANES_ARG(dst), w, taps, crop,
                          BLOCK_WORK_ITEM_ARGS(dst_at.channels));
}

/* Filters columns from level 2 on. Layer 0 of dst is L, layer 1 is H. A work-item computes PAIRS pairs of columns in four rows. */
NOINLINE void inverse_columns_2_run(PLANES_IN(lowpass), PLANES_IN(subbands), PLANES_OUT(dst), __constant const float *w, int taps,
                                    int2 crop, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int n = item * PAIRS, i = item_y + dst_at.first_row / 4, z = item_z;
        if (n >= subbands_at.width || 4 * i >= dst_at.first_row + dst_at.rows)
            return;
        const int lo = PLANE_INDEX(0, z, dst_at.channels), hi = PLANE_INDEX(1, z, dst_at.channels), inputs = taps / 2;
        pair low0 = 0.0f, low1 = 0.0f, low2 = 0.0f, low3 = 0.0f, high0 = 0.0f, high1 = 0.0f, high2 = 0.0f, high3 = 0.0f;
        for (int k = 0; k < inputs; k++) {
            const struct row_pair v = load_row_pair(PLANES_ARG(lowpass), PLANES_ARG(subbands), crop, n, i + k - inputs / 2, z);
            __constant const float *g0 = w + 4 * k, *g1 = g0 + 4 * inputs;
            low0 = add_weighted(low0, v.lowpass.even, g0[0], v.c2q05.odd, g1[0]);
            low1 = add_weighted(low1, v.lowpass.odd, g0[1], v.c2q05.even, g1[1]);
            low2 = add_weighted(low2, v.lowpass.even, g0[2], v.c2q05.odd, g1[2]);
            low3 = add_weighted(low3, v.lowpass.odd, g0[3], v.c2q05.even, g1[3]);
            high0 = add_weighted(high0, v.c2q23.even, g0[0], v.c2q14.odd, g1[0]);
            high1 = add_weighted(high1, v.c2q23.odd, g0[1], v.c2q14.even, g1[1]);
            high2 = add_weighted(high2, v.c2q23.even, g0[2], v.c2q14.odd, g1[2]);
            high3 = add_weighted(high3, v.c2q23.odd, g0[3], v.c2q14.even, g1[3]);
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
    inverse_columns_2_run(PLANES_ARG(lowpass), PLANES_ARG(subbands), PLANES_ARG(dst), w, taps, crop,
                          BLOCK_WORK_ITEM_ARGS(dst_at.channels));
}

/* Returns true if row y is in memory. */
static inline bool has_row(const struct geometry at, int y)
{
    return y >= at.first_row && y < at.first_row + at.rows;
}

/* Filters rows on level 1. dst has the size of the image, without the padding of odd sizes. Skips rows that dst does not have. */
NOINLINE void inverse_rows_1_run(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + src_at.first_row, z = item_z;
        if (x >= dst_at.width || !has_row(dst_at, y) || !has_row(src_at, y))
            return;
        const struct padded_axis axis = {.n = src_at.width, .length = src_at.width};
        const int lo = PLANE_INDEX(0, z, src_at.channels), hi = PLANE_INDEX(1, z, src_at.channels), x0 = x - taps / 2;
        vec sum = 0.0f;
        if (is_interior(axis, x0, LANES + taps)) {
            __global const float *low = src + offset(src_at, x0, y, lo), *high = src + offset(src_at, x0, y, hi);
            for (int k = 0; k < taps; k++)
                sum = add_weighted(sum, VLOAD(low + k), w[k], VLOAD(high + k), w[taps + k]);
        } else {
            float low[LANES + MAX_TAPS], high[LANES + MAX_TAPS];
            fill_axis(low, LANES + taps, PLANES_ARG(src), axis, x0, y, lo);
            fill_axis(high, LANES + taps, PLANES_ARG(src), axis, x0, y, hi);
            for (int k = 0; k < taps; k++)
                sum = add_weighted(sum, VLOAD(low + k), w[k], VLOAD(high + k), w[taps + k]);
        }
        store(PLANES_ARG(dst), x, y, z, sum);
    }
}

__kernel void inverse_rows_1(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps)
{
    inverse_rows_1_run(PLANES_ARG(src), PLANES_ARG(dst), w, taps, WORK_ITEM_ARGS);
}

/* Samples of L and H, from the pair for k = 0 on. */
struct row_inputs {
    __global const float *low, *high;   /* in the source */
    const float *low_line, *high_line;  /* copies with mirrored samples, for the border */
};

/* Computes the four outputs of each of PAIRS pairs: `first` has outputs 4n and 4n + 1, `second` has 4n + 2 and 4n + 3. An
 * output is a sum over `count` input pairs. Reads the source if `inside`, else the copies. */
INLINE void expand_pairs(pair *first, pair *second, bool inside, const struct row_inputs row, __constant const float *w,
                         int count)
{
    *first = *second = 0.0f;
    for (int k = 0; k < count; k++) {
        const pair a = inside ? VLOAD(row.low + 2 * k) : VLOAD(row.low_line + 2 * k);
        const pair b = swap(inside ? VLOAD(row.high + 2 * k) : VLOAD(row.high_line + 2 * k));
        const float4 g0 = vload4(k, w), g1 = vload4(count + k, w);
        *first = mad(b, g1.s0101010101010101, mad(a, g0.s0101010101010101, *first));
        *second = mad(b, g1.s2323232323232323, mad(a, g0.s2323232323232323, *second));
    }
}

/* Filters rows from level 2 on. Each pair of src's columns becomes four columns of dst. */
NOINLINE void inverse_rows_2_run(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int n = item * PAIRS, y = item_y + src_at.first_row, z = item_z;
        if (2 * n >= src_at.width || !has_row(dst_at, y) || !has_row(src_at, y))
            return;
        const struct padded_axis axis = {.n = src_at.width, .length = src_at.width};
        const int inputs = taps / 2, x0 = 2 * (n - inputs / 2), count = 2 * (PAIRS + inputs);
        const int lo = PLANE_INDEX(0, z, src_at.channels), hi = PLANE_INDEX(1, z, src_at.channels);
        pair first, second;
        float low[2 * (PAIRS + MAX_TAPS)], high[2 * (PAIRS + MAX_TAPS)];
        const struct row_inputs row = {src + offset(src_at, x0, y, lo), src + offset(src_at, x0, y, hi), low, high};
        if (is_interior(axis, x0, count)) {
            expand_pairs(&first, &second, true, row, w, inputs);
        } else {
            fill_axis(low, count, PLANES_ARG(src), axis, x0, y, lo);
            fill_axis(high, count, PLANES_ARG(src), axis, x0, y, hi);
            expand_pairs(&first, &second, false, row, w, inputs);
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
