/* One level of the forward 2-D dual-tree complex wavelet transform, for CPUs: columns into Lo and Hi, then rows into
 * the next lowpass and six complex subbands. N. Kingsbury, "Complex wavelets for shift invariant analysis and filtering
 * of signals", ACHA 10 (2001).
 *
 *   level 1      y[n] = sum over k < taps of w[k] X[n - taps / 2 + k], taps odd
 *   from 2 on    halves the size. Trees a and b have filters of their own; each gives every second output:
 *                A[n] = sum of a[k] X[4n + 2 - taps + 2k], B[n] = sum of b[k] X[4n + 3 - taps + 2k], k < taps.
 *                (y[2n], y[2n + 1]) is (A[n], B[n]) of the lowpass, but (B[n], A[n]) of the highpass
 *
 * w: the weights of the lowpass, then the weights of the highpass; from level 2 on a[0], b[0], a[1], b[1], ... for each.
 * An axis has `length` positions, of which the first `padded` are padding (padded_axis.h).
 *
 *     src --columns--> Lo --rows--> lowpass, subbands (2, 3)
 *                \---> Hi --rows--> subbands (0, 5), (1, 4)
 *
 * Work-items: forward_columns_* compute one vec in two rows; forward_rows_* compute PAIRS pairs in two rows. z counts planes.
 *
 * Order of sums: each begins with 0, k ascending. */
#define PAIRS 8
#include "padded_axis.h"
#include "places.h"
#include "planes_pairs.h"

#define MAX_TAPS 19

/* Loads the vec at x in the row at position i of the axis. */
static inline vec load_position(PLANES_IN(src), const struct padded_axis axis, int x, int i, int z)
{
    return load(PLANES_ARG(src), x, is_interior(axis, i, 1) ? i - axis.pad : sample_at(axis, i), z);
}

/* Rows of the subbands that are computed: rows [begin, end), and if `places` is not 0, of these only rows near one of `places`
 * evenly spaced positions on an axis of `height` rows (places.h). The host passes a cl_int4. */
struct needed_rows {
    int begin, end, places, height;
};

/* Returns true if row i of the subbands is needed. */
static inline bool is_needed(int i, const struct needed_rows needed)
{
    return i >= needed.begin && i < needed.end && (needed.places == 0 || near_place(i, needed.places, needed.height));
}

/* Filters columns on level 1. Layer 0 of dst is Lo. Layer 1 is Hi, computed only for needed rows of the subbands. The grid's y
 * counts pairs of output rows. */
NOINLINE void forward_columns_1_run(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, int padded, int length,
                                    const struct needed_rows needed, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y * 2 + dst_at.first_row, z = item_z;
        if (x >= src_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const struct padded_axis axis = {src_at.height, padded, length};
        const bool has_high = is_needed(y / 2, needed);
        const int lo = PLANE_INDEX(0, z, dst_at.channels), hi = PLANE_INDEX(1, z, dst_at.channels), start = y - taps / 2;
        vec low0 = 0.0f, low1 = 0.0f, high0 = 0.0f, high1 = 0.0f, v = load_position(PLANES_ARG(src), axis, x, start, z);
        for (int k = 0; k < taps; k++) {
            const vec next = load_position(PLANES_ARG(src), axis, x, start + k + 1, z);
            low0 = mad(v, w[k], low0);
            low1 = mad(next, w[k], low1);
            if (has_high) {
                high0 = mad(v, w[taps + k], high0);
                high1 = mad(next, w[taps + k], high1);
            }
            v = next;
        }
        store(PLANES_ARG(dst), x, y, lo, low0);
        store(PLANES_ARG(dst), x, y + 1, lo, low1);
        if (!has_high)
            continue;
        store(PLANES_ARG(dst), x, y, hi, high0);
        store(PLANES_ARG(dst), x, y + 1, hi, high1);
    }
}

__kernel void forward_columns_1(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, int padded, int length,
                                const struct needed_rows needed)
{
    forward_columns_1_run(PLANES_ARG(src), PLANES_ARG(dst), w, taps, padded, length, needed, WORK_ITEM_ARGS);
}

