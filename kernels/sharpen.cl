/* Unsharp mask in two passes: a blur's pass along x, then its pass along y and what both took away times amount, where it
 * is at least threshold, or NaN: that spreads, as in a blur. */
#include "filter_rows.h"

__kernel void sharpen_rows(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct window along_x)
{
    filter_rows_pass(GIVE(src), GIVE(dst), weights, along_x, -1, THIS_ITEM);
}

/* `rows` is src after sharpen_rows. */
APART void sharpen_columns_run(SOURCE(src), SOURCE(rows), TARGET(dst), WEIGHTS const float *weights,
                               const struct window along_y, float amount, float threshold, int keep, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * LANES, z = item_z;
        const int y = item_y * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
        if (x >= dst_at.width || y >= end)
            return;
        pixel blurred[OUTPUTS];
        filter_columns_at(blurred, GIVE(rows), weights, along_y, x, y, z);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++) {
            if (y + r >= end)
                break;
            const pixel original = load(GIVE(src), x, y + r, z), detail = original - blurred[r];
            const pixel sharp = original + amount * select(detail, (pixel)(0.0f), fabs(detail) < threshold);
            store(GIVE(dst), x, y + r, z, keep_channel(sharp, original, z, dst_at.channels, keep));
        }
    }
}

__kernel void sharpen_columns(SOURCE(src), SOURCE(rows), TARGET(dst), WEIGHTS const float *weights,
                              const struct window along_y, float amount, float threshold, int keep)
{
    sharpen_columns_run(GIVE(src), GIVE(rows), GIVE(dst), weights, along_y, amount, threshold, keep, THIS_ITEM);
}
