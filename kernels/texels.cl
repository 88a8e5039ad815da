/* Copies layer 0 of planes in an image to planes in a buffer, or back, for stages that work only in buffers.
 *
 *     texel   (c0, c1, c2, c3) of pixel x      planes   c0 of all pixels, c1 of all pixels, ...
 *
 * `at` is the geometry of the buffer. Grid: x counts pixels, y rows. */
#define IMAGES 1
#define LANES 1
#include "planes.h"

__kernel void texels_to_planes(PLANES_IN(src), __global float *planes, const struct geometry at)
{
    const int x = get_global_id(0), y = get_global_id(1) + at.first_row;
    if (x >= at.width || y >= at.first_row + at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, 0);
    for (int c = 0; c < at.channels; c++)
        planes[offset(at, x, y, c)] = component(v, c);
}

/* Channels of a texel that the buffer does not have become 0. */
__kernel void planes_to_texels(__global const float *planes, const struct geometry at, PLANES_OUT(dst))
{
    const int x = get_global_id(0), y = get_global_id(1) + at.first_row;
    if (x >= at.width || y >= at.first_row + at.rows)
        return;
    vec v = 0.0f;
    for (int c = 0; c < at.channels; c++)
        ((float *)&v)[c] = planes[offset(at, x, y, c)];
    store(PLANES_ARG(dst), x, y, 0, v);
}