/* Filters columns from level 2 on. Grid and dst as in forward_columns_1(). */
NOINLINE void forward_columns_2_run(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, int padded, int length,
                                    const struct needed_rows needed, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y * 2 + dst_at.first_row, z = item_z;
        if (x >= src_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const struct padded_axis axis = {src_at.height, padded, length};
        const bool has_high = is_needed(y / 2, needed);
        const int lo = PLANE_INDEX(0, z, dst_at.channels), hi = PLANE_INDEX(1, z, dst_at.channels), start = 2 * y + 2 - taps;
        vec low0 = 0.0f, low1 = 0.0f, high0 = 0.0f, high1 = 0.0f;
        for (int k = 0; k < taps; k++) {
            const vec a = load_position(PLANES_ARG(src), axis, x, start + 2 * k, z);
            const vec b = load_position(PLANES_ARG(src), axis, x, start + 2 * k + 1, z);
            low0 = mad(a, w[2 * k], low0);
            low1 = mad(b, w[2 * k + 1], low1);
            if (has_high) {
                high0 = mad(b, w[2 * (taps + k) + 1], high0);
                high1 = mad(a, w[2 * (taps + k)], high1);
            }
        }
        store(PLANES_ARG(dst), x, y, lo, low0);
        store(PLANES_ARG(dst), x, y + 1, lo, low1);
        if (!has_high)
            continue;
        store(PLANES_ARG(dst), x, y, hi, high0);
        store(PLANES_ARG(dst), x, y + 1, hi, high1);
    }
}

__kernel void forward_columns_2(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, int padded, int length,
                                const struct needed_rows needed)
{
    forward_columns_2_run(PLANES_ARG(src), PLANES_ARG(dst), w, taps, padded, length, needed, WORK_ITEM_ARGS);
}

/* Adds all taps of low- and highpass on level 1 to PAIRS output pairs. Samples begin at p in the source if `inside`, else at
 * `line`, a copy with mirrored samples. Always inlined: calls would pass vectors through memory, and the four calls in
 * forward_rows() then take 1.5 times as long. */
INLINE void add_pairs_1(pair *low, pair *high, bool inside, __global const float *p, const float *line,
                        __constant const float *w, int taps)
{
    for (int k = 0; k < taps; k++) {
        const pair v = inside ? VLOAD(p + k) : VLOAD(line + k);
        *low = mad(v, w[k], *low);
        *high = mad(v, w[taps + k], *high);
    }
}

/* Computes output pairs n to n + PAIRS - 1 of a row on level 1. */
INLINE void filter_row_1(pair *low, pair *high, PLANES_IN(s), const struct padded_axis axis, __constant const float *w,
                         int taps, int n, int y, int z)
{
    const int start = 2 * n - taps / 2, count = 2 * PAIRS + taps;
    __global const float *p = s + offset(s_at, start - axis.pad, y, z);
    float line[2 * PAIRS + MAX_TAPS];
    *low = *high = 0.0f;
    if (is_interior(axis, start, count)) {
        add_pairs_1(low, high, true, p, line, w, taps);
    } else {
        fill_axis(line, count, PLANES_ARG(s), axis, start, y, z);
        add_pairs_1(low, high, false, p, line, w, taps);
    }
}

/* Returns the first two of every four samples of two vectors. */
static inline pair first_pairs(vec a, vec b)
{
    return (pair)(a.s014589cd, b.s014589cd);
}

/* Adds all taps of low- and highpass from level 2 on to PAIRS output pairs. Samples begin at p or `line`, as in add_pairs_1(). */
INLINE void add_pairs_2(pair *low, pair *high, bool inside, __global const float *p, const float *line,
                        __constant const float *w, int taps)
{
    for (int k = 0; k < taps; k++, p += 2, line += 2) {
        const pair v = inside ? first_pairs(VLOAD(p), VLOAD(p + LANES)) : first_pairs(VLOAD(line), VLOAD(line + LANES));
        *low = mad(v, vload2(k, w).s0101010101010101, *low);
        *high = mad(v, vload2(taps + k, w).s0101010101010101, *high);
    }
}

/* Computes output pairs n to n + PAIRS - 1 of a row from level 2 on. */
INLINE void filter_row_2(pair *low, pair *high, PLANES_IN(s), const struct padded_axis axis, __constant const float *w,
                         int taps, int n, int y, int z)
{
    const int start = 4 * n + 2 - taps, count = 4 * PAIRS + 2 * taps;
    __global const float *p = s + offset(s_at, start - axis.pad, y, z);
    float line[4 * PAIRS + 2 * MAX_TAPS];
    *low = *high = 0.0f;
    if (is_interior(axis, start, count)) {
        add_pairs_2(low, high, true, p, line, w, taps);
    } else {
        fill_axis(line, count, PLANES_ARG(s), axis, start, y, z);
        add_pairs_2(low, high, false, p, line, w, taps);
    }
    *high = swap(*high);
}

