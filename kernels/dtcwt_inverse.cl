/* One level of the inverse 2-D dual-tree complex wavelet transform: columns into two planes L and H, then rows
 * into the next finer lowpass Z:
 *
 *     L = cols_g0 Z + cols_g1 c2q(0, 5),  H = cols_g0 c2q(2, 3) + cols_g1 c2q(1, 4),  Z = rows_g0 L + rows_g1 H
 *
 *   level 1   TAPS odd:  y[n] = sum of g[k] * X[n - (TAPS - 1) / 2 + k]; weights: TAPS of g0, then TAPS of g1
 *   -DQSHIFT  level >= 2, doubles the size: outputs 4n + t and 4n + t + 2 of tree t (0 or 1) are
 *             y = sum of w[k] * X[2n + START(filter, tree) + 2k], k < TAPS; weights: [filter][tree][first, second][TAPS]
 *             -DSTART00 ... -DSTART11: START(filter, tree)
 *
 * Z may be larger than this level by one sample a side: those are skipped here rather than removed there, -DCROP_X
 * along x, `crop_y` along y. GPUs do columns by vectors, rows by windows of single floats. Weights are compile-time constants: -DWEIGHTS_LIST=... */
#include "planes_pairs.h"

#ifndef TAPS
#define TAPS 5
#endif
#ifndef WEIGHTS_LIST
#define WEIGHTS_LIST 0.0f
#endif

#define weights      UNIT(inverse_weights)
#define coefficients UNIT(coefficients)
#define load_subbands   UNIT(load_subbands)
#define quad_row     UNIT(quad_row)
#define load_cropped UNIT(load_cropped)
#define add_filter   UNIT(add_filter)
#define add_row      UNIT(add_row)
#define held_quad    UNIT(held_quad)

__constant float weights[] = {WEIGHTS_LIST};

/* Row i of a pair of subbands. */
struct coefficients {
    single re0, im0, re1, im1;
};

static inline struct coefficients load_subbands(SOURCE(subbands), int first, int second, int n, int i, int z)
{
    const int channels = subbands_at.channels;
    struct coefficients v;
    v.re0 = load_single(GIVE(subbands), n, i, LAYER(2 * first, z, channels));
    v.im0 = load_single(GIVE(subbands), n, i, LAYER(2 * first + 1, z, channels));
    v.re1 = load_single(GIVE(subbands), n, i, LAYER(2 * second, z, channels));
    v.im1 = load_single(GIVE(subbands), n, i, LAYER(2 * second + 1, z, channels));
    return v;
}

/* The quads of a row of coefficients: P = (z0 + z1) / sqrt 2, Q = (z0 - z1) / sqrt 2; a = Re P, b = Im P in the
 * even row, c = Im Q, d = -Re Q in the odd one. */
static inline pair quad_row(const struct coefficients v, bool odd)
{
    const single left = odd ? v.im0 - v.im1 : v.re0 + v.re1, right = odd ? v.re1 - v.re0 : v.im0 + v.im1;
    return JOIN(left, right) * M_SQRT1_2_F;
}

static inline pair load_cropped(SOURCE(lowpass), int n, int r, int z)
{
#if defined(CROP_X) && LANES == 4
    return vload4(0, lowpass + offset(lowpass_at, 2 * n + 1, r, z)); /* not aligned */
#elif defined(CROP_X)
    return load_pair(GIVE(lowpass), 2 * n + 1, r, z);
#else
    return load_pair(GIVE(lowpass), 2 * n, r, z);
#endif
}

#ifdef QSHIFT
#define TREE_WEIGHT(filter, tree, which, k) weights[(((filter) * 2 + (tree)) * 2 + (which)) * TAPS + (k)]
#define START(filter, tree) ((filter) ? (tree) ? (START11) : (START10) : (tree) ? (START01) : (START00))
#define LEAST(filter)       (START((filter), 0) < START((filter), 1) ? START((filter), 0) : START((filter), 1))
#define FIRST               (LEAST(0) < LEAST(1) ? LEAST(0) : LEAST(1)) /* of all windows; they differ by one at most */
#define WINDOW_ROWS         (2 * TAPS + 2)

/* For each tree, the rows of its two windows: `row(c)` is where row 2i + c of the quads lies. Halved by a shift, which
 * tells the compiler that windows share rows of coefficients: a division rounds towards zero. */
