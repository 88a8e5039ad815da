/* A separable filter (filter_grouped.h). */
#ifndef LANES
#define LANES 4
#endif
#ifndef OUTPUTS
#define OUTPUTS 8
#endif
#include "filter_grouped.h"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
filter_both(SOURCE(src), TARGET(dst), WEIGHTS const float *weights_x, const struct span span,
            WEIGHTS const float *weights_y, const struct window along_y, int keep)
{
    __local pixel tile[TILE];
    const int z = get_global_id(2);
    pixel sum[OUTPUTS];
    filter_tile_columns(tile, GIVE(src), dst_at, span, weights_y, along_y, z);
    filter_tile_rows(sum, tile, weights_x, span);
    const struct place place = output_place(dst_at, span);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        const int x = place.x + OUTPUT_X(r), y = place.y + OUTPUT_Y(r);
        if (x >= place.end_x || y >= place.end_y)
            break;
        if (keep >= 0)
            sum[r] = keep_channel(sum[r], load(GIVE(src), x, y, z), z, dst_at.channels, keep);
        store(GIVE(dst), x, y, z, sum[r]);
    }
}
