/* One level of the forward 2-D dual-tree complex wavelet transform in one kernel, for GPUs. N. Kingsbury, "Complex
 * wavelets for shift invariant analysis and filtering of signals", ACHA 10 (2001).
 *
 *   level 1   y[n] = sum over k < TAPS of w[k] X[n - RADIUS + k], TAPS odd
 *   -DQSHIFT  from level 2 on, halves the size. Trees a and b have filters of their own; each gives every second output:
 *             A[n] = sum of a[k] X[4n + 2 - TAPS + 2k], B[n] = sum of b[k] X[4n + 3 - TAPS + 2k], k < TAPS, TAPS / 2 odd.
 *             (y[2n], y[2n + 1]) is (A[n], B[n]) of the lowpass, but (B[n], A[n]) of the highpass
 *
 * Columns are filtered first. Each work-item filters one vec of columns into OUTPUTS pairs of rows of Lo (by the lowpass)
 * and Hi (by the highpass), in registers. The group exchanges them through local memory, and each work-item filters rows:
 *
 *     lowpass = low Lo,  subbands (0, 5) = q2c(low Hi), (2, 3) = q2c(high Lo), (1, 4) = q2c(high Hi)
 *
 *   low, high  rows filtered with the lowpass or the highpass
 *   q2c        makes complex numbers of quads, 2x2 blocks of samples (planes_pairs.h)
 *
 * Neighbouring groups overlap by HALO vecs on both sides; the work-items there only filter columns:
 *
 *     group 0    |<-HALO->|     outputs     |<-HALO->|
 *     group 1                      |<-HALO->|     outputs     |<-HALO->|
 *
 * Grid: x counts the work-items of groups along x, y groups of OUTPUTS pairs of output rows, z planes. Order of sums: each
 * begins with 0, k ascending.
 *
 *   -DGROUP=n    work-items of a group, along x
 *   -DOUTPUTS=n  pairs of output rows of a group
 *   -DTAPS=n     taps of the longest filter */
#if defined(QSHIFT) || defined(IMAGES)
#define PAIRS 1
#else
#define PAIRS 2
#endif
#include "border_gpu.h"
#include "planes_pairs.h"

#ifndef TAPS
#define TAPS 7
#endif
#ifndef OUTPUTS
#define OUTPUTS 1 /* pairs of output rows of a group */
#endif
#define ROWS   (2 * OUTPUTS)
#define RADIUS (TAPS / 2)

/* PAIR_VECS: vecs of the tile by which the window moves from one output of type `pair` to the next. */
#ifdef QSHIFT
#define forward_level forward_2
#define PAIR_VECS     (4 / LANES)
#define HALO          ((TAPS - 2) / LANES + PADDING_VECS)
#define WINDOW        (2 * TAPS + 4 * (OUTPUTS - 1)) /* source rows that the group reads for ROWS rows of Lo and Hi */

struct filters {
    float2 low[TAPS], high[TAPS]; /* x: of tree a, y: of tree b */
};
#else
#define forward_level forward_1
#define PAIR_VECS     (2 * PAIRS / LANES)
#define HALO          (ROUND_UP(RADIUS, 2 * PAIRS) / LANES)
#define WINDOW        (TAPS + ROWS - 1)

struct filters {
    float low[TAPS], high[TAPS];
};
#endif

/* Adds the work-item's columns, filtered, to ROWS rows of Lo and Hi. rows[j] is the source row for row j of the window. */
INLINE void filter_columns(vec *low, vec *high, PLANES_IN(src), int column, __local const int *rows, int z,
                           const struct filters w)
{
#ifdef QSHIFT
#pragma unroll
    for (int j = 0; j < WINDOW / 2; j++) {
        const vec a = load(PLANES_ARG(src), column, rows[2 * j], z);
        const vec b = load(PLANES_ARG(src), column, rows[2 * j + 1], z);
#pragma unroll
        for (int p = 0; p < OUTPUTS; p++) {
            const int k = j - 2 * p;
            if (k < 0 || k >= TAPS)
                continue;
            low[2 * p] = mad(a, w.low[k].x, low[2 * p]);
            low[2 * p + 1] = mad(b, w.low[k].y, low[2 * p + 1]);
            high[2 * p] = mad(b, w.high[k].y, high[2 * p]);
            high[2 * p + 1] = mad(a, w.high[k].x, high[2 * p + 1]);
        }
    }
#else
#pragma unroll
    for (int j = 0; j < WINDOW; j++) {
        const vec v = load(PLANES_ARG(src), column, rows[j], z);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int k = j - r;
            if (k < 0 || k >= TAPS)
                continue;
            low[r] = mad(v, w.low[k], low[r]);
            high[r] = mad(v, w.high[k], high[r]);
        }
    }
#endif
}

#ifdef QSHIFT
/* Loads the pair that is i pairs after the first one of `line`. */
static inline pair load_tile_pair(__local const vec *line, int i)
{
#ifdef IMAGES
    return interleave(line[2 * i], line[2 * i + 1]);
#else
    return ((__local const pair *)line)[i];
#endif
}

