/* One level of the forward 2-D dual-tree complex wavelet transform: columns into Lo and Hi, then rows into the
 * next lowpass and six complex subbands. N. Kingsbury, "Complex wavelets for shift invariant analysis and
 * filtering of signals", ACHA 10 (2001).
 *
 *   level 1   undecimated, TAPS odd:  low[n]  = sum of low[k] * X[n - (TAPS - 1) / 2 + k]
 *   -DQSHIFT  level >= 2, TAPS even, two trees, decimated: from k = 0 ... TAPS - 1
 *             A[n] = sum of a[k] * X[4n + 2 - TAPS + 2k],  B[n] = sum of b[k] * X[4n + 3 - TAPS + 2k],
 *             Y[2n], Y[2n + 1] = A, B; or B, A with -DSWAP_LOW, -DSWAP_HIGH
 *
 * Weights come in reading order (the filter reversed): TAPS of the lowpass then TAPS of the highpass; with
 * QSHIFT each weight is a pair a, b. Both filters of an axis run in one pass over the data. They are compile-time
 * constants (-DWEIGHTS_LIST=...): as loads they cost an H200 more than the samples do. */
#include "planes_pairs.h"

#ifndef TAPS
#define TAPS 5
#endif
#ifndef WEIGHTS_LIST
#define WEIGHTS_LIST 0.0f
#endif

#define weights      UNIT(forward_weights)
#define filter_pairs UNIT(filter_pairs)
#define store_subbands  UNIT(store_subbands)

__constant float weights[] = {WEIGHTS_LIST};

#ifdef QSHIFT
#define STEP      2
#define START(i)  (2 * (i) + 2 - TAPS) /* first position for output i (even) of the axis */
#define LOW(k)    WEIGHTS2((float2)(weights[2 * (k)], weights[2 * (k) + 1]))
#define HIGH(k)   WEIGHTS2((float2)(weights[2 * (TAPS + (k))], weights[2 * (TAPS + (k)) + 1]))
#define LINE      (4 * PAIRS + 2 * TAPS)
#else
#define STEP      1
#define START(i)  ((i) - (TAPS - 1) / 2)
#define LOW(k)    weights[k]
#define HIGH(k)   weights[TAPS + (k)]
#define LINE      (2 * PAIRS + TAPS)
#endif
#ifdef SWAP_LOW
#define ORDER_LOW(v) SWAP(v)
#else
#define ORDER_LOW(v) (v)
#endif
#ifdef SWAP_HIGH
#define ORDER_HIGH(v) SWAP(v)
#else
#define ORDER_HIGH(v) (v)
#endif

#if LANES != 1 || defined(IMAGES) /* GPUs: columns by vectors, rows by windows of single floats */
/* Both filters over the rows that `row` gives for j = 0, 1, ... of the window: two output rows of each. */
#ifdef QSHIFT
#define WINDOW_ROWS (2 * TAPS)
#define FILTER_ROWS(row, loop)                                                                                             \
    _Pragma(loop) for (int k = 0; k < TAPS; k++) {                                                                     \
        const pixel a = load(GIVE(src), x, row(2 * k), z), b = load(GIVE(src), x, row(2 * k + 1), z);                  \
        low0 = mad(a, weights[2 * k], low0);                                                                           \
        low1 = mad(b, weights[2 * k + 1], low1);                                                                       \
        high0 = mad(a, weights[2 * (TAPS + k)], high0);                                                                \
        high1 = mad(b, weights[2 * (TAPS + k) + 1], high1);                                                            \
    }
#else
#define WINDOW_ROWS (TAPS + 1)
#define FILTER_ROWS(row, loop)                                                                                             \
    pixel v = load(GIVE(src), x, row(0), z);                                                                           \
    _Pragma(loop) for (int k = 0; k < TAPS; k++) {                                                                     \
        const pixel next = load(GIVE(src), x, row(k + 1), z);                                                          \
        low0 = mad(v, weights[k], low0);                                                                               \
        high0 = mad(v, weights[TAPS + k], high0);                                                                      \
        low1 = mad(next, weights[k], low1);                                                                            \
        high1 = mad(next, weights[TAPS + k], high1);                                                                   \
        v = next;                                                                                                      \
    }
#endif
#define INNER_ROW(j)  (start - axis.pad + (j))
#define BORDER_ROW(j) sample_at(axis, start + (j))

/* dst: layer 0 Lo, layer 1 Hi. The grid's y counts pairs of output rows. */
__kernel void UNIT(forward_columns)(SOURCE(src), TARGET(dst), int pad, int length)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) * 2 + dst_at.first_row, z = get_global_id(2);
    if (x >= src_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const struct axis axis = {src_at.height, pad, length};
    const int start = START(y);
    pixel low0 = 0.0f, low1 = 0.0f, high0 = 0.0f, high1 = 0.0f;
    /* Apart, so that the loads of the interior follow each other without a branch between them; the border stays a
     * loop, as what it unrolled to would take the interior's registers. */
    if (plain(axis, start, WINDOW_ROWS)) {
        FILTER_ROWS(INNER_ROW, "unroll")
    } else {
        FILTER_ROWS(BORDER_ROW, "unroll 1")
    }
    const int lo = LAYER(0, z, dst_at.channels), hi = LAYER(1, z, dst_at.channels);
#ifdef SWAP_LOW
    store(GIVE(dst), x, y, lo, low1);
    store(GIVE(dst), x, y + 1, lo, low0);
#else
    store(GIVE(dst), x, y, lo, low0);
    store(GIVE(dst), x, y + 1, lo, low1);
#endif
#ifdef SWAP_HIGH
    store(GIVE(dst), x, y, hi, high1);
    store(GIVE(dst), x, y + 1, hi, high0);
#else
    store(GIVE(dst), x, y, hi, high0);
    store(GIVE(dst), x, y + 1, hi, high1);
#endif
}

