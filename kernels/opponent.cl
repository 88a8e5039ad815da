/* Red, green, blue to brightness and two colour differences, or back (OPPONENT 1 and -1). The matrix is orthonormal,
 * so white noise stays white and as strong in each. Alpha passes. The grid's z counts the images of all layers, each
 * of `channels` planes. */
#include "planes.h"

#ifndef OPPONENT
#define OPPONENT 1
#endif

#define ROOT2 0.70710678118654752f
#define ROOT3 0.57735026918962576f
#define ROOT6 0.40824829046386302f

__kernel void opponent(SOURCE(src), TARGET(dst), int channels)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, layer = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
#ifdef IMAGES
    const float4 v = load(GIVE(src), x, y, layer);
    const float a = v.x, b = v.y, c = v.z;
#else
    const pixel a = load(GIVE(src), x, y, LAYER(layer, 0, channels));
    const pixel b = load(GIVE(src), x, y, LAYER(layer, 1, channels));
    const pixel c = load(GIVE(src), x, y, LAYER(layer, 2, channels));
#endif
#if OPPONENT > 0
#define FIRST  ((a + b + c) * ROOT3)
#define SECOND ((a - c) * ROOT2)
#define THIRD  ((a - 2.0f * b + c) * ROOT6)
#else
#define FIRST  (a * ROOT3 + b * ROOT2 + c * ROOT6)
#define SECOND (a * ROOT3 - 2.0f * c * ROOT6)
#define THIRD  (a * ROOT3 - b * ROOT2 + c * ROOT6)
#endif
#ifdef IMAGES
    store(GIVE(dst), x, y, layer, (float4)(FIRST, SECOND, THIRD, v.w));
#else
    store(GIVE(dst), x, y, LAYER(layer, 0, channels), FIRST);
    store(GIVE(dst), x, y, LAYER(layer, 1, channels), SECOND);
    store(GIVE(dst), x, y, LAYER(layer, 2, channels), THIRD);
    if (channels > 3)
        store(GIVE(dst), x, y, LAYER(layer, 3, channels), load(GIVE(src), x, y, LAYER(layer, 3, channels)));
#endif
}
