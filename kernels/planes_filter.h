/* One pass of a separable filter, for the kernels that are built with its shape:
 *
 *     out[i] = sum over k < TAPS of weights[k] * in[i * STRIDE + START + k]
 *
 *   -DTAPS=n     number of weights
 *   -DSTRIDE=n   1 for filters, 2^n for antialiased reduction
 *   -DSTART=n    position of the first weight, relative to STRIDE times the output; at most 0
 *   -DOUTPUTS=n  outputs along the filtered axis that a work-item computes (along x in images only)
 *   -DFILTERS=n  filters that run side by side along x, TAPS weights each */
#pragma once
#include "edge.h"

#ifndef TAPS
#define TAPS 5
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef START
#define START -2
#endif
#ifndef OUTPUTS
#define OUTPUTS 1
#endif
#ifndef FILTERS
#define FILTERS 1
#endif

#define WINDOW          ((OUTPUTS - 1) * STRIDE + TAPS) /* samples that OUTPUTS outputs need */
#define UNROLLED        (WINDOW * OUTPUTS <= 1024)      /* longer: as loops, or compilers take minutes */
#define TAP(j, r)       ((j) - (r) * STRIDE)            /* the weight of window sample j for output r */
#define TOUCHES(j, r)   (TAP(j, r) >= 0 && TAP(j, r) < TAPS)

/* Every sample of the window is loaded once and serves all the outputs it touches. j and r are known at compile
 * time where the loops are unrolled. */
#define FILTER_WINDOW(filters, sample, loop)                                                                           \
    _Pragma(loop) for (int j = 0; j < WINDOW; j++)                                                                     \
    {                                                                                                                  \
        const pixel v = sample;                                                                                        \
        _Pragma("unroll") for (int f = 0; f < filters; f++)                                                            \
            _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) if (TOUCHES(j, r))                                     \
                sum[f * OUTPUTS + r] = mad(v, WEIGHT(weights, first + f * TAPS + TAP(j, r)), sum[f * OUTPUTS + r]);    \
    }

/* Outputs at x and rows y, y + 1, ... along y, with the weights from `first` on. */
static inline __attribute__((always_inline)) void filter_columns_at(pixel *sum, SOURCE(src), WEIGHTS_ARGUMENT(weights),
                                                                    const int first, int x, int y, int z)
{
    const int y0 = y * STRIDE + START;
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = 0.0f;
#if LANES == 16 && !UNROLLED
    for (int k = 0; k < TAPS; k++)
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            sum[r] = mad(load_row(GIVE(src), x, y0 + r * STRIDE + k, z), WEIGHT(weights, first + k), sum[r]);
#elif LANES == 16
    FILTER_WINDOW(1, load_row(GIVE(src), x, y0 + j, z), "unroll")
#else
    /* A GPU wants the interior's loads to follow each other; the border stays a loop and takes no registers. */
    const bool inside = y0 >= src_at.first_row && y0 + WINDOW <= src_at.first_row + src_at.rows;
#if UNROLLED
    if (inside) {
        FILTER_WINDOW(1, load(GIVE(src), x, y0 + j, z), "unroll")
    } else {
        FILTER_WINDOW(1, load_row(GIVE(src), x, y0 + j, z), "unroll 1")
    }
#else
    if (inside) {
        FILTER_WINDOW(1, load(GIVE(src), x, y0 + j, z), "unroll 4")
    } else {
        FILTER_WINDOW(1, load_row(GIVE(src), x, y0 + j, z), "unroll 1")
    }
#endif
#endif
}

#if LANES == 16
#if STRIDE > 1
/* Lanes i * STRIDE of the floats at p. */
#define GATHER(load16)                                                                                                 \
    float16 part[STRIDE];                                                                                              \
    _Pragma("unroll") for (int i = 0; i < STRIDE; i++) part[i] = load16;                                               \
    _Pragma("unroll") for (int n = STRIDE / 2; n > 0; n /= 2)                                                          \
        for (int i = 0; i < n; i++) part[i] = (float16)(part[2 * i].even, part[2 * i + 1].even);                       \
    return part[0];

static inline float16 strided(__global const float *p)
{
    GATHER(vload16(i, p))
}

static inline float16 strided_line(const float *p)
{
    GATHER(vload16(i, p))
}
#else
#define strided(p)      VLOAD(p)
#define strided_line(p) VLOAD(p)
#endif

/* A weight that is loaded serves all vectors of a work-item: loads bind this pass, two a tap with one vector. (Vectors
 * that are shifted in registers instead were not faster: PoCL 3.1 permutes where it could align.) */
