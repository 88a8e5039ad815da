/* Bivariate shrinkage of complex subbands: L. Sendur, I. Selesnick, "Bivariate shrinkage functions for wavelet-based
 * denoising exploiting interscale dependency", IEEE TSP 50 (2002), with the local variance of "Bivariate shrinkage with
 * local variance estimation", IEEE SPL 9 (2002):
 *
 *     w = y1 * max(R - T, 0) / R,  R = sqrt(|y1|^2 + |y2|^2),  T = sqrt(5) * sn^2 / s,
 *     s^2 = max(mean over 5x5 of |y1|^2 / 2 - sn^2, tiny)
 *
 * y2 is the parent: the same orientation, one level coarser, so that one sample is the parent of 2x2. sn is the noise
 * of a real or imaginary part, half of the image's noise.
 *
 * The formula assumes equal noise in y1 and y2. After demosaicing the noise of y2 can be twice as strong, and would
 * pass for signal. So if noise was measured per level, y2 is scaled down until its noise is as strong as y1's.
 *
 * Order of the sum over 5x5: down each column, from 0 on, then from left to right over the columns' sums.
 *
 * Layers of subbands: 2b the real, 2b + 1 the imaginary part of subband b; layers of energies: b. */
#pragma once
#include "axis.h"
#include "roots.h"

#define SIDE 5

/* Returns half of the squared magnitude: the mean of the squares of both parts. */
static inline vec energy(vec re, vec im)
{
    return 0.5f * mad(re, re, im * im);
}

/* Returns the factor of a parent's energy, whose noise is `above`: exactly 1 unless its noise is stronger. */
static inline vec parent_share(vec noise, vec above)
{
    const vec ratio = 1.0f - fmax(above - noise, 0.0f) / fmax(above, 1e-20f);
    return ratio * ratio;
}

/* Returns |y1|^2 + |y2|^2; `above2` is |y2|^2 before scaling by `share`. */
static inline vec sum_squares(vec re, vec im, vec share, vec above2)
{
    return mad(share, above2, mad(re, re, im * im));
}

/* Returns max(R - T, 0) / R = max(1 - sqrt(5) sn^2 / (s R), 0). `noise` is sn, `energies` the sum over 5x5. The lower
 * bounds keep products from becoming denormal. */
static inline vec shrink_factor(vec energies, vec noise, vec magnitude2)
{
    const vec noise2 = noise * noise;
    const vec signal = fmax(mad(energies, 1.0f / (SIDE * SIDE), -noise2), 1e-18f);
    return fmax(mad(-2.2360680f * noise2, inverse_root(signal * fmax(magnitude2, 1e-18f)), (vec)(1.0f)), 0.0f);
}
