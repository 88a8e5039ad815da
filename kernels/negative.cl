/* Turns a film negative into a positive, by density:
 *
 *     dst = full * clamp((base - log2(v / full)) * gain, 0, 1)
 *
 * base is the binary logarithm of the film base's value, and gain the reciprocal of the largest density above it, each for
 * every channel. full is full scale for a pixel's colour: 1, or its alpha, as colour is premultiplied. Alpha is copied.
 *
 * Not a part of point.cl: that file is compiled whole, so the logarithm would delay the first use of every point operation.
 *
 * Grid: x counts vecs (texels in images), y rows, z planes. */
#include "planes.h"
#if LANES == 16
#define REAL_LANES 16
#else
#define REAL_LANES 4
#endif
#include "power.h"

/* Values up to 0 are as dense as 2^-126; NaN stays NaN. */
__kernel void negative(PLANES_IN(src), PLANES_OUT(dst), float4 base, float4 gain, int channels, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z), full = full_scale(PLANES_ARG(src), v, x, y, alpha);
    vec low, light = alpha >= 0 ? v / full : v;
    light = light < 0x1p-126f ? (vec)(0x1p-126f) : light;
    light = light > 0x1p127f ? (vec)(0x1p127f) : light;
    const vec high = log2_high_low(light, &low);
    vec value = ((channel_value(base, z % channels) - high) - low) * channel_value(gain, z % channels);
    value = value < 0.0f ? (vec)(0.0f) : value;
    value = full * (value > 1.0f ? (vec)(1.0f) : value);
    value = light == light ? value : v;
    value = full > 0.0f ? value : (vec)(0.0f);
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}
