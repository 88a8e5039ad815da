/* The noise of an image from its pyramid, one sample an item: the median of |v|, robust against the few large
 * coefficients that are signal (D. Donoho, I. Johnstone, Biometrika 81, 1994). */

/* Counts of |v| by the upper 16 bits of its float, whose order is that of the values: BINS a channel. v are the
 * real and imaginary parts of the two diagonal bands of level 1. The grid: columns, rows, planes of a layer. */
#define BINS 65536

static inline void count(volatile __global int *bins, float v)
{
    atomic_inc(bins + (as_uint(fabs(v)) >> 15));
}

__kernel void noise_histogram(SOURCE(bands), volatile __global int *bins)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= bands_at.width || y >= bands_at.height)
        return;
    for (int part = 0; part < 4; part++) {
        const int layer = (part < 2 ? 2 : 8) + (part & 1);
#ifdef IMAGES
        const float4 v = load(GIVE(bands), x, y, layer);
        count(bins, v.x);
        count(bins + BINS, v.y);
        count(bins + 2 * BINS, v.z);
        count(bins + 3 * BINS, v.w);
#else
        count(bins + z * BINS, load(GIVE(bands), x, y, LAYER(layer, z, bands_at.channels)));
#endif
    }
}

/* sigma[c] = median / unit, the median interpolated within its bin; one work-item a channel. */
__kernel void noise_median(__global const int *bins, __global float *sigma, int sigma_at, int total, float unit)
{
    const int channel = get_global_id(0);
    if (channel >= 4 || get_global_id(1) > 0)
        return;
    __global const int *mine = bins + channel * BINS;
    int below = 0, bin = 0;
    for (; bin < BINS - 16; bin += 16) {
        const int16 v = vload16(0, mine + bin);
        const int8 v8 = v.lo + v.hi;
        const int4 v4 = v8.lo + v8.hi;
        const int in_block = v4.x + v4.y + v4.z + v4.w;
        if (2 * (below + in_block) >= total)
            break;
        below += in_block;
    }
    for (; bin < BINS - 1 && 2 * (below + mine[bin]) < total; bin++)
        below += mine[bin];
    const float low = as_float(bin << 15), high = as_float((bin + 1) << 15);
    const float share = mine[bin] > 0 ? (0.5f * total - below) / mine[bin] : 0.0f;
    sigma[sigma_at + channel] = (low + (high - low) * share) / unit;
}
