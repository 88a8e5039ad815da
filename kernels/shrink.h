/* Bivariate shrinkage of complex subbands: L. Sendur, I. Selesnick, "Bivariate shrinkage functions for wavelet-based
 * denoising exploiting interscale dependency", IEEE TSP 50 (2002). The local variance s^2 is that of "Bivariate shrinkage
 * with local variance estimation", IEEE SPL 9 (2002). The factor of T is sqrt(3) in the papers, for real coefficients; for
 * magnitudes of complex ones sqrt(5) is better (src/wavelet/shrink.h).
 *
 *     w = y1 * max(R - T, 0) / R,  R = sqrt(|y1|^2 + |y2|^2),  T = sqrt(5) * sn^2 / s,
 *     s^2 = mean over 5x5 of |y1|^2 / 2 - sn^2; w = 0 if it is not positive
 *
 *     y1   noisy coefficient; w is its denoised value
 *     y2   the parent of y1: the coefficient at the same place and of the same orientation, one level coarser. It is the
 *          parent of 2x2 coefficients
 *     s    standard deviation of the signal, estimated from the 5x5 neighbours of y1. Measured noise of a colour picture is not
 *          subtracted (SUBTRACT), and the neighbours of a colour difference include those in brightness (GUIDE)
 *     sn   standard deviation of the noise in the real or the imaginary part of y1. It is half of the standard deviation of
 *          the image's noise on this level (SIGMA)
 *
 * The formula assumes equal noise in y1 and y2. After demosaicing, the noise of y2 can be twice as strong and would be
 * taken for signal. So if the noise of y2 is stronger, y2 is scaled down until it is equal (SHARE).
 *
 * Noise by brightness: sn is multiplied by a factor (tones.h). It depends on the brightness of the denoised lowpass of the
 * same level, averaged over the 2x2 samples at the coefficient. The kernel shrink_tones computes a plane of factors for each
 * image.
 *
 * Huge noise: floats hold s^2 R^2 only up to 1e38. So sn is in a unit U, a power of two that is 1 unless the noise is huge, and
 * s^2 in U^4 (MEAN). As R is not divided, s^2 R^2 is in U^4, too, and T / R is as before. Products beyond 1e38 are clipped, which
 * changes T / R only if it is tiny.
 *
 * Order of the sum over 5x5: each column is summed from top to bottom, then the five sums are added from left to right. All
 * sums start from 0.
 *
 * Layers of subbands (PLANE_INDEX): layer 2b is the real part of subband b, layer 2b + 1 its imaginary part. Layer b of
 * energies belongs to subband b. */
#pragma once
#include "padded_axis.h"
#include "tones.h"

#define NEIGHBOURS 5 /* rows and columns of the window over which energies are averaged */

/* Noise of a level: rows of `pitch` floats, one for each plane (struct noise in src/wavelet/noise.h). */
#define SIGMA    0 /* standard deviation of the image's noise, in U; 0 for alpha */
#define SHARE    1 /* factor of |y2|^2 */
#define SUBTRACT 2 /* factor of sn^2 in the estimate of s^2, in U^2 */
#define GUIDE    3 /* factor of the energies of the image's first plane; 0: they are not read */
#define MEAN     4 /* factor of the sum of the energies: 1 / 25, in U^4 */

/* Returns half of the squared magnitude of re + i im. Energies are summed along y first. Then a colour difference adds GUIDE
 * times the sums of the first plane, and the results are summed along x. */
static inline vec energy(vec re, vec im)
{
    return 0.5f * mad(re, re, im * im);
}

/* Returns R^2 = |y1|^2 + |y2|^2 for y1 = re + i im. `parent_square` is |y2|^2 before it is scaled by `share`. */
static inline vec sum_squares(vec re, vec im, vec share, vec parent_square)
{
    return mad(share, parent_square, mad(re, re, im * im));
}

