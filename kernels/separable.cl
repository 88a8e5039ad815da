/* A separable filter in two passes: on CPU devices, and on others where it reaches too far for separable_grouped.cl. */
#include "filter_rows.h"

__kernel void filter_rows(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct window along_x, int keep)
{
    filter_rows_pass(GIVE(src), GIVE(dst), weights, along_x, keep, THIS_ITEM);
}

APART void filter_columns_run(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct window along_y,
                              int keep, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * LANES, z = item_z;
        const int y = item_y * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
        if (x >= dst_at.width || y >= end)
            return;
        pixel sum[OUTPUTS];
        filter_columns_at(sum, GIVE(src), weights, along_y, x, y, z);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++) {
            if (y + r >= end)
                break;
            if (keep >= 0)
                sum[r] = keep_channel(sum[r], load(GIVE(src), x, y + r, z), z, dst_at.channels, keep);
            store(GIVE(dst), x, y + r, z, sum[r]);
        }
    }
}

__kernel void filter_columns(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct window along_y,
                             int keep)
{
    filter_columns_run(GIVE(src), GIVE(dst), weights, along_y, keep, THIS_ITEM);
}
