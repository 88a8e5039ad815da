/* 90-degree rotations, flips and crops. Copies the samples of a raster, of any type and number of channels, in units of
 * one access (copy_pixel.h).
 *
 *     dst[x, y] = src[xx x + xy y + x0, yx x + yy y + y0], with xx, xy, yx, yy from -1, 0, 1
 *
 * Grid: a work-item writes a square of TILE x TILE pixels; z counts images. On CPU devices a square of src and of dst
 * fits into the cache, so a transposition does not read a cache line once per pixel. */
#define LANES 1
#include "raster.h"
#include "copy_pixel.h"

struct move {
    int xx, xy, x0, yx, yy, y0; /* of the formula above */
    int width, first_row, rows; /* of dst */
};

__kernel void move_samples(RASTER_IN(unit, src), RASTER_OUT(unit, dst), int units, const struct move move)
{
    const int left = get_global_id(0) * TILE, right = min(left + TILE, move.width);
    const int top = get_global_id(1) * TILE + move.first_row, bottom = min(top + TILE, move.first_row + move.rows);
    const int z = get_global_id(2);
    const long step = (long)move.xx + (long)move.yx * src_pitch;
    for (int y = top; y < bottom; y++) {
        const int source_x = move.xx * left + move.xy * y + move.x0, source_y = move.yx * left + move.yy * y + move.y0;
        __global const unit *from = src + PIXEL_INDEX(src, source_x, source_y, z) * units;
        __global unit *to = dst + PIXEL_INDEX(dst, left, y, z) * units;
        for (int x = left; x < right; x++, from += step * units, to += units)
            copy_pixel(to, from, units);
    }
}
