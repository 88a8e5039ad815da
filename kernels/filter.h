/* Filters along one axis. The number of taps is an argument: one program serves all filters.
 *
 *   -DOUTPUTS=n  outputs along the filtered axis that a work-item computes
 *   ROW_FILTERS, COLUMN_FILTERS  filters that run side by side along x, along y: defined before this is included */
#pragma once
#include "edge.h"

#ifndef OUTPUTS
#define OUTPUTS 4
#endif
#ifndef ROW_FILTERS
#define ROW_FILTERS 1
#endif
#ifndef COLUMN_FILTERS
#define COLUMN_FILTERS 1
#endif

/* Output i is the sum over k < taps of weights[k] times sample i + start + k. Filters side by side have as many taps, and
 * their weights one after the other. */
struct window {
    int start, taps;
};

/* Weight k of all filters, times the sample v, for output r. */
#define ADD_TAP(filters, sum, r, v, weights, k, taps)                                                                  \
    _Pragma("unroll") for (int f = 0; f < filters; f++) sum[f * OUTPUTS + (r)] =                                       \
        mad(v, (weights)[f * (taps) + (k)], sum[f * OUTPUTS + (r)]);

/* All OUTPUTS of a run: sum[r] += weight k times sample r + k. NEXT gives one sample after the other, so that each is
 * loaded once: those in the middle serve all outputs, the first and the last ones a part. The weights are uniform and
 * those of neighbours in the loop overlap, so it is unrolled a little. There are RUN_TAPS or more. */
#define RUN_TAPS (OUTPUTS - 1)
#if LANES == 16
#define UNROLL_A_LITTLE /* PoCL does not, and would say so */
#else
#define UNROLL_A_LITTLE _Pragma("unroll 2")
#endif
#define FILTER_RUN(filters, sum, weights, taps, NEXT)                                                                  \
    _Pragma("unroll") for (int j = 0; j < OUTPUTS - 1; j++)                                                            \
    {                                                                                                                  \
        const pixel v = NEXT;                                                                                          \
        _Pragma("unroll") for (int r = 0; r <= j; r++) ADD_TAP(filters, sum, r, v, weights, j - r, taps)               \
    }                                                                                                                  \
    UNROLL_A_LITTLE for (int j = OUTPUTS - 1; j < (taps); j++)                                                         \
    {                                                                                                                  \
        const pixel v = NEXT;                                                                                          \
        _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) ADD_TAP(filters, sum, r, v, weights, j - r, taps)          \
    }                                                                                                                  \
    _Pragma("unroll") for (int t = 1; t < OUTPUTS; t++)                                                                \
    {                                                                                                                  \
        const pixel v = NEXT;                                                                                          \
        _Pragma("unroll") for (int r = t; r < OUTPUTS; r++) ADD_TAP(filters, sum, r, v, weights, (taps) - 1 + t - r, taps)\
    }

/* The same for any number of taps, and slower: for borders. */
#define FILTER_ANY_RUN(filters, sum, weights, taps, NEXT)                                                              \
    _Pragma("unroll 1") for (int j = 0; j < OUTPUTS - 1 + (taps); j++)                                                 \
    {                                                                                                                  \
        const pixel v = NEXT;                                                                                          \
        _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) if (j - r >= 0 && j - r < (taps))                          \
            ADD_TAP(filters, sum, r, v, weights, j - r, taps)                                                          \
    }

/* Whether rows [y, y + rows) are all held. */
static inline bool holds_rows(const struct geometry at, int y, int rows)
{
    return y >= at.first_row && y + rows <= at.first_row + at.rows;
}

/* The rows of a run along y, one after the other. */
#ifdef IMAGES
#define ROWS_BEGIN(src, x, y, z) int next_row = (y) - 1
#define NEXT_ROW(src, x, z)      load(GIVE(src), x, ++next_row, z)
#else
#define ROWS_BEGIN(src, x, y, z) __global const float *next_row = src + offset(src##_at, x, y, z) - src##_at.pitch
#define NEXT_ROW(src, x, z)      VLOAD(next_row += src##_at.pitch)
#endif

/* Output rows y, y + 1, ... at x, which is inside the image. */
INLINE void filter_columns_at(pixel *sum, SOURCE(src), WEIGHTS const float *weights, const struct window along_y, int x,
                              int y, int z)
{
    int row = y + along_y.start;
#pragma unroll
    for (int i = 0; i < COLUMN_FILTERS * OUTPUTS; i++)
        sum[i] = 0.0f;
    if (along_y.taps >= RUN_TAPS && holds_rows(src_at, row, OUTPUTS - 1 + along_y.taps)) {
        ROWS_BEGIN(src, x, row, z);
        FILTER_RUN(COLUMN_FILTERS, sum, weights, along_y.taps, NEXT_ROW(src, x, z))
    } else {
        FILTER_ANY_RUN(COLUMN_FILTERS, sum, weights, along_y.taps, load_row(GIVE(src), x, row++, z))
    }
}
