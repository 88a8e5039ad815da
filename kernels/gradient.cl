/* Magnitude of the derivative-of-Gaussian gradient in two passes: along x both the smoothed and the derived value of each
 * sample (two layers), then along y the derivative of the one and the Gaussian of the other. Weights: those of the
 * Gaussian, then of its derivative. */
#define ROW_FILTERS 2
#include "filter_rows.h"

__kernel void gradient_rows(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct window window)
{
    filter_rows_pass(GIVE(src), GIVE(dst), weights, window, -1, THIS_ITEM);
}

APART void gradient_columns_run(SOURCE(src), TARGET(dst), SOURCE(original), WEIGHTS const float *weights,
                                const struct window window, int keep, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * LANES, z = item_z;
        const int y = item_y * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
        if (x >= dst_at.width || y >= end)
            return;
        pixel along_x[OUTPUTS], along_y[OUTPUTS];
        filter_columns_at(along_y, GIVE(src), weights + window.taps, window, x, y, LAYER(0, z, dst_at.channels));
        filter_columns_at(along_x, GIVE(src), weights, window, x, y, LAYER(1, z, dst_at.channels));
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++) {
            if (y + r >= end)
                break;
            pixel magnitude = sqrt(along_x[r] * along_x[r] + along_y[r] * along_y[r]);
            if (keep >= 0)
                magnitude = keep_channel(magnitude, load(GIVE(original), x, y + r, z), z, dst_at.channels, keep);
            store(GIVE(dst), x, y + r, z, magnitude);
        }
    }
}

__kernel void gradient_columns(SOURCE(src), TARGET(dst), SOURCE(original), WEIGHTS const float *weights,
                               const struct window window, int keep)
{
    gradient_columns_run(GIVE(src), GIVE(dst), GIVE(original), weights, window, keep, THIS_ITEM);
}
