/* The argument of the kernels of affine warps (warp.cl, warp_rows_cpu.cl), and the weights of their filters by distance.
 *
 * Positions are integers in units of 2^-40 pixels, so all variants and slices compute the same ones. In floats they would be
 * off by 0.001 pixels in the middle of a large picture.
 *
 *   -DTAPS=n    samples along each axis: 2 bilinear, 4 cubic, 6 Lanczos
 *   -DPLANES=n  planes of a work-item
 *   line        several weights: of one sample for sixteen positions, or of neighbouring samples for one position
 *   fractions   one fraction of each position of a line */
#pragma once
#include "edge.h"

#ifndef TAPS
#define TAPS 4
#endif
#ifndef PLANES
#define PLANES 1
#endif

#if LANES == 16
typedef float16 line, fractions;
#define AS_LINE as_float16
#define AS_BITS as_int16
#elif TAPS > 2
typedef float8 line;
typedef float fractions;
#define AS_LINE as_float8
#define AS_BITS as_int8
#define STORE_LINE   vstore8
#define LINE_LANES   8 /* lanes of a line */
#define LANE_NUMBERS (line)(0, 1, 2, 3, 4, 5, 6, 7)
#else
typedef float4 line;
typedef float fractions;
#define STORE_LINE   vstore4
#define LINE_LANES   4
#define LANE_NUMBERS (line)(0, 1, 2, 3)
#endif

#define FRACTION_BITS 40

struct warp {
    long xx, xy, x, yx, yy, y; /* source x = xx * column + xy * row + x, source y likewise; in units of 2^-40 */
    float cubic[4][4];       /* [power][sample]: the weight of each of a cubic's four samples, a polynomial of the distance
                              * from the second sample */
    float near[4], far[4];   /* a cubic's weight by the distance from a sample, as polynomials: below 1; from 1 to 2 */
    float stretch_x, stretch_y; /* widths of the filters, relative to a warp that does not shrink */
    float fill[4];           /* the texel beyond the picture, if samples are copied and the border rule is zero */
    int nearest;             /* not 0: copy the nearest sample instead of interpolating */
    int missing;             /* not 0: a pixel whose nearest sample is outside the picture is NaN */
    int columns, rows;       /* of a group's tile */
    int pitch;               /* texels from row to row of the tile */
    int left, top;           /* the tile's first sample, relative to the position of the group's first pixel */
};

#if TAPS == 6
/* Returns sin(pi x) for 0 <= x < 2^22: the power series around the nearest integer, with an error of at most 1 ulp of
 * 1. */
static inline line sin_pi(line x)
{
    const line raised = x + 0x1.8p23f; /* its last bit is set if that integer is odd */
    const line r = x - (raised - 0x1.8p23f), t = r * r;
    line sum = mad(t, 0.00046630281f, (line)(-0.0073704309f));
    sum = mad(t, sum, (line)(0.082145887f));
    sum = mad(t, sum, (line)(-0.59926453f));
    sum = mad(t, sum, (line)(2.5501640f));
    sum = mad(t, sum, (line)(-5.1677128f));
    sum = mad(t, sum, (line)(3.1415927f));
    return AS_LINE(AS_BITS(r * sum) ^ AS_BITS(raised) << 31);
}
#endif

/* Returns the weights of samples at these distances from the position. */
INLINE line weigh(const struct warp *warp, line distance)
{
#if TAPS == 4
    const float *n = warp->near, *f = warp->far;
    const line near = mad(mad(mad(n[3], distance, (line)(n[2])), distance, (line)(n[1])), distance, (line)(n[0]));
    const line far = mad(mad(mad(f[3], distance, (line)(f[2])), distance, (line)(f[1])), distance, (line)(f[0]));
    return distance < 1 ? near : distance < 2 ? far : (line)(0.0f);
#elif TAPS == 6
    const line x = max(distance, 1e-4f); /* no division by 0 */
    return distance < 3 ? sin_pi(x) * sin_pi(x / 3) * 0.30396355f / (x * x) : (line)(0.0f); /* 3 / pi^2 */
#else
    return max(1 - distance, 0.0f);
#endif
}

/* Computes the weights of the TAPS samples around positions that are `fraction` after a sample. For a single position,
 * `weights` has room for a line. */
INLINE void find_weights(fractions *weights, const struct warp *warp, fractions fraction)
{
#if TAPS == 4
#pragma unroll
    for (int k = 0; k < 4; k++)
        weights[k] = mad(mad(mad(warp->cubic[3][k], fraction, (fractions)(warp->cubic[2][k])), fraction,
                             (fractions)(warp->cubic[1][k])), fraction, (fractions)(warp->cubic[0][k]));
#elif TAPS == 2
    weights[0] = 1 - fraction;
    weights[1] = fraction;
#else
    const fractions first = 1 - TAPS / 2 - fraction;
    fractions sum = 0.0f;
#if LANES == 16
#pragma unroll
    for (int k = 0; k < TAPS; k++)
        weights[k] = weigh(warp, fabs(k + first));
#else
    STORE_LINE(weigh(warp, fabs(LANE_NUMBERS + first)), 0, weights);
#endif
#pragma unroll
    for (int k = 0; k < TAPS; k++)
        sum += weights[k];
#pragma unroll
    for (int k = 0; k < TAPS; k++)
        weights[k] /= sum;
#endif
}
