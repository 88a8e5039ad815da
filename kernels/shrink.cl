/* Bivariate shrinkage of complex subbands: L. Sendur, I. Selesnick, "Bivariate shrinkage functions for
 * wavelet-based denoising exploiting interscale dependency", IEEE TSP 50 (2002), with the local variance of
 * "Bivariate shrinkage with local variance estimation", IEEE SPL 9 (2002):
 *
 *     w = y1 * max(R - T, 0) / R,  R = sqrt(|y1|^2 + |y2|^2),  T = sqrt(5) * sn^2 / s,
 *     s^2 = max(mean over 7x7 of |y1|^2 / 2 - sn^2, tiny)
 *
 * y2 is the parent: the same orientation, one level coarser, each sample standing for 2x2. sn is the noise of a
 * real or imaginary part, half of the image's.
 *
 * Layers of subbands: 2b the real, 2b + 1 the imaginary part of subband b; of energies: b. */
#include "axis.h"

#define SUBBANDS  6
#define RADIUS 3
#define SIDE   (2 * RADIUS + 1)

/* The subband and the channel that plane z of the energies stands for. */
#ifdef IMAGES
#define SUBBAND(z, channels)    (z)
#define CHANNEL(z, channels) 0
#else
#define SUBBAND(z, channels)    ((z) / (channels))
#define CHANNEL(z, channels) ((z) % (channels))
#endif

static inline pixel energy(pixel re, pixel im)
{
    return 0.5f * (re * re + im * im);
}

#ifndef IMAGES
/* The energy of the sample that x stands for. */
static inline float energy_at(SOURCE(subbands), int x, int y, int re, int im)
{
    const int column = reflect(x, subbands_at.width);
    const float a = subbands[offset(subbands_at, column, y, re)], b = subbands[offset(subbands_at, column, y, im)];
    return 0.5f * (a * a + b * b);
}
#endif

#if LANES == 4
#define MARGIN 4 /* vectors begin at multiples of 4 */
#else
#define MARGIN RADIUS
#endif

/* The sum of SIDE neighbours along x, whose window lies inside. */
static inline pixel energy_inside(SOURCE(subbands), int x, int y, int re, int im)
{
#if LANES == 4
    const pixel a = energy(load(GIVE(subbands), x - 4, y, re), load(GIVE(subbands), x - 4, y, im));
    const pixel b = energy(load(GIVE(subbands), x, y, re), load(GIVE(subbands), x, y, im));
    const pixel c = energy(load(GIVE(subbands), x + 4, y, re), load(GIVE(subbands), x + 4, y, im));
    const float all = b.x + b.y + b.z + b.w; /* what the four sums share */
    return all + (pixel)(a.y + a.z + a.w, a.z + a.w + c.x, a.w + c.x + c.y, c.x + c.y + c.z);
#else
    pixel sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += energy(load(GIVE(subbands), x + k, y, re), load(GIVE(subbands), x + k, y, im));
    return sum;
#endif
}

/* The same anywhere. */
static inline pixel energy_reflected(SOURCE(subbands), int x, int y, int re, int im)
{
    pixel sum = 0.0f;
#if LANES == 16
    float line[LANES + SIDE];
    for (int i = 0; i < LANES + SIDE - 1; i++)
        line[i] = energy_at(GIVE(subbands), x + i - RADIUS, y, re, im);
    for (int k = 0; k < SIDE; k++)
        sum += VLOAD(line + k);
#elif LANES == 4
#pragma unroll 1
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += (pixel)(energy_at(GIVE(subbands), x + k, y, re, im), energy_at(GIVE(subbands), x + k + 1, y, re, im),
                       energy_at(GIVE(subbands), x + k + 2, y, re, im), energy_at(GIVE(subbands), x + k + 3, y, re, im));
#else
    for (int k = -RADIUS; k <= RADIUS; k++) {
        const int column = reflect(x + k, subbands_at.width);
        sum += energy(load(GIVE(subbands), column, y, re), load(GIVE(subbands), column, y, im));
    }
#endif
    return sum;
}

/* Sums of SIDE neighbours along x of |y|^2 / 2. */
__kernel void UNIT(shrink_energy)(SOURCE(subbands), TARGET(dst))
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int channels = subbands_at.channels;
    const int re = LAYER(2 * SUBBAND(z, channels), CHANNEL(z, channels), channels);
    const int im = LAYER(2 * SUBBAND(z, channels) + 1, CHANNEL(z, channels), channels);
    const bool inside = x >= MARGIN && x + LANES + MARGIN <= subbands_at.width;
    store(GIVE(dst), x, y, z,
          inside ? energy_inside(GIVE(subbands), x, y, re, im) : energy_reflected(GIVE(subbands), x, y, re, im));
}

/* The parent of a sample: pixels of LANES samples have half as many. */
static inline pixel load_parent(SOURCE(parents), int x, int y, int z)
{
#if LANES == 16
    const float8 v = vload8(0, parents + offset(parents_at, x / 2, y / 2, z));
    return (float16)(v.s0, v.s0, v.s1, v.s1, v.s2, v.s2, v.s3, v.s3, v.s4, v.s4, v.s5, v.s5, v.s6, v.s6, v.s7, v.s7);
#elif LANES == 4
    const float2 v = *(__global const float2 *)(parents + offset(parents_at, x / 2, y / 2, z));
    return v.xxyy;
#else
    return load(GIVE(parents), x / 2, y / 2, z);
#endif
}

static inline pixel threshold_factor(pixel variance, pixel noise, pixel magnitude2)
{
    const pixel noise2 = noise * noise, tiny = 1e-20f;
    const pixel signal = sqrt(fmax(variance - noise2, tiny));
    const pixel r = sqrt(fmax(magnitude2, tiny));
    return fmax(r - 2.2360680f * noise2 / signal, 0.0f) / r;
}

/* `sigma` holds the image's noise of each channel from `sigma_at` on. The coarsest level has no parent: it is given
 * itself, and told so by an argument, as a program more takes longer to load than the question. */
__kernel void UNIT(shrink)(SOURCE(subbands), SOURCE(parents), SOURCE(energies), TARGET(dst), __global const float *sigma,
                     int sigma_at, int alpha, int has_parent)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int channels = subbands_at.channels, subband = SUBBAND(z, channels), channel = CHANNEL(z, channels);
    const int re_at = LAYER(2 * subband, channel, channels), im_at = LAYER(2 * subband + 1, channel, channels);
    const pixel re = load(GIVE(subbands), x, y, re_at), im = load(GIVE(subbands), x, y, im_at);
    pixel sum = 0.0f, magnitude2 = re * re + im * im;
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += load(GIVE(energies), x, reflect(y + k, energies_at.height), z);
    if (has_parent) {
        const pixel parent_re = load_parent(GIVE(parents), x, y, re_at);
        const pixel parent_im = load_parent(GIVE(parents), x, y, im_at);
        magnitude2 += parent_re * parent_re + parent_im * parent_im;
    }
#ifdef IMAGES
    const pixel noise = 0.5f * vload4(0, sigma + sigma_at);
#else
    const pixel noise = 0.5f * sigma[sigma_at + channel];
#endif
    const pixel factor =
        keep_channel(threshold_factor(sum / (SIDE * SIDE), noise, magnitude2), 1.0f, z, channels, alpha);
    store(GIVE(dst), x, y, re_at, factor * re);
    store(GIVE(dst), x, y, im_at, factor * im);
}