#define FILTER_ROWS(row, loop)                                                                                             \
    _Pragma("unroll") for (int tree = 0; tree < 2; tree++) _Pragma(loop) for (int k = 0; k < TAPS; k++)                \
    {                                                                                                                  \
        const int r0 = row(START(0, tree) + 2 * k), r1 = row(START(1, tree) + 2 * k);                                  \
        const pair l0 = load_cropped(GIVE(lowpass), n, r0 + crop_y, z);                                                   \
        const pair l1 = quad_row(load_subbands(GIVE(subbands), 0, 5, n, r1 >> 1, z), r1 & 1);                                 \
        const pair h0 = quad_row(load_subbands(GIVE(subbands), 2, 3, n, r0 >> 1, z), r0 & 1);                                 \
        const pair h1 = quad_row(load_subbands(GIVE(subbands), 1, 4, n, r1 >> 1, z), r1 & 1);                                 \
        _Pragma("unroll") for (int which = 0; which < 2; which++)                                                      \
        {                                                                                                              \
            const int out = tree + 2 * which;                                                                          \
            low[out] = mad(l0, TREE_WEIGHT(0, tree, which, k), mad(l1, TREE_WEIGHT(1, tree, which, k), low[out]));               \
            high[out] = mad(h0, TREE_WEIGHT(0, tree, which, k), mad(h1, TREE_WEIGHT(1, tree, which, k), high[out]));             \
        }                                                                                                              \
    }
#define INNER_ROW(c)  (2 * i + (c))
#define BORDER_ROW(c) reflect(2 * i + (c), 2 * subbands_at.height)