#define ROW_OUTPUTS (STRIDE == 1 ? 4 : 1)
#define LINE        (ROW_OUTPUTS * LANES * STRIDE + TAPS)
#define FILTER_LINE(sample)                                                                                            \
    for (int k = 0; k < TAPS; k++)                                                                                     \
        _Pragma("unroll") for (int r = 0; r < ROW_OUTPUTS; r++)                                                        \
        {                                                                                                              \
            const pixel v = sample;                                                                                    \
            _Pragma("unroll") for (int f = 0; f < FILTERS; f++) sum[f * ROW_OUTPUTS + r] =                             \
                mad(v, WEIGHT(weights, f * TAPS + k), sum[f * ROW_OUTPUTS + r]);                                       \
        }

static inline void filter_row_at(pixel *sum, SOURCE(src), WEIGHTS_ARGUMENT(weights), int x, int y, int z)
{
    const int x0 = x * STRIDE + START;
#pragma unroll
    for (int i = 0; i < FILTERS * ROW_OUTPUTS; i++)
        sum[i] = 0.0f;
    if (x0 >= 0 && x0 + LINE <= src_at.width) {
        __global const float *p = src + offset(src_at, x0, y, z);
        FILTER_LINE(strided(p + r * LANES + k))
    } else {
        float line[LINE];
        fill_line(line, LINE, GIVE(src), x0, y, z);
        FILTER_LINE(strided_line(line + r * LANES + k))
    }
}
#elif LANES == 4
/* Vector loads want addresses that 4 divides: the window begins SKEW samples early. */
#define SKEW        ((START) & 3)
#define SPAN        ROUND_UP(SKEW + 3 * STRIDE + TAPS, 4)
#define IN_WINDOW   (SPAN <= 96) /* else the registers do not hold it */
#define FOUR(w, at) ((float4)((w)[at], (w)[(at) + STRIDE], (w)[(at) + 2 * STRIDE], (w)[(at) + 3 * STRIDE]))

static inline float4 four_columns(SOURCE(src), int x0, int y, int z)
{
    return (float4)(load_column(GIVE(src), x0, y, z), load_column(GIVE(src), x0 + STRIDE, y, z),
                    load_column(GIVE(src), x0 + 2 * STRIDE, y, z), load_column(GIVE(src), x0 + 3 * STRIDE, y, z));
}

#define FILTER_FOUR(samples, loop)                                                                                     \
    _Pragma(loop) for (int k = 0; k < TAPS; k++)                                                                       \
    {                                                                                                                  \
        const float4 v = samples;                                                                                      \
        _Pragma("unroll") for (int f = 0; f < FILTERS; f++) sum[f] = mad(v, WEIGHT(weights, f * TAPS + k), sum[f]);    \
    }

static inline __attribute__((always_inline)) void filter_row_at(pixel *sum, SOURCE(src), WEIGHTS_ARGUMENT(weights),
                                                                int x, int y, int z)
{
    const int x0 = x * STRIDE + START;
    __global const float *row = src + offset(src_at, x0 - SKEW, y, z);
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
        sum[f] = 0.0f;
#if IN_WINDOW
    float window[SPAN];
    if (x0 >= SKEW && x0 - SKEW + SPAN <= src_at.width) {
#pragma unroll
        for (int j = 0; j < SPAN; j += 4) {
            const float4 v = *(__global const float4 *)(row + j);
            window[j] = v.x, window[j + 1] = v.y, window[j + 2] = v.z, window[j + 3] = v.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < SPAN; j++)
            window[j] = load_column(GIVE(src), x0 - SKEW + j, y, z);
    }
    FILTER_FOUR(FOUR(window, SKEW + k), "unroll")
#else
    if (x0 >= 0 && x0 + 3 * STRIDE + TAPS <= src_at.width) {
        FILTER_FOUR(FOUR(row, SKEW + k), "unroll 4")
    } else {
        FILTER_FOUR(four_columns(GIVE(src), x0 + k, y, z), "unroll 1")
    }
#endif
}
#elif defined(IMAGES)
#define ROW_OUTPUTS OUTPUTS

static inline __attribute__((always_inline)) void filter_row_at(pixel *sum, SOURCE(src), WEIGHTS_ARGUMENT(weights),
                                                                int x, int y, int z)
{
    const int x0 = x * STRIDE + START, first = 0;
#pragma unroll
    for (int i = 0; i < FILTERS * OUTPUTS; i++)
        sum[i] = 0.0f;
#if UNROLLED
    if (x0 >= 0 && x0 + WINDOW <= src_at.width) {
        FILTER_WINDOW(FILTERS, load(GIVE(src), x0 + j, y, z), "unroll")
    } else {
        FILTER_WINDOW(FILTERS, load_column(GIVE(src), x0 + j, y, z), "unroll 1")
    }
#else
    FILTER_WINDOW(FILTERS, load_column(GIVE(src), x0 + j, y, z), "unroll 1")
#endif
}
#endif

/* A work-item of a rows' pass has ROW_OUTPUTS pixels of each filter, sum[f * ROW_OUTPUTS + r] at x + r * LANES. */
#ifndef ROW_OUTPUTS
#define ROW_OUTPUTS 1
#endif
#define ROW_STEP (LANES * ROW_OUTPUTS)