/* Computes an output of low- and highpass along x. `line` is the tile's row, from the vec of the output on. */
INLINE void filter_row(pair *low, pair *high, __local const vec *line, const struct filters w)
{
    *low = *high = 0.0f;
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        const pair v = load_tile_pair(line, k - (TAPS - 2) / 2);
        *low = mad(v, both_trees(w.low[k]), *low);
        *high = mad(v, both_trees(w.high[k]), *high);
    }
    *high = swap(*high);
}
#else
#ifdef IMAGES
typedef float4 sample;
#else
typedef float sample;
#endif

/* Computes an output of low- and highpass along x. `line` is the tile's row, from the vec of the output on. */
INLINE void filter_row(pair *low, pair *high, __local const vec *line, const struct filters w)
{
    sample window[(2 * HALO + PAIR_VECS) * LANES];
#pragma unroll
    for (int i = 0; i < 2 * HALO + PAIR_VECS; i++) {
        const vec v = line[i - HALO];
#ifdef IMAGES
        window[i] = v;
#else
        window[4 * i] = v.x, window[4 * i + 1] = v.y, window[4 * i + 2] = v.z, window[4 * i + 3] = v.w;
#endif
    }
    *low = *high = 0.0f;
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        const sample *at = window + HALO * LANES - RADIUS + k;
#ifdef IMAGES
        const pair v = interleave(at[0], at[1]);
#else
        const pair v = (pair)(at[0], at[1], at[2], at[3]);
#endif
        *low = mad(v, w.low[k], *low);
        *high = mad(v, w.high[k], *high);
    }
}
#endif

#define TASKS ((OUTPUTS + PAIR_VECS - 1) / PAIR_VECS) /* of a work-item; a task is an output pair in two rows */

/* Computes the lowpass and the subbands of a level. src is the image or the lowpass of the finer level. Its axes are padded to
 * `length` positions, and its samples begin at position `padded` (padded_axis.h). Layer 2b of `subbands` is the real part,
 * 2b + 1 the imaginary part of subband b, in the order 15, 45, 75, -75, -45, -15 degrees. Stores the rows that each has in
 * memory: the subbands may have fewer, as coarser levels need more rows of the lowpass. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
forward_level(PLANES_IN(src), PLANES_OUT(lowpass), PLANES_OUT(subbands), const struct filters w, int2 padded, int2 length)
{
    __local vec tile[2][ROWS][GROUP];
    __local int rows[WINDOW];
    const int item = get_local_id(0), z = get_global_id(2);
    const int y0 = lowpass_at.first_row + get_group_id(1) * ROWS;
    const int first = (int)get_group_id(0) * (GROUP - 2 * HALO) - HALO; /* the tile's first vec */
    const struct padded_axis across = {src_at.width, padded.x, length.x}, down = {src_at.height, padded.y, length.y};
#ifdef QSHIFT
    const int window_y = 2 * y0 + 2 - TAPS; /* the window's first source row */
#else
    const int window_y = y0 - RADIUS;
#endif
    /* Border rule along y, once for all columns. */
    for (int j = item; j < WINDOW; j += GROUP)
        rows[j] = clamp_row(src_at, padded_index(down, window_y + j));
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Along y: Lo and Hi of the work-item's columns. */
    vec low[ROWS] = {0.0f}, high[ROWS] = {0.0f};
    filter_columns(low, high, PLANES_ARG(src), column_at(across, (first + item) * LANES), rows, z, w);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        tile[0][r][item] = low[r];
        tile[1][r][item] = high[r];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    mirror_columns(tile[0][0], 2 * ROWS, across, first * LANES);

#pragma unroll 1
    for (int j = 0; j < TASKS; j++) {
        /* Along x: an output pair in two rows. */
        const int2 place = tile_index(j * GROUP + item, OUTPUTS);
        const int at = place.x * PAIR_VECS, p = place.y;
        const int n = (first + at) / PAIR_VECS * PAIRS, i = y0 / 2 + p;
        if (at < HALO || at >= GROUP - HALO || n >= subbands_at.width ||
            2 * i >= lowpass_at.first_row + lowpass_at.rows)
            continue;
        const bool has_subbands = i >= subbands_at.first_row && i < subbands_at.first_row + subbands_at.rows;
#pragma unroll 1
        for (int highpass = 0; highpass <= has_subbands; highpass++) { /* first Lo, then Hi */
            pair low0, high0, low1, high1;
            filter_row(&low0, &high0, &tile[highpass][2 * p][at], w);
            filter_row(&low1, &high1, &tile[highpass][2 * p + 1][at], w);
            if (highpass) {
                store_q2c(PLANES_ARG(subbands), 0, 5, n, i, z, low0, low1);
            } else {
                store_pair(PLANES_ARG(lowpass), 2 * n, 2 * i, z, low0);
                store_pair(PLANES_ARG(lowpass), 2 * n, 2 * i + 1, z, low1);
            }
            if (has_subbands)
                store_q2c(PLANES_ARG(subbands), 2 - highpass, 3 + highpass, n, i, z, high0, high1);
        }
    }
}
