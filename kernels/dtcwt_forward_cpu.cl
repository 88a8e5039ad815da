/* One level of the forward 2-D dual-tree complex wavelet transform, for CPUs: columns are filtered into Lo by the lowpass and
 * into Hi by the highpass, then rows into the next lowpass and six complex subbands. N. Kingsbury, "Complex wavelets for shift
 * invariant analysis and filtering of signals", ACHA 10 (2001).
 *
 *   level 1      y[n] = sum over k < taps of w[k] X[n - taps / 2 + k], taps odd
 *   from 2 on    halves the size. Trees a and b have filters of their own; each gives every second output:
 *                A[n] = sum of a[k] X[4n + 2 - taps + 2k], B[n] = sum of b[k] X[4n + 3 - taps + 2k], k < taps.
 *                (y[2n], y[2n + 1]) is (A[n], B[n]) of the lowpass, but (B[n], A[n]) of the highpass
 *
 * w: the weights of the lowpass, then the weights of the highpass; from level 2 on a[0], b[0], a[1], b[1], ... for each.
 * An axis has `length` positions. Samples are at positions [pad, pad + size); the others are padding (padded_axis.h).
 *
 *     src --columns--> Lo --rows--> lowpass, subbands (2, 3)
 *                \---> Hi --rows--> subbands (0, 5), (1, 4)
 *
 * Work-items: forward_columns computes one vec in two rows, forward_rows 2 * PAIRS columns of two rows. z counts planes.
 * `first_level` is a constant in each copy of the code.
 *
 * Order of sums: each begins with 0, k ascending. */
#define PAIRS 8
#include "padded_axis.h"
#include "sampling_positions.h"
#include "planes_pairs.h"

#define MAX_TAPS 19

/* Loads the vec at x in the row at position i of the axis. */
static inline vec load_axis_row(PLANES_IN(src), const struct padded_axis axis, int x, int i, int z)
{
    return load(PLANES_ARG(src), x, is_interior(axis, i, 1) ? i - axis.pad : padded_index(axis, i), z);
}

/* Subband rows to compute: [begin, end). If positions > 0, only the rows of these that are near one of `positions` sampling
 * positions on an axis of `height` rows (sampling_positions.h). The host passes a cl_int4. */
struct needed_rows {
    int begin, end, positions, height;
};

/* Returns true if row i of the subbands is needed. */
static inline bool is_needed(int i, const struct needed_rows needed)
{
    return i >= needed.begin && i < needed.end &&
           (needed.positions == 0 || is_near_position(i, needed.positions, needed.height));
}

/* Filters columns. Layer 0 of dst is Lo. Layer 1 is Hi: computes only the rows that the needed rows of subbands depend on. The
 * grid's y counts pairs of output rows. */
INLINE void filter_columns(bool first_level, PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, int pad,
                           int length, const struct needed_rows needed, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y * 2 + dst_at.first_row, z = item_z;
        if (x >= src_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const struct padded_axis axis = {src_at.height, pad, length};
        const bool has_high = is_needed(y / 2, needed);
        const int lo = PLANE_INDEX(0, z, dst_at.channels), hi = PLANE_INDEX(1, z, dst_at.channels);
        const int start = first_level ? y - taps / 2 : 2 * y + 2 - taps;
        __constant const float *w_high = w + (first_level ? taps : 2 * taps);
        vec low_a = 0.0f, low_b = 0.0f, high_a = 0.0f, high_b = 0.0f, b = 0.0f;
        if (first_level)
            b = load_axis_row(PLANES_ARG(src), axis, x, start, z);
        for (int k = 0; k < taps; k++) {
            /* Samples of two outputs. On level 1 they are neighbours with the same weight. */
            const int i = first_level ? k : 2 * k, j = first_level ? k : 2 * k + 1;
            const vec a = first_level ? b : load_axis_row(PLANES_ARG(src), axis, x, start + i, z);
            b = load_axis_row(PLANES_ARG(src), axis, x, start + i + 1, z);
            low_a = mad(a, w[i], low_a);
            low_b = mad(b, w[j], low_b);
            if (has_high) {
                high_a = mad(a, w_high[i], high_a);
                high_b = mad(b, w_high[j], high_b);
            }
        }
        store(PLANES_ARG(dst), x, y, lo, low_a);
        store(PLANES_ARG(dst), x, y + 1, lo, low_b);
        if (!has_high)
            continue;
        store(PLANES_ARG(dst), x, y, hi, first_level ? high_a : high_b);
        store(PLANES_ARG(dst), x, y + 1, hi, first_level ? high_b : high_a);
    }
}

NOINLINE void forward_columns_run(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, int pad, int length,
                                  const struct needed_rows needed, int is_first, WORK_ITEM_PARAMS)
{
    if (is_first)
        filter_columns(true, PLANES_ARG(src), PLANES_ARG(dst), w, taps, pad, length, needed, first_item, item_y, item_z);
    else
        filter_columns(false, PLANES_ARG(src), PLANES_ARG(dst), w, taps, pad, length, needed, first_item, item_y, item_z);
}

__kernel void forward_columns(PLANES_IN(src), PLANES_OUT(dst), __constant const float *w, int taps, int pad, int length,
                              const struct needed_rows needed, int is_first)
{
    forward_columns_run(PLANES_ARG(src), PLANES_ARG(dst), w, taps, pad, length, needed, is_first, WORK_ITEM_ARGS);
}

/* Returns the first two of every four samples of two vectors. */
static inline pair first_pairs(vec a, vec b)
{
    return (pair)(a.s014589cd, b.s014589cd);
}

