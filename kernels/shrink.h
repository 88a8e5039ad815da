/* Bivariate shrinkage of complex subbands: L. Sendur, I. Selesnick, "Bivariate shrinkage functions for wavelet-based
 * denoising exploiting interscale dependency", IEEE TSP 50 (2002), with the local variance of "Bivariate shrinkage with
 * local variance estimation", IEEE SPL 9 (2002):
 *
 *     w = y1 * max(R - T, 0) / R,  R = sqrt(|y1|^2 + |y2|^2),  T = sqrt(5) * sn^2 / s,
 *     s^2 = max(mean over 5x5 of |y1|^2 / 2 - sn^2, tiny)
 *
 *     y1   noisy coefficient; w is its denoised value
 *     y2   the parent of y1: the coefficient at the same place and of the same orientation, one level coarser. It is the
 *          parent of 2x2 coefficients
 *     s    standard deviation of the signal, estimated from the 5x5 neighbours of y1
 *     sn   standard deviation of the noise in a real or imaginary part: half of the image's
 *
 * The formula assumes equal noise in y1 and y2. After demosaicing the noise of y2 can be twice as strong, and would
 * pass for signal. So if noise was measured per level, y2 is scaled down until its noise is as strong as y1's.
 *
 * Noise by brightness: sn is multiplied by a factor for the brightness of the level's denoised lowpass at the coefficient's
 * place, the mean of 2x2 samples. The kernel shrink_tones computes a plane of factors for each image.
 *
 * Order of the sum over 5x5: down each column, from 0 on, then from left to right over the columns' sums.
 *
 * Layers (PLANE_INDEX) of subbands: 2b is the real, 2b + 1 the imaginary part of subband b. Layer b of energies is of
 * subband b. */
#pragma once
#include "padded_axis.h"
#include "tones.h"

#define SIDE 5 /* rows and columns of the neighbours */

/* Returns half of the squared magnitude: the mean of the squares of both parts. */
static inline vec energy(vec re, vec im)
{
    return 0.5f * mad(re, re, im * im);
}

/* Returns the factor that scales |y2|^2, for noise of y1 and y2: exactly 1 unless the noise of y2 is stronger. */
static inline vec parent_share(vec noise, vec parent_noise)
{
    const vec ratio = 1.0f - fmax(parent_noise - noise, 0.0f) / fmax(parent_noise, 1e-20f);
    return ratio * ratio;
}

/* Returns R^2 = |y1|^2 + |y2|^2 for y1 = re + i im. `parent_square` is |y2|^2 before it is scaled by `share`. */
static inline vec sum_squares(vec re, vec im, vec share, vec parent_square)
{
    return mad(share, parent_square, mad(re, re, im * im));
}

/* Returns 1 / sqrt(v) for a normal number v by Newton's iteration y' = y + y (1/2 - v y^2 / 2), in fma. The first guess halves
 * the exponent and is at most 3% off. Each step squares the error. */
static inline vec inverse_root(vec v)
{
    const vec half_v = 0.5f * v;
    vec y = float_from_bits(0x5f375a86 - (bits_of_float(v) >> 1));
#pragma unroll
    for (int i = 0; i < 3; i++)
        y = mad(y, mad(-(half_v * y), y, (vec)(0.5f)), y);
    return y;
}

/* Returns max(R - T, 0) / R = max(1 - sqrt(5) sn^2 / (s R), 0). `energies` is the sum of energy() over 5x5, `noise` is sn,
 * `squares` is R^2. The lower bounds keep products from becoming denormal. */
static inline vec shrink_factor(vec energies, vec noise, vec squares)
{
    const vec noise2 = noise * noise;
    const vec signal = fmax(mad(energies, 1.0f / (SIDE * SIDE), -noise2), 1e-18f);
    return fmax(mad(-2.2360680f * noise2, inverse_root(signal * fmax(squares, 1e-18f)), (vec)(1.0f)), 0.0f);
}

/* Returns the factors of the noise for a vec of coefficients at (x, y). z is the lowpass's plane of brightness, `scale` its
 * value for white. The rows are added, then the columns. */
static inline vec find_tones(PLANES_IN(lowpass), int x, int y, int z, float scale, __global const float *curve)
{
#ifdef IMAGES
    const vec sum = (load(PLANES_ARG(lowpass), 2 * x, 2 * y, z) + load(PLANES_ARG(lowpass), 2 * x, 2 * y + 1, z)) +
                    (load(PLANES_ARG(lowpass), 2 * x + 1, 2 * y, z) + load(PLANES_ARG(lowpass), 2 * x + 1, 2 * y + 1, z));
    return tone_factor((vec)(scale * sum.x), curve);
#else
    const int next = min(2 * x + LANES, (lowpass_at.width - 1) / LANES * LANES); /* beyond, lanes are padding */
    const vec a = load(PLANES_ARG(lowpass), 2 * x, 2 * y, z) + load(PLANES_ARG(lowpass), 2 * x, 2 * y + 1, z);
    const vec b = load(PLANES_ARG(lowpass), next, 2 * y, z) + load(PLANES_ARG(lowpass), next, 2 * y + 1, z);
    return tone_factor(scale * (vec)(a.even + a.odd, b.even + b.odd), curve);
#endif
}

/* Returns |y2|^2 for the vec at (x, y): half as many parents, each twice. re and im are the planes of both parts. */
static inline vec load_parent_squares(PLANES_IN(parents), int x, int y, int re, int im)
{
#ifdef IMAGES
    const vec a = load(PLANES_ARG(parents), x / 2, y / 2, re), b = load(PLANES_ARG(parents), x / 2, y / 2, im);
#elif LANES == 16
    const vec a = vload8(0, parents + offset(parents_at, x / 2, y / 2, re)).s0011223344556677;
    const vec b = vload8(0, parents + offset(parents_at, x / 2, y / 2, im)).s0011223344556677;
#else
    const vec a = (*(__global const float2 *)(parents + offset(parents_at, x / 2, y / 2, re))).xxyy;
    const vec b = (*(__global const float2 *)(parents + offset(parents_at, x / 2, y / 2, im))).xxyy;
#endif
    return mad(a, a, b * b);
}

/* Computes a plane of noise factors for each image from its brightness (tones.h). Plane i * channels of the lowpass is the
 * brightness of image i. Grid: x counts vecs, y rows, z images. */
NOINLINE void shrink_tones_run(PLANES_IN(lowpass), PLANES_OUT(dst), float scale, int channels, __global const float *curves,
                               WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        store(PLANES_ARG(dst), x, y, z, find_tones(PLANES_ARG(lowpass), x, y, z * channels, scale, curves + z * TONES));
    }
}

__kernel void shrink_tones(PLANES_IN(lowpass), PLANES_OUT(dst), float scale, int channels, __global const float *curves)
{
    shrink_tones_run(PLANES_ARG(lowpass), PLANES_ARG(dst), scale, channels, curves, WORK_ITEM_ARGS);
}
