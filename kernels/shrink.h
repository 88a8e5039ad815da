/* Bivariate shrinkage of complex subbands: L. Sendur, I. Selesnick, "Bivariate shrinkage functions for
 * wavelet-based denoising exploiting interscale dependency", IEEE TSP 50 (2002), with the local variance of
 * "Bivariate shrinkage with local variance estimation", IEEE SPL 9 (2002):
 *
 *     w = y1 * max(R - T, 0) / R,  R = sqrt(|y1|^2 + |y2|^2),  T = sqrt(5) * sn^2 / s,
 *     s^2 = max(mean over 5x5 of |y1|^2 / 2 - sn^2, tiny)
 *
 * y2 is the parent: the same orientation, one level coarser, each sample standing for 2x2. sn is the noise of a
 * real or imaginary part, half of the image's. The formula is for equally strong noise in y1 and y2. What demosaicing leaves in y2 can
 * be twice as strong, and would pass for signal: where noise was found by level, y2 becomes weaker, until its noise is as strong.
 *
 * The sum over 5x5 goes down each column first, from 0 on, then from left to right over these sums.
 *
 * Layers of subbands: 2b the real, 2b + 1 the imaginary part of subband b; of energies: b. */
#pragma once
#include "axis.h"
#include "roots.h"

#define SIDE 5

static inline vec energy(vec re, vec im)
{
    return 0.5f * mad(re, re, im * im);
}

/* What of a parent's energy counts; `above` is its noise. Exactly 1 where that is not stronger. */
static inline vec parent_share(vec noise, vec above)
{
    const vec ratio = 1.0f - fmax(above - noise, 0.0f) / fmax(above, 1e-20f);
    return ratio * ratio;
}

/* |y1|^2 + |y2|^2, of which the latter is `above2`. */
static inline vec sum_squares(vec re, vec im, vec share, vec above2)
{
    return mad(share, above2, mad(re, re, im * im));
}

/* max(R - T, 0) / R = max(1 - sqrt(5) sn^2 / (s R), 0); `noise` is sn, `energies` the sum over 5x5. What is tiny is no denormal
 * number when it is multiplied. */
static inline vec shrink_factor(vec energies, vec noise, vec magnitude2)
{
    const vec noise2 = noise * noise;
    const vec signal = fmax(mad(energies, 1.0f / (SIDE * SIDE), -noise2), 1e-18f);
    return fmax(mad(-2.2360680f * noise2, inverse_root(signal * fmax(magnitude2, 1e-18f)), (vec)(1.0f)), 0.0f);
}
