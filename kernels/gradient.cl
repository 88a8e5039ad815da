#include "planes_filter.h"

/* Magnitude of the derivative-of-Gaussian gradient in two passes (planes_filter.h): along x both the smoothed and the
 * derived value of each sample (two layers), then along y both components at once. Weights: TAPS of the Gaussian, then
 * TAPS of its derivative. */
__kernel void gradient_rows(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * ROW_STEP, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    pixel sum[FILTERS * ROW_OUTPUTS];
    filter_row_at(sum, GIVE(src), weights, x, y, z);
#pragma unroll
    for (int i = 0; i < FILTERS * ROW_OUTPUTS; i++)
        if (x + i % ROW_OUTPUTS * LANES < dst_at.width)
            store(GIVE(dst), x + i % ROW_OUTPUTS * LANES, y, LAYER(i / ROW_OUTPUTS, z, dst_at.channels), sum[i]);
}

__kernel void gradient_columns(SOURCE(src), TARGET(dst), SOURCE(original), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2);
    const int y = get_global_id(1) * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
    if (x >= dst_at.width || y >= end)
        return;
    pixel along_x[OUTPUTS], along_y[OUTPUTS];
    filter_columns_at(along_y, GIVE(src), weights, TAPS, x, y, LAYER(0, z, dst_at.channels));
    filter_columns_at(along_x, GIVE(src), weights, 0, x, y, LAYER(1, z, dst_at.channels));
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        if (y + r >= end)
            break;
        const pixel magnitude = sqrt(along_x[r] * along_x[r] + along_y[r] * along_y[r]);
        store(GIVE(dst), x, y + r, z, kept(magnitude, GIVE(original), x, y + r, z));
    }
}
