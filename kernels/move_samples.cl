/* Turns by quarters, flips and crops of samples as a file has them: pixels of any type and number of channels, as bytes. */
#ifndef LANES
#define LANES 1
#endif
#include "raster.h"
#include "units.h"

/* Pixel (x, y) of the output is (xx x + xy y + x, yx x + yy y + y) of the source. */
struct move {
    int xx, xy, x, yx, yy, y;
    int width, first_row, rows; /* of the output */
};

__kernel void move_samples(RASTER_IN(unit, src), RASTER_OUT(unit, dst), int units, const struct move by)
{
    const int left = get_global_id(0) * TILE, right = min(left + TILE, by.width);
    const int top = get_global_id(1) * TILE + by.first_row, bottom = min(top + TILE, by.first_row + by.rows);
    const int z = get_global_id(2);
    const long step = (long)by.xx + (long)by.yx * src_pitch;
    for (int y = top; y < bottom; y++) {
        const int source_x = by.xx * left + by.xy * y + by.x, source_y = by.yx * left + by.yy * y + by.y;
        __global const unit *from = src + PIXEL_NUMBER(src, source_x, source_y, z) * units;
        __global unit *to = dst + PIXEL_NUMBER(dst, left, y, z) * units;
        for (int x = left; x < right; x++, from += step * units, to += units)
            copy_pixel(to, from, units);
    }
}
