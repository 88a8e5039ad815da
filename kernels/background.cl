/* Background subtraction with a rolling ball (S. Sternberg, "Biomedical image processing", Computer 16 (1983)):
 * min_of_blocks reduces the picture, the ball rolls below the small one (ball.cl), and subtract_background subtracts the
 * surface that the ball reached, enlarged.
 *
 *     small[x, y] = min of sign * src over a block of factor x factor pixels
 *     dst = src - sign * (small surface, interpolated bilinearly)  [+ full scale, if the background is light]
 *
 * sign is -1 for a light background, else 1. Factors are powers of two.
 *
 *     small pixels     |       0       |       1       |     2 ...
 *     large pixels     | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |             shift = 2
 *     interpolated             |<- 0 and 1 ->|                      large pixels 2 to 5, between two centres
 *
 * Grid: x counts pixels of dst (texels in images), y rows, z planes. Order: interpolation along x, then along y. */
#ifndef LANES
#define LANES 1
#endif
#include "planes.h"

/* Stores the minimum of sign * src over each block of factor x factor pixels. Ignores NaN, which is never smaller, and
 * infinities; a block without finite values becomes infinite. Without fmin(), which is slow (ball.cl). */
__kernel void min_of_blocks(PLANES_IN(src), PLANES_OUT(dst), int factor, float sign)
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int right = min((x + 1) * factor, src_at.width), bottom = min((y + 1) * factor, src_at.height);
    vec smallest = INFINITY;
    for (int j = y * factor; j < bottom; j++)
        for (int i = x * factor; i < right; i++) {
            const vec v = sign * load(PLANES_ARG(src), i, j, z);
            smallest = ((v < smallest) & (v > -INFINITY)) ? v : smallest;
        }
    store(PLANES_ARG(dst), x, y, z, smallest);
}

/* Linear interpolation between two of n small pixels. Beyond the outermost centres it extrapolates. */
struct interpolation {
    int first, second;
    float weight; /* of the first; the second has 1 - weight */
};

/* Returns the interpolation for pixel i of the large picture, with 1 << shift large pixels per small one. */
static inline struct interpolation find_interpolation(int i, int n, int shift)
{
    const int first = max(0, min((i - (1 << shift) / 2) >> shift, n - 2));
    const float distance = (i + 0.5f) * (1.0f / (1 << shift)) - (first + 0.5f); /* from the first's centre, in small pixels */
    return n > 1 ? (struct interpolation){first, first + 1, 1 - distance} : (struct interpolation){0, 0, 1};
}

/* Returns weight * a + (1 - weight) * b. The surface is infinite below blocks that no ball limits, as they and their
 * surroundings are NaN: then returns the other value. */
static inline vec blend(vec a, vec b, float weight)
{
    const vec first = a < INFINITY ? a : b, second = b < INFINITY ? b : first;
    return mad(weight, first, (1 - weight) * second);
}

/* Subtracts the interpolated surface. Alpha is copied. If the background is light, full scale is added, so that pixels as
 * bright as the background become white. */
__kernel void subtract_background(PLANES_IN(src), PLANES_IN(surface), PLANES_OUT(dst), int shift, float sign, int is_light,
                                  int alpha)
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const struct interpolation across = find_interpolation(x, surface_at.width, shift);
    const struct interpolation down = find_interpolation(y, surface_at.height, shift);
    const vec top = blend(load(PLANES_ARG(surface), across.first, down.first, z),
                          load(PLANES_ARG(surface), across.second, down.first, z), across.weight);
    const vec bottom = blend(load(PLANES_ARG(surface), across.first, down.second, z),
                             load(PLANES_ARG(surface), across.second, down.second, z), across.weight);
    const vec v = load(PLANES_ARG(src), x, y, z);
    vec value = mad(-sign, blend(top, bottom, down.weight), v);
    if (is_light)
        value += full_scale(PLANES_ARG(src), v, x, y, alpha);
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}
