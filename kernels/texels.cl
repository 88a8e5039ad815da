/* Copies one layer between texels (images) and planes (a buffer), for stages that work in buffers only.
 *
 *     texel   (c0, c1, c2, c3) of pixel x      planes   c0 of all pixels, c1 of all pixels, ...
 *
 * Grid: x counts pixels, y rows. */
#ifndef IMAGES
#define IMAGES
#define LANES 1
#endif
#include "planes.h"

/* Copies texels to planes. */
__kernel void texels_to_planes(PLANES_IN(src), __global float *planes, const struct geometry at)
{
    const int x = get_global_id(0), y = get_global_id(1) + at.first_row;
    if (x >= at.width || y >= at.first_row + at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, 0);
    planes[offset(at, x, y, 0)] = v.x;
    if (at.channels > 1)
        planes[offset(at, x, y, 1)] = v.y;
    if (at.channels > 2)
        planes[offset(at, x, y, 2)] = v.z;
    if (at.channels > 3)
        planes[offset(at, x, y, 3)] = v.w;
}

/* Copies planes to texels; missing channels are 0. */
__kernel void planes_to_texels(__global const float *planes, const struct geometry at, PLANES_OUT(dst))
{
    const int x = get_global_id(0), y = get_global_id(1) + at.first_row;
    if (x >= at.width || y >= at.first_row + at.rows)
        return;
    vec v = 0.0f;
    v.x = planes[offset(at, x, y, 0)];
    if (at.channels > 1)
        v.y = planes[offset(at, x, y, 1)];
    if (at.channels > 2)
        v.z = planes[offset(at, x, y, 2)];
    if (at.channels > 3)
        v.w = planes[offset(at, x, y, 3)];
    store(PLANES_ARG(dst), x, y, 0, v);
}
