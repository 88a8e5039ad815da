/* Unsharp mask: what a blur (filter_grouped.h) takes away times amount, where it is at least threshold, or NaN: that
 * spreads, as in a blur. */
#ifndef LANES
#define LANES 4
#endif
#ifndef OUTPUTS
#define OUTPUTS 8
#endif
#include "filter_grouped.h"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sharpen(SOURCE(src), TARGET(dst), WEIGHTS const float *weights_x, const struct span span,
        WEIGHTS const float *weights_y, const struct window along_y, float amount, float threshold, int keep)
{
    __local pixel tile[TILE];
    const int z = get_global_id(2);
    pixel blurred[OUTPUTS];
    filter_tile_columns(tile, GIVE(src), dst_at, span, weights_y, along_y, z);
    filter_tile_rows(blurred, tile, weights_x, span);
    const struct place place = output_place(dst_at, span);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        const int x = place.x + OUTPUT_X(r), y = place.y + OUTPUT_Y(r);
        if (x >= place.end_x || y >= place.end_y)
            break;
        const pixel original = load(GIVE(src), x, y, z), detail = original - blurred[r];
        const pixel sharp = original + amount * select(detail, (pixel)(0.0f), fabs(detail) < threshold);
        store(GIVE(dst), x, y, z, keep_channel(sharp, original, z, dst_at.channels, keep));
    }
}
