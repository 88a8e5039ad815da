/* The noise of an image from its pyramid, one sample an item: the median of |v|, robust against the few large
 * coefficients that are signal (D. Donoho, I. Johnstone, Biometrika 81, 1994). v are the real and imaginary parts of
 * the two diagonal subbands of level 1.
 *
 * Histograms count by the upper bits of |v| as a float, whose order is that of the values: 16 bins an octave. */
#ifndef LANES
#define LANES 1
#endif
#include "planes.h"

#define BINS  4096
#define SHIFT 19

static inline float channel_of(SOURCE(subbands), int x, int y, int layer, int channel)
{
#ifdef IMAGES
    const float4 v = load(GIVE(subbands), x, y, layer);
    return channel == 0 ? v.x : channel == 1 ? v.y : channel == 2 ? v.z : v.w;
#else
    return load(GIVE(subbands), x, y, LAYER(layer, channel, subbands_at.channels));
#endif
}

/* The grid: columns, any number of rows (an item takes every such row), channels. Counts are gathered in local memory
 * first: all samples of an image in a few bins of global memory would wait for each other. */
__kernel void noise_histogram(SOURCE(subbands), volatile __global uint *bins)
{
    __local uint counts[BINS];
    const int x = get_global_id(0), channel = get_global_id(2);
    const int item = get_local_id(1) * get_local_size(0) + get_local_id(0);
    const int items = get_local_size(0) * get_local_size(1);
    for (int i = item; i < BINS; i += items)
        counts[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int y = get_global_id(1); x < subbands_at.width && y < subbands_at.height; y += get_global_size(1))
        for (int part = 0; part < 4; part++) {
            const int layer = (part < 2 ? 2 : 8) + (part & 1);
            atomic_inc(counts + (as_uint(fabs(channel_of(GIVE(subbands), x, y, layer, channel))) >> SHIFT));
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < BINS; i += items)
        if (counts[i] > 0)
            atomic_add(bins + channel * BINS + i, counts[i]);
}

/* sigma[c] = median / unit, the median interpolated within its bin, and 0 for alpha (-1: none); one work-item a channel. */
__kernel void noise_median(__global const uint *bins, __global float *sigma, int channels, int sigma_at, uint total,
                           float unit, int alpha)
{
    const int channel = get_global_id(0);
    if (channel >= channels || get_global_id(1) > 0)
        return;
    __global const uint *mine = bins + channel * BINS;
    const uint half_total = total - total / 2;
    uint below = 0;
    int bin = 0;
    for (; bin < BINS - 16; bin += 16) {
        const uint16 v = vload16(0, mine + bin);
        const uint8 v8 = v.lo + v.hi;
        const uint4 v4 = v8.lo + v8.hi;
        const uint in_block = v4.x + v4.y + v4.z + v4.w;
        if (below + in_block >= half_total)
            break;
        below += in_block;
    }
    for (; bin < BINS - 1 && below + mine[bin] < half_total; bin++)
        below += mine[bin];
    const float low = as_float(bin << SHIFT), high = as_float((bin + 1) << SHIFT);
    const float share = mine[bin] > 0 ? (0.5f * total - below) / mine[bin] : 0.0f;
    sigma[sigma_at + channel] = channel == alpha ? 0.0f : (low + (high - low) * share) / unit;
}
