/* Places a picture on a larger canvas. Copies the samples of a raster, of any type and number of channels, in units of one
 * access (copy_pixel.h).
 *
 *     canvas  +-------------------------+
 *             |  fill, or border rule   |     dst[x, y] = src[x - canvas.x, y - canvas.y] inside the picture,
 *             |     +-----------+       |     else the fill, or the border rule (edge.h)
 *             |     |  picture  |       |
 *             |     +-----------+       |
 *             +-------------------------+
 *
 * Grid: a work-item writes a square of TILE x TILE pixels; z counts images. */
#define LANES 1
#include "edge.h"
#include "raster.h"
#include "copy_pixel.h"

/* Position of the picture on the canvas, and rows [first_row, first_row + rows) of the canvas to write. */
struct canvas {
    int x, y, picture_width, picture_height;
    int width, first_row, rows;
    int uses_border; /* not 0: the border rule continues the picture; 0: `fill` surrounds it */
};

/* Writes pixels [x, end) of a row, which are left or right of the picture. `row` is the picture's row by the border rule;
 * a pixel has `units` units. */
static inline void fill_pixels(__global unit *to, __global const unit *row, __global const unit *fill,
                               const struct canvas canvas, int x, int end, int units)
{
    for (; x < end; x++, to += units)
        copy_pixel(to, canvas.uses_border ? row + (size_t)edge(x - canvas.x, canvas.picture_width) * units : fill, units);
}

/* Writes the work-item's square, row by row: pixels before, in and after the picture. */
__kernel void extend_samples(RASTER_IN(unit, src), RASTER_OUT(unit, dst), int units, const struct canvas canvas,
                             __global const unit *fill)
{
    const int left = get_global_id(0) * TILE, right = min(left + TILE, canvas.width);
    const int top = get_global_id(1) * TILE + canvas.first_row, bottom = min(top + TILE, canvas.first_row + canvas.rows);
    const int z = get_global_id(2);
    for (int y = top; y < bottom; y++) {
        const int source = y - canvas.y;
        const bool beyond = source < 0 || source >= canvas.picture_height, is_fill = beyond && !canvas.uses_border;
        const int begin = is_fill ? right : clamp(canvas.x, left, right);
        const int end = is_fill ? right : clamp(canvas.x + canvas.picture_width, left, right);
        __global const unit *row = src + PIXEL_INDEX(src, 0, edge(source, canvas.picture_height), z) * units;
        __global unit *to = dst + PIXEL_INDEX(dst, 0, y, z) * units;
        fill_pixels(to + (size_t)left * units, row, fill, canvas, left, begin, units);
        for (int x = begin; x < end; x++)
            copy_pixel(to + (size_t)x * units, row + (size_t)(x - canvas.x) * units, units);
        fill_pixels(to + (size_t)end * units, row, fill, canvas, end, right, units);
    }
}