/* Returns 1 / sqrt(v) for a normal number v > 0, with a relative error of at most 7.5e-8. The first guess halves the exponent
 * and changes its sign; it is at most 3.5% off. A step of Newton's iteration y' = y + y (1/2 - v y^2 / 2) turns a relative
 * error e into 3/2 e^2: 0.18%, 4.7e-6, and after the third step only rounding errors remain. */
static inline vec inverse_root(vec v)
{
    const vec half_v = 0.5f * v;
    vec y = float_from_bits(0x5f375a86 - (bits_of_float(v) >> 1));
#pragma unroll
    for (int i = 0; i < 3; i++)
        y = mad(y, mad(-(half_v * y), y, (vec)(0.5f)), y);
    return y;
}

/* Returns max(R - T, 0) / R = max(1 - sqrt(5) sn^2 / (s R), 0). `energies` is the sum of energy() over 5x5, `mean` its factor
 * MEAN, `noise` is sn, `subtract` times sn^2 is subtracted from the mean of the energies, `squares` is R^2. The lower bound keeps
 * the product from becoming denormal. */
static inline vec shrink_factor(vec energies, vec mean, vec noise, vec subtract, vec squares)
{
    const vec noise2 = noise * noise;
    const vec product = mad(energies, mean, -(subtract * noise2)) * squares;
    const vec root = inverse_root(fmin(fmax(product, 1e-36f), (vec)(1e38f)));
    return fmax(mad(-2.2360680f * noise2, root, (vec)(1.0f)), 0.0f);
}

/* Returns the noise factors of the vec of coefficients at (x, y). `plane` is the lowpass's plane of brightness. `scale`
 * converts the sum of 2x2 of its samples to a brightness of 0 to 1: 1 / (4 * white), if `white` is the value of white. The two
 * rows are added first, then the columns. */
static inline vec noise_factors(PLANES_IN(lowpass), int x, int y, int plane, float scale, __global const float *curve)
{
#ifdef IMAGES
    const vec sum = (load(PLANES_ARG(lowpass), 2 * x, 2 * y, plane) + load(PLANES_ARG(lowpass), 2 * x, 2 * y + 1, plane)) +
                    (load(PLANES_ARG(lowpass), 2 * x + 1, 2 * y, plane) +
                     load(PLANES_ARG(lowpass), 2 * x + 1, 2 * y + 1, plane));
    return tone_factor((vec)(scale * sum.x), curve);
#else
    const int next = min(2 * x + LANES, (lowpass_at.width - 1) / LANES * LANES); /* beyond, lanes are padding */
    const vec a = load(PLANES_ARG(lowpass), 2 * x, 2 * y, plane) + load(PLANES_ARG(lowpass), 2 * x, 2 * y + 1, plane);
    const vec b = load(PLANES_ARG(lowpass), next, 2 * y, plane) + load(PLANES_ARG(lowpass), next, 2 * y + 1, plane);
    return tone_factor(scale * (vec)(a.even + a.odd, b.even + b.odd), curve);
#endif
}

/* Returns |y2|^2 for the vec of coefficients at (x, y). Two neighbouring coefficients share a parent. re and im are the planes
 * of the parents' real and imaginary parts. */
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

/* Computes a plane of noise factors for each image (noise_factors()). Plane i * channels of the lowpass is the brightness of
 * image i; curves + i * TONES is its curve (tones.h). Grid: x counts vecs, y rows, z images. */
NOINLINE void shrink_tones_run(PLANES_IN(lowpass), PLANES_OUT(dst), float scale, int channels, __global const float *curves,
                               WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        store(PLANES_ARG(dst), x, y, z, noise_factors(PLANES_ARG(lowpass), x, y, z * channels, scale, curves + z * TONES));
    }
}

__kernel void shrink_tones(PLANES_IN(lowpass), PLANES_OUT(dst), float scale, int channels, __global const float *curves)
{
    shrink_tones_run(PLANES_ARG(lowpass), PLANES_ARG(dst), scale, channels, curves, WORK_ITEM_ARGS);
}
