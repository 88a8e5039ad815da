/* Reductions by a stride of 2^n: output i is the sum over k < taps of weights[k] times sample i * stride + start + k. */
#pragma once
#include "filter.h"

struct reduction {
    int start, taps, stride;
};

/* Taps that are whole strides apart, at most: a cubic on the grid of corners (filters/resample.c). */
#define PHASE_TAPS 5

/* The samples of one phase p, those whose distance from row `first` has the same remainder by the stride: there are
 * `count` taps among them. They are loaded together; ROW gives a row's sample. */
#define REDUCE_PHASE(count, ROW)                                                                                       \
    _Pragma("unroll") for (int j = 0; j < OUTPUTS - 1 + PHASE_TAPS; j++)                                               \
    {                                                                                                                  \
        const pixel v = j < OUTPUTS - 1 + (count) ? ROW(first + j * by.stride + p) : (pixel)(0.0f);                    \
        _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) if (j - r >= 0 && j - r < PHASE_TAPS && j - r < (count))   \
            sum[r] = mad(v, weights[(j - r) * by.stride + p], sum[r]);                                                 \
    }

/* All OUTPUTS of a run along y. Cubics have four taps in each phase. */
#define REDUCE_RUN(ROW)                                                                                                \
    for (int p = 0; p < min(by.stride, by.taps); p++) {                                                                \
        const int count = (by.taps - p + by.stride - 1) / by.stride;                                                   \
        if (count == 4) {                                                                                              \
            REDUCE_PHASE(4, ROW)                                                                                       \
        } else {                                                                                                       \
            REDUCE_PHASE(count, ROW)                                                                                   \
        }                                                                                                              \
    }

/* The same sums by less text, and slower: for borders. The order is the same, so that slices change no bit. */
#define REDUCE_ANY_RUN(ROW)                                                                                            \
    for (int p = 0; p < min(by.stride, by.taps); p++) {                                                                \
        const int count = (by.taps - p + by.stride - 1) / by.stride;                                                   \
        _Pragma("unroll 1") for (int j = 0; j < OUTPUTS - 1 + count; j++)                                              \
        {                                                                                                              \
            const pixel v = ROW(first + j * by.stride + p);                                                            \
            _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) if (j - r >= 0 && j - r < count) sum[r] =              \
                mad(v, weights[(j - r) * by.stride + p], sum[r]);                                                      \
        }                                                                                                              \
    }

/* Rows of the source that a run needs. */
static inline int run_rows(const struct reduction by)
{
    return (OUTPUTS - 1) * by.stride + by.taps;
}