/* Computes output pairs n to n + PAIRS - 1 of a row on any level; `first_level` is a constant. */
INLINE void filter_row(pair *low, pair *high, bool first_level, PLANES_IN(s), const struct padded_axis axis,
                       __constant const float *w, int taps, int n, int y, int z)
{
    if (first_level)
        filter_row_1(low, high, PLANES_ARG(s), axis, w, taps, n, y, z);
    else
        filter_row_2(low, high, PLANES_ARG(s), axis, w, taps, n, y, z);
}

/* Filters rows of src, which has Lo and Hi. Layer 2b of `subbands` is the real part, 2b + 1 the imaginary part of subband b, in
 * the order 15, 45, 75, -75, -45, -15 degrees. Stores all rows of the lowpass, as coarser levels need them, but only `needed`
 * rows of the subbands. The grid's x counts PAIRS pairs of columns, its y pairs of src's rows. */
INLINE void forward_rows(bool first_level, PLANES_IN(src), PLANES_OUT(lowpass), PLANES_OUT(subbands), __constant const float *w,
                         int taps, int padded, int length, const struct needed_rows needed, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int n = item * PAIRS, i = item_y + src_at.first_row / 2, z = item_z;
        if (n >= subbands_at.width || 2 * i >= src_at.first_row + src_at.rows)
            return;
        const struct padded_axis axis = {src_at.width, padded, length};
        const int lo = PLANE_INDEX(0, z, src_at.channels), hi = PLANE_INDEX(1, z, src_at.channels);
        pair low0, high0, low1, high1;
        filter_row(&low0, &high0, first_level, PLANES_ARG(src), axis, w, taps, n, 2 * i, lo);
        filter_row(&low1, &high1, first_level, PLANES_ARG(src), axis, w, taps, n, 2 * i + 1, lo);
        store_pair(PLANES_ARG(lowpass), 2 * n, 2 * i, z, low0);
        store_pair(PLANES_ARG(lowpass), 2 * n, 2 * i + 1, z, low1);
        if (!is_needed(i, needed))
            continue;
        store_q2c(PLANES_ARG(subbands), 2, 3, n, i, z, high0, high1);
        filter_row(&low0, &high0, first_level, PLANES_ARG(src), axis, w, taps, n, 2 * i, hi);
        filter_row(&low1, &high1, first_level, PLANES_ARG(src), axis, w, taps, n, 2 * i + 1, hi);
        store_q2c(PLANES_ARG(subbands), 0, 5, n, i, z, low0, low1);
        store_q2c(PLANES_ARG(subbands), 1, 4, n, i, z, high0, high1);
    }
}

NOINLINE void forward_rows_1_run(PLANES_IN(src), PLANES_OUT(lowpass), PLANES_OUT(subbands), __constant const float *w, int taps,
                                 int padded, int length, const struct needed_rows needed, WORK_ITEM_PARAMS)
{
    forward_rows(true, PLANES_ARG(src), PLANES_ARG(lowpass), PLANES_ARG(subbands), w, taps, padded, length, needed, first_item,
                 item_y, item_z);
}

__kernel void forward_rows_1(PLANES_IN(src), PLANES_OUT(lowpass), PLANES_OUT(subbands), __constant const float *w, int taps,
                             int padded, int length, const struct needed_rows needed)
{
    forward_rows_1_run(PLANES_ARG(src), PLANES_ARG(lowpass), PLANES_ARG(subbands), w, taps, padded, length, needed,
                       WORK_ITEM_ARGS);
}

NOINLINE void forward_rows_2_run(PLANES_IN(src), PLANES_OUT(lowpass), PLANES_OUT(subbands), __constant const float *w, int taps,
                                 int padded, int length, const struct needed_rows needed, WORK_ITEM_PARAMS)
{
    forward_rows(false, PLANES_ARG(src), PLANES_ARG(lowpass), PLANES_ARG(subbands), w, taps, padded, length, needed, first_item,
                 item_y, item_z);
}

__kernel void forward_rows_2(PLANES_IN(src), PLANES_OUT(lowpass), PLANES_OUT(subbands), __constant const float *w, int taps,
                             int padded, int length, const struct needed_rows needed)
{
    forward_rows_2_run(PLANES_ARG(src), PLANES_ARG(lowpass), PLANES_ARG(subbands), w, taps, padded, length, needed,
                       WORK_ITEM_ARGS);
}