/* Adds all taps of low- and highpass to 2 * PAIRS outputs. Their first source sample is *p if `inside`, else *line, in a copy
 * with mirrored samples. Inlined, as calls pass vectors through memory: filter_rows() took 1.5 times as long. */
INLINE void add_pairs(pair *low, pair *high, bool first_level, bool inside, __global const float *p, const float *line,
                      __constant const float *w, int taps)
{
    const int step = first_level ? 1 : 2;
    for (int k = 0; k < taps; k++, p += step, line += step) {
        if (first_level) {
            const pair v = inside ? VLOAD(p) : VLOAD(line);
            *low = mad(v, w[k], *low);
            *high = mad(v, w[taps + k], *high);
        } else {
            const pair v = inside ? first_pairs(VLOAD(p), VLOAD(p + LANES)) : first_pairs(VLOAD(line), VLOAD(line + LANES));
            *low = mad(v, vload2(k, w).s0101010101010101, *low);
            *high = mad(v, vload2(taps + k, w).s0101010101010101, *high);
        }
    }
}

/* Computes output pairs n to n + PAIRS - 1 of a row. */
INLINE void filter_row(pair *low, pair *high, bool first_level, PLANES_IN(s), const struct padded_axis axis,
                       __constant const float *w, int taps, int n, int y, int z)
{
    const int start = first_level ? 2 * n - taps / 2 : 4 * n + 2 - taps;
    const int count = first_level ? 2 * PAIRS + taps : 4 * PAIRS + 2 * taps;
    __global const float *p = s + offset(s_at, start - axis.pad, y, z);
    float line[4 * PAIRS + 2 * MAX_TAPS];
    *low = *high = 0.0f;
    if (is_interior(axis, start, count)) {
        add_pairs(low, high, first_level, true, p, line, w, taps);
    } else {
        fill_axis(line, count, PLANES_ARG(s), axis, start, y, z);
        add_pairs(low, high, first_level, false, p, line, w, taps);
    }
    if (!first_level)
        *high = swap(*high);
}

/* Filters rows of src, which has Lo and Hi. Layer 2b of `subbands` is the real part, 2b + 1 the imaginary part of subband b, in
 * the order 15, 45, 75, -75, -45, -15 degrees. Stores all rows of the lowpass, as coarser levels need them, but only `needed`
 * rows of the subbands. The grid's x counts groups of 2 * PAIRS columns, its y pairs of src's rows. */
INLINE void filter_rows(bool first_level, PLANES_IN(src), PLANES_OUT(lowpass), PLANES_OUT(subbands), __constant const float *w,
                        int taps, int pad, int length, const struct needed_rows needed, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int n = item * PAIRS, i = item_y + src_at.first_row / 2, z = item_z;
        if (n >= subbands_at.width || 2 * i >= src_at.first_row + src_at.rows)
            return;
        const struct padded_axis axis = {src_at.width, pad, length};
        const int lo = PLANE_INDEX(0, z, src_at.channels), hi = PLANE_INDEX(1, z, src_at.channels);
        pair top_low, top_high, bottom_low, bottom_high; /* low- and highpass along x of two rows */
        /* Rows of Lo. */
        filter_row(&top_low, &top_high, first_level, PLANES_ARG(src), axis, w, taps, n, 2 * i, lo);
        filter_row(&bottom_low, &bottom_high, first_level, PLANES_ARG(src), axis, w, taps, n, 2 * i + 1, lo);
        store_pair(PLANES_ARG(lowpass), 2 * n, 2 * i, z, top_low);
        store_pair(PLANES_ARG(lowpass), 2 * n, 2 * i + 1, z, bottom_low);
        if (!is_needed(i, needed))
            continue;
        store_q2c(PLANES_ARG(subbands), 2, 3, n, i, z, top_high, bottom_high);
        /* Rows of Hi. */
        filter_row(&top_low, &top_high, first_level, PLANES_ARG(src), axis, w, taps, n, 2 * i, hi);
        filter_row(&bottom_low, &bottom_high, first_level, PLANES_ARG(src), axis, w, taps, n, 2 * i + 1, hi);
        store_q2c(PLANES_ARG(subbands), 0, 5, n, i, z, top_low, bottom_low);
        store_q2c(PLANES_ARG(subbands), 1, 4, n, i, z, top_high, bottom_high);
    }
}

NOINLINE void forward_rows_run(PLANES_IN(src), PLANES_OUT(lowpass), PLANES_OUT(subbands), __constant const float *w, int taps,
                               int pad, int length, const struct needed_rows needed, int is_first, WORK_ITEM_PARAMS)
{
    if (is_first)
        filter_rows(true, PLANES_ARG(src), PLANES_ARG(lowpass), PLANES_ARG(subbands), w, taps, pad, length, needed,
                    first_item, item_y, item_z);
    else
        filter_rows(false, PLANES_ARG(src), PLANES_ARG(lowpass), PLANES_ARG(subbands), w, taps, pad, length, needed,
                    first_item, item_y, item_z);
}

__kernel void forward_rows(PLANES_IN(src), PLANES_OUT(lowpass), PLANES_OUT(subbands), __constant const float *w, int taps,
                           int pad, int length, const struct needed_rows needed, int is_first)
{
    forward_rows_run(PLANES_ARG(src), PLANES_ARG(lowpass), PLANES_ARG(subbands), w, taps, pad, length, needed, is_first,
                     WORK_ITEM_ARGS);
}