#if LANES != 1 || defined(IMAGES)
/* The grid's x counts pairs of columns, its y groups of four output rows. */
__kernel void UNIT(inverse_columns)(SOURCE(lowpass), SOURCE(subbands), TARGET(dst), int crop_y)
{
    const int n = get_global_id(0) * PAIRS, i = get_global_id(1) + dst_at.first_row / 4, z = get_global_id(2);
    if (n >= subbands_at.width || 4 * i >= dst_at.first_row + dst_at.rows)
        return;
    pair low[4] = {0.0f, 0.0f, 0.0f, 0.0f}, high[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (2 * i + FIRST >= 0 && 2 * i + FIRST + WINDOW_ROWS <= 2 * subbands_at.height) {
        FILTER_ROWS(INNER_ROW, "unroll")
    } else {
        FILTER_ROWS(BORDER_ROW, "unroll 1")
    }
#pragma unroll
    for (int row = 0; row < 4; row++) {
        store_pair(GIVE(dst), 2 * n, 4 * i + row, LAYER(0, z, dst_at.channels), low[row]);
        store_pair(GIVE(dst), 2 * n, 4 * i + row, LAYER(1, z, dst_at.channels), high[row]);
    }
}
#endif

#if LANES != 4
#if LANES == 16
#define LINE (2 * PAIRS + 2 * TAPS)

static inline void add_filter(single *out, SOURCE(src), int filter, int n, int y,
                              int z)
{
    const struct axis axis = {src_at.width, 0, src_at.width};
#pragma unroll
    for (int tree = 0; tree < 2; tree++) {
        const int x0 = 2 * n + START(filter, tree);
        const bool inside = plain(axis, x0, LINE);
        __global const float *p = src + offset(src_at, inside ? x0 : 0, y, z);
        float line[LINE];
        if (!inside)
            fill_axis(line, LINE, GIVE(src), axis, x0, y, z);
        for (int k = 0; k < TAPS; k++) {
            const single v = inside ? vload16(0, p + 2 * k).even : vload16(0, line + 2 * k).even;
            out[tree] = mad(v, TREE_WEIGHT(filter, tree, 0, k), out[tree]);
            out[tree + 2] = mad(v, TREE_WEIGHT(filter, tree, 1, k), out[tree + 2]);
        }
    }
}
#else
/* The windows of the two trees are a sample apart: one stretch of 2 * TAPS samples holds both. */
#define SKEW(filter) (LEAST(filter) & 1)
#define SPAN         ROUND_UP(2 * TAPS + 1, 2)

static inline __attribute__((always_inline)) void add_filter(single *out, SOURCE(src), const int filter, int n,
                                                             int y, int z)
{
    const struct axis axis = {src_at.width, 0, src_at.width};
    single window[SPAN];
    load_span(window, SPAN, 2, SKEW(filter), GIVE(src), axis, 2 * n + LEAST(filter), y, z);
#pragma unroll
    for (int tree = 0; tree < 2; tree++)
#pragma unroll
        for (int k = 0; k < TAPS; k++) {
            const single v = window[SKEW(filter) + START(filter, tree) - LEAST(filter) + 2 * k];
            out[tree] = mad(v, TREE_WEIGHT(filter, tree, 0, k), out[tree]);
            out[tree + 2] = mad(v, TREE_WEIGHT(filter, tree, 1, k), out[tree + 2]);
        }
}
#endif

/* The grid's x counts pairs of source columns: four target columns each. */
__kernel void UNIT(inverse_rows)(SOURCE(src), TARGET(dst))
{
    const int n = get_global_id(0) * PAIRS, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (2 * n >= src_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    single out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    add_filter(out, GIVE(src), 0, n, y, LAYER(0, z, src_at.channels));
    add_filter(out, GIVE(src), 1, n, y, LAYER(1, z, src_at.channels));
#if LANES == 16
    const pair even = JOIN(out[0], out[2]), odd = JOIN(out[1], out[3]);
    store_pair(GIVE(dst), 4 * n, y, z, JOIN(even.lo, odd.lo));
    if (4 * n + LANES < dst_at.pitch)
        store_pair(GIVE(dst), 4 * n + LANES, y, z, JOIN(even.hi, odd.hi));
#else
    store_pair(GIVE(dst), 4 * n, y, z, JOIN(out[0], out[1]));
    store_pair(GIVE(dst), 4 * n + 2, y, z, JOIN(out[2], out[3]));
#endif
}
#endif
#else
#define RADIUS ((TAPS - 1) / 2)
#define REACH  ((RADIUS + 1) / 2) /* in rows of coefficients */

#ifndef OUTPUTS
#define OUTPUTS 1 /* pairs of rows that a work-item computes */
#endif
#define ROWS (2 * OUTPUTS)

/* One quad row's part in the output rows: row 0 meets it with tap k, row 1 with tap k - 1, and so on. */
static inline void add_row(pair *low, pair *high, int k, pair l0, pair l1, pair h0,
                           pair h1)
{
#pragma unroll
    for (int row = 0; row < ROWS; row++)
        if (k - row >= 0 && k - row < TAPS) {
            low[row] = mad(l0, weights[k - row], mad(l1, weights[TAPS + k - row], low[row]));
            high[row] = mad(h0, weights[k - row], mad(h1, weights[TAPS + k - row], high[row]));
        }
}

/* Goes through the rows of coefficients and loads each once for the two quad rows it stands for. `even_row(c)` is
 * where the even one of row i + c lies; mirrored, the two change places. */
#define FILTER_ROWS(even_row, loop)                                                                                          \
    _Pragma(loop) for (int c = -REACH; c < REACH + OUTPUTS; c++) {                                                          \
        const int r = even_row(c), flipped = r & 1;                                                                    \
        const struct coefficients outer = load_subbands(GIVE(subbands), 0, 5, n, r >> 1, z);                                  \
        const struct coefficients upper = load_subbands(GIVE(subbands), 2, 3, n, r >> 1, z);                                  \
        const struct coefficients diagonal = load_subbands(GIVE(subbands), 1, 4, n, r >> 1, z);                               \
        _Pragma("unroll") for (int odd = 0; odd < 2; odd++)                                                            \
            add_row(low, high, 2 * c + odd + RADIUS, load_cropped(GIVE(lowpass), n, (r ^ odd) + crop_y, z),        \
                    quad_row(outer, odd ^ flipped), quad_row(upper, odd ^ flipped), quad_row(diagonal, odd ^ flipped)); \
    }
#define INNER_ROW(c)  (2 * (i + (c)))
#define BORDER_ROW(c) held_quad(subbands_at, lowpass_at, crop_y, reflect(2 * (i + (c)), 2 * subbands_at.height))

/* Of several pairs of rows the last may lie past the subband's end and ask for rows that are not held. */
static inline int held_quad(const struct geometry subbands, const struct geometry lowpass, int crop_y, int r)
{
    const int first = (lowpass.first_row - crop_y) / 2, held = lowpass.rows / 2;
    return 2 * clamp(held_row(subbands, r >> 1), first, first + held - 1) | (r & 1);
}

#if LANES != 1 || defined(IMAGES)
/* The grid's x counts pairs of columns, its y pairs of rows. */
__kernel void UNIT(inverse_columns)(SOURCE(lowpass), SOURCE(subbands), TARGET(dst), int crop_y)
{
    const int n = get_global_id(0) * PAIRS, z = get_global_id(2);
    const int i = get_global_id(1) * OUTPUTS + dst_at.first_row / 2;
    if (n >= subbands_at.width || 2 * i >= dst_at.first_row + dst_at.rows)
        return;
    pair low[ROWS], high[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++)
        low[row] = high[row] = 0.0f;
    const int first = max(subbands_at.first_row, (lowpass_at.first_row - crop_y) / 2);
    const int end = min(subbands_at.first_row + subbands_at.rows, (lowpass_at.first_row - crop_y + lowpass_at.rows) / 2);
    if (i - REACH >= first && i + OUTPUTS + REACH <= end) {
        FILTER_ROWS(INNER_ROW, "unroll")
    } else {
        FILTER_ROWS(BORDER_ROW, "unroll 1")
    }
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (2 * i + row >= dst_at.first_row + dst_at.rows)
            break;
        store_pair(GIVE(dst), 2 * n, 2 * i + row, LAYER(0, z, dst_at.channels), low[row]);
        store_pair(GIVE(dst), 2 * n, 2 * i + row, LAYER(1, z, dst_at.channels), high[row]);
    }
}
#endif

#if LANES != 4
#if LANES == 16
#define ACCUMULATE(lo, hi)                                                                                             \
    for (int k = 0; k < TAPS; k++)                                                                                     \
        sum = mad(lo, weights[k], mad(hi, weights[TAPS + k], sum));

/* dst has the image's own size: the padding of odd sizes ends here. The grid's x counts pairs of columns. */
__kernel void UNIT(inverse_rows)(SOURCE(src), TARGET(dst))
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const struct axis axis = {src_at.width, 0, src_at.width};
    const int low = LAYER(0, z, src_at.channels), high = LAYER(1, z, src_at.channels), x0 = x - RADIUS;
    pixel sum = 0.0f;
    if (plain(axis, x0, LANES + TAPS))
        ACCUMULATE(load(GIVE(src), x0 + k, y, low), load(GIVE(src), x0 + k, y, high))
    else {
        float lows[LANES + TAPS], highs[LANES + TAPS];
        fill_axis(lows, LANES + TAPS, GIVE(src), axis, x0, y, low);
        fill_axis(highs, LANES + TAPS, GIVE(src), axis, x0, y, high);
        ACCUMULATE(vload16(0, lows + k), vload16(0, highs + k))
    }
    store(GIVE(dst), x, y, z, sum);
}
#else
#define SKEW (RADIUS & 1)
#define SPAN ROUND_UP(SKEW + TAPS + 1, 2)

/* A column pair from windows in registers; of an odd width, the last column has no partner. */
__kernel void UNIT(inverse_rows)(SOURCE(src), TARGET(dst))
{
    const int x = 2 * get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const struct axis axis = {src_at.width, 0, src_at.width};
    single low[SPAN], high[SPAN], even = 0.0f, odd = 0.0f;
    load_span(low, SPAN, 2, SKEW, GIVE(src), axis, x - RADIUS, y, LAYER(0, z, src_at.channels));
    load_span(high, SPAN, 2, SKEW, GIVE(src), axis, x - RADIUS, y, LAYER(1, z, src_at.channels));
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        even = mad(low[SKEW + k], weights[k], mad(high[SKEW + k], weights[TAPS + k], even));
        odd = mad(low[SKEW + k + 1], weights[k], mad(high[SKEW + k + 1], weights[TAPS + k], odd));
    }
#ifdef IMAGES
    store(GIVE(dst), x, y, z, even);
    if (x + 1 < dst_at.width)
        store(GIVE(dst), x + 1, y, z, odd);
#else
    store_pair(GIVE(dst), x, y, z, JOIN(even, odd)); /* a row has room for it */
#endif
}
#endif
#endif
#endif