#endif

#if LANES != 4
#define ACCUMULATE(window)                                                                                             \
    for (int k = 0; k < TAPS; k++) {                                                                                   \
        const pair v = window;                                                                                         \
        *low = mad(v, LOW(k), *low);                                                                                   \
        *high = mad(v, HIGH(k), *high);                                                                                \
    }

#if LANES == 16
/* What position k of every output's window holds: neighbours, or with QSHIFT two of every four floats. */
#ifdef QSHIFT
#define WINDOW_PAIR(p) (pair)(vload16(0, p).s014589cd, vload16(1, p).s014589cd)
#else
#define WINDOW_PAIR(p) vload16(0, p)
#endif

/* Low and high output pairs n ... n + PAIRS - 1 of row y. Inlined by force: as calls, which hand vectors over in
 * memory, the four of forward_rows take half as long again. */
static inline __attribute__((always_inline)) void filter_pairs(pair *low, pair *high, SOURCE(s),
                                                               const struct axis axis, int n, int y, int z)
{
    const int start = START(2 * n);
    *low = *high = 0.0f;
    if (plain(axis, start, LINE)) {
        __global const float *p = s + offset(s_at, start - axis.pad, y, z);
        ACCUMULATE(WINDOW_PAIR(p + k * STEP))
    } else {
        float line[LINE];
        fill_axis(line, LINE, GIVE(s), axis, start, y, z);
        ACCUMULATE(WINDOW_PAIR(line + k * STEP))
    }
    *low = ORDER_LOW(*low);
    *high = ORDER_HIGH(*high);
}
#else
/* A pair of outputs needs (TAPS - 1) * STEP + 2 samples, from START(2n): 4n + 2 - TAPS or 2n - (TAPS - 1) / 2. */
#ifdef QSHIFT
#define VECTOR 4
#define SKEW   ((2 - TAPS) & 3)
#else
#define VECTOR 2
#define SKEW   ((TAPS - 1) / 2 & 1)
#endif
#define SPAN ROUND_UP(SKEW + (TAPS - 1) * STEP + 2, VECTOR)

/* Low and high output pair n of row y. */
static inline void filter_pairs(pair *low, pair *high, SOURCE(s),
                                const struct axis axis, int n, int y, int z)
{
    single window[SPAN];
    load_span(window, SPAN, VECTOR, SKEW, GIVE(s), axis, START(2 * n), y, z);
    *low = *high = 0.0f;
#pragma unroll
    ACCUMULATE(JOIN(window[SKEW + k * STEP], window[SKEW + k * STEP + 1]))
    *low = ORDER_LOW(*low);
    *high = ORDER_HIGH(*high);
}
#endif

/* Each 2x2 block [a b; c d] to two complex numbers: p = (a + jb) / sqrt 2, q = (d - jc) / sqrt 2; the first
 * subband gets p - q, the second p + q. */
static inline void store_subbands(TARGET(subbands), int first, int second, int n, int i, int z, pair top, pair bottom)
{
    const int channels = subbands_at.channels;
    const single a = EVEN(top) * M_SQRT1_2_F, b = ODD(top) * M_SQRT1_2_F;
    const single c = EVEN(bottom) * M_SQRT1_2_F, d = ODD(bottom) * M_SQRT1_2_F;
    store_single(GIVE(subbands), n, i, LAYER(2 * first, z, channels), a - d);
    store_single(GIVE(subbands), n, i, LAYER(2 * first + 1, z, channels), b + c);
    store_single(GIVE(subbands), n, i, LAYER(2 * second, z, channels), a + d);
    store_single(GIVE(subbands), n, i, LAYER(2 * second + 1, z, channels), b - c);
}

/* src: Lo and Hi of forward_columns; lowpass: the rows' low of Lo; subbands: layer 2b the real, 2b + 1 the
 * imaginary part of subband b, in the order 15, 45, 75, -75, -45, -15 degrees. The grid's x counts pairs, its y those
 * of src's rows; of the subbands only the rows that they hold are stored: the coarser levels want more of the lowpass. */
__kernel void UNIT(forward_rows)(SOURCE(src), TARGET(lowpass), TARGET(subbands), int pad,
                           int length)
{
    const int n = get_global_id(0) * PAIRS, i = get_global_id(1) + src_at.first_row / 2, z = get_global_id(2);
    if (n >= subbands_at.width || 2 * i >= src_at.first_row + src_at.rows)
        return;
    const struct axis axis = {src_at.width, pad, length};
    const int lo = LAYER(0, z, src_at.channels), hi = LAYER(1, z, src_at.channels);
    pair low0, high0, low1, high1;
    filter_pairs(&low0, &high0, GIVE(src), axis, n, 2 * i, lo);
    filter_pairs(&low1, &high1, GIVE(src), axis, n, 2 * i + 1, lo);
    store_pair(GIVE(lowpass), 2 * n, 2 * i, z, low0);
    store_pair(GIVE(lowpass), 2 * n, 2 * i + 1, z, low1);
    if (i < subbands_at.first_row || i >= subbands_at.first_row + subbands_at.rows)
        return;
    store_subbands(GIVE(subbands), 2, 3, n, i, z, high0, high1);
    filter_pairs(&low0, &high0, GIVE(src), axis, n, 2 * i, hi);
    filter_pairs(&low1, &high1, GIVE(src), axis, n, 2 * i + 1, hi);
    store_subbands(GIVE(subbands), 0, 5, n, i, z, low0, low1);
    store_subbands(GIVE(subbands), 1, 4, n, i, z, high0, high1);
}
#endif
