/* The noise of an image from its pyramid, for each plane and level: src/filters/noise.h says what it rests on. */
#ifndef LANES
#define LANES 1
#endif
#include "planes.h"
#include "axis.h"
#include "places.h"

#define SUBBANDS 6
#define SIDE     (2 * NEAR + 1) /* of a coefficient's neighbourhood */

/* Counts of energies, 8 bins to an octave: the upper bits of a float, whose order is that of the values. */
#define BINS      1024
#define SHIFT     20
#define FIRST_BIN ((127 - 80) << 3) /* begins at 2^-80 */

/* Of white noise through the transform, logarithms: the mean energy less the median one, and the median less the 5% quantile,
 * nearly the same on all levels. */
#define WHITE_MEDIAN 0.015f
#define WHITE_SPREAD 0.32f

/* As src/filters/noise.c has them. */
#define LEVELS    6
#define QUANTILES 2
#define OWN       (LEVELS * QUANTILES)
#define FEATURES  (2 * OWN + 1)

static inline float channel_of(SOURCE(subbands), int x, int y, int layer, int channel)
{
#ifdef IMAGES
    const float4 v = load(GIVE(subbands), x, y, layer);
    return channel == 0 ? v.x : channel == 1 ? v.y : channel == 2 ? v.z : v.w;
#else
    return load(GIVE(subbands), x, y, LAYER(layer, channel, subbands_at.channels));
#endif
}

/* The mean of |z|^2 / 2 over the neighbourhood of a coefficient. */
static inline float energy_around(SOURCE(subbands), int x, int y, int subband, int channel)
{
    float sum = 0.0f;
    for (int dy = -(SIDE / 2); dy <= SIDE / 2; dy++)
        for (int dx = -(SIDE / 2); dx <= SIDE / 2; dx++) {
            const int x1 = reflect(x + dx, subbands_at.width), y1 = reflect(y + dy, subbands_at.height);
            const float re = channel_of(GIVE(subbands), x1, y1, 2 * subband, channel);
            const float im = channel_of(GIVE(subbands), x1, y1, 2 * subband + 1, channel);
            sum += re * re + im * im;
        }
    return sum / (2 * SIDE * SIDE);
}

/* Counts the energies of one level at columns x rows places, evenly spread, those of them that lie in the rows from range.x to
 * range.y. The grid: the places, and the channels of a layer. */
__kernel void noise_energies(SOURCE(subbands), int columns, int rows, int2 range, volatile __global uint *bins,
                             int bins_at)
{
    const int i = get_global_id(0), j = get_global_id(1), channel = get_global_id(2);
    if (i >= columns || j >= rows)
        return;
    const int x = place(i, columns, subbands_at.width), y = place(j, rows, subbands_at.height);
    if (y < range.x || y >= range.y)
        return;
    for (int subband = 0; subband < SUBBANDS; subband++) {
        const float energy = energy_around(GIVE(subbands), x, y, subband, channel);
        const int bin = (int)(as_uint(energy) >> SHIFT) - FIRST_BIN;
        atomic_inc(bins + bins_at + channel * BINS + clamp(bin, 0, BINS - 1));
    }
}

/* The value below which a share of the counts lies, interpolated within its bin. */
static inline float quantile(__global const uint *counts, float share)
{
    uint total = 0, below = 0;
    int bin = 0;
    for (int i = 0; i < BINS; i++)
        total += counts[i];
    while (bin < BINS - 1 && below + counts[bin] < share * total)
        below += counts[bin++];
    const float low = as_float((uint)(FIRST_BIN + bin) << SHIFT), high = as_float((uint)(FIRST_BIN + bin + 1) << SHIFT);
    return low + (high - low) * (share * total - below) / max(counts[bin], 1u);
}

/* Logarithms of two quantiles; `shifts` are for the filters of level 1. The grid: planes, and the levels that there are. */
__kernel void noise_features(__global const uint *bins, __global float *features, int features_at, int planes, int levels,
                             float2 shares, float least, float2 shifts)
{
    const int plane = get_global_id(0), level = get_global_id(1);
    if (plane >= planes || level >= levels)
        return;
    __global const uint *counts = bins + (level * planes + plane) * BINS;
    __global float *to = features + features_at + (plane * LEVELS + level) * QUANTILES;
    to[0] = log(fmax(quantile(counts, shares.x), least)) + (level == 0 ? shifts.x : 0.0f);
    to[1] = log(fmax(quantile(counts, shares.y), least)) + (level == 0 ? shifts.y : 0.0f);
}

/* sigma[level * pitch + plane]: the noise of the plane, as white noise of that strength would have it on that level; 0 for
 * alpha (-1: none). An image has `channels` planes. Three colours are luminance and two differences, which have models of
 * their own; other channels are gray. Levels beyond the pyramid's have the features of its last one, those beyond the
 * model's the noise of that. Where energies spread no more than those of white noise, noise is all that there is, and the
 * model is not asked. The grid: planes, levels. */
__kernel void noise_model(__global const float *features, int features_at, WEIGHTS const float *models,
                          __global float *sigma, int sigma_at, int pitch, int planes, int levels, int channels, int alpha,
                          int colour, float strength)
{
    const int plane = get_global_id(0), level = get_global_id(1), channel = plane % channels;
    if (plane >= pitch || level >= levels)
        return;
    float v = 0.0f;
    if (plane < planes && channel != alpha) {
        const int model = colour ? min(channel, 1) : 2, first = plane - channel;
        const int other = channel > 0 ? first : first + 1, second = channel > 0 ? first : first + 2;
        float f[FEATURES], base = 0.0f;
        for (int i = 0; i < OWN; i++) {
            const int at = min(i / QUANTILES, levels - 1) * QUANTILES + i % QUANTILES;
            f[i] = features[features_at + plane * OWN + at];
            f[OWN + i] = colour ? 0.5f * (features[features_at + other * OWN + at] + features[features_at + second * OWN + at])
                                : f[i];
            base += (f[i] + f[OWN + i]) / (2 * OWN);
        }
        WEIGHTS const float *weights = models + (model * LEVELS + min(level, LEVELS - 1)) * FEATURES;
        float sum = weights[FEATURES - 1];
        for (int i = 0; i < 2 * OWN; i++)
            sum += weights[i] * (f[i] - base);
        const int own = min(min(level, LEVELS - 1), levels - 1) * QUANTILES;
        const float more = fmax(f[own + 1] - f[own] - WHITE_SPREAD, 0.0f) / 0.1f, alone = exp(-more * more);
        v = strength * 2.0f * exp(0.5f * (base + sum + alone * (f[own + 1] + WHITE_MEDIAN - base - sum)));
    }
    sigma[sigma_at + level * pitch + plane] = v;
}
