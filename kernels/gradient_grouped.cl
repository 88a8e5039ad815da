/* Magnitude of the derivative-of-Gaussian gradient (filter_grouped.h): the Gaussian along y of what its derivative makes
 * of the rows, and the other way round. Weights: those of the Gaussian, then of its derivative. */
#ifndef LANES
#define LANES 4
#endif
#ifndef OUTPUTS
#define OUTPUTS 4
#endif
#define COLUMN_FILTERS 2
#include "filter_grouped.h"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gradient(SOURCE(src), TARGET(dst), WEIGHTS const float *weights_x, const struct span span,
         WEIGHTS const float *weights_y, const struct window along_y, int keep)
{
    __local pixel tiles[COLUMN_FILTERS * TILE];
    const int z = get_global_id(2);
    pixel derived_x[OUTPUTS], derived_y[OUTPUTS];
    filter_tile_columns(tiles, GIVE(src), dst_at, span, weights_y, along_y, z);
    filter_tile_rows(derived_x, tiles, weights_x + SPAN_WEIGHTS(span), span);
    filter_tile_rows(derived_y, tiles + TILE, weights_x, span);
    const struct place place = output_place(dst_at, span);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        const int x = place.x + OUTPUT_X(r), y = place.y + OUTPUT_Y(r);
        if (x >= place.end_x || y >= place.end_y)
            break;
        pixel magnitude = sqrt(derived_x[r] * derived_x[r] + derived_y[r] * derived_y[r]);
        if (keep >= 0)
            magnitude = keep_channel(magnitude, load(GIVE(src), x, y, z), z, dst_at.channels, keep);
        store(GIVE(dst), x, y, z, magnitude);
    }
}
