/* Converts the images of a group to opponent colours (opponent.h) or back. directions[i] is for image i: 1 converts to opponent
 * colours, -1 converts back to red, green and blue, 0 copies. Alpha is copied.
 *
 * Grid: x counts vecs, y rows, z the layers of all images: z = layer * images + image. Each has `channels` planes. */
#include "planes.h"
#ifdef IMAGES
#define CHANNEL float
#else
#define CHANNEL vec
#endif
#include "opponent.h"

__kernel void opponent(PLANES_IN(src), PLANES_OUT(dst), int channels, int images, __global const float *directions)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    CHANNEL v[3];
#ifdef IMAGES
    const float4 texel = load(PLANES_ARG(src), x, y, z);
    v[0] = texel.x, v[1] = texel.y, v[2] = texel.z;
#else
#pragma unroll
    for (int c = 0; c < 3; c++)
        v[c] = load(PLANES_ARG(src), x, y, PLANE_INDEX(z, c, channels));
#endif
    const float direction = directions[z % images];
    if (direction > 0.0f)
        to_opponent(v);
    else if (direction < 0.0f)
        from_opponent(v);
#ifdef IMAGES
    store(PLANES_ARG(dst), x, y, z, (float4)(v[0], v[1], v[2], texel.w));
#else
#pragma unroll
    for (int c = 0; c < 3; c++)
        store(PLANES_ARG(dst), x, y, PLANE_INDEX(z, c, channels), v[c]);
    const int alpha = PLANE_INDEX(z, 3, channels);
    if (channels > 3)
        store(PLANES_ARG(dst), x, y, alpha, load(PLANES_ARG(src), x, y, alpha));
#endif
}
