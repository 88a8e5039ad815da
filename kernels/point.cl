/* What makes an output of the pixel at its own place alone. */
#include "planes.h"

/* factor * v + offset of every channel but alpha (-1: none). With alpha colour is premultiplied, so the offset is, too. The
 * grid's z runs over all layers; what has an offset has one. */
__kernel void linear(SOURCE(src), TARGET(dst), float factor, float offset_of_white, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const pixel v = load(GIVE(src), x, y, z);
    pixel value = factor * v;
    if (offset_of_white != 0)
        value += offset_of_white * white(GIVE(src), v, x, y, alpha);
    store(GIVE(dst), x, y, z, keep_channel(value, v, z, dst_at.channels, alpha));
}

/* One channel from several: the sum of the source's by `weights`, and alpha behind it where the output has
 * that. */
__kernel void gray(SOURCE(src), TARGET(dst), float4 weights)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
#ifdef IMAGES
    const float4 v = load(GIVE(src), x, y, z);
    const float4 sum = v * weights;
    const float alpha = src_at.channels > 3 ? v.w : v.y;
    store(GIVE(dst), x, y, z, (float4)(sum.x + sum.y + sum.z + sum.w, dst_at.channels > 1 ? alpha : 0, 0, 0));
#else
    const float weight[] = {weights.x, weights.y, weights.z, weights.w};
    if (z == 0) {
        pixel sum = weight[0] * load(GIVE(src), x, y, 0);
        for (int c = 1; c < src_at.channels; c++)
            sum += weight[c] * load(GIVE(src), x, y, c);
        store(GIVE(dst), x, y, 0, sum);
    } else {
        store(GIVE(dst), x, y, z, load(GIVE(src), x, y, src_at.channels - 1));
    }
#endif
}
