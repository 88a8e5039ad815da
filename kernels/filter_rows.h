/* Passes along x, one text a class of devices. A work-item has ROW_OUTPUTS pixels of each of ROW_FILTERS filters,
 * sum[f * ROW_OUTPUTS + r] at x + r * LANES: those of a work-item begin ROW_STEP apart. */
#pragma once
#include "filter.h"

#if LANES == 16
#include "filter_rows_wide.h"
#else
#include "filter_rows_grouped.h"
#endif
#define ROW_STEP (LANES * ROW_OUTPUTS)

/* The pass, as a kernel: each filter gives a layer. */
APART void filter_rows_pass(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct window along_x,
                            int keep, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * ROW_STEP, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        pixel sum[ROW_FILTERS * ROW_OUTPUTS];
        filter_row_at(sum, GIVE(src), weights, along_x, x, y, z);
#pragma unroll
        for (int i = 0; i < ROW_FILTERS * ROW_OUTPUTS; i++) {
            const int at = x + i % ROW_OUTPUTS * LANES;
            if (at < dst_at.width) {
                if (keep >= 0)
                    sum[i] = keep_channel(sum[i], load(GIVE(src), at, y, z), z, src_at.channels, keep);
                store(GIVE(dst), at, y, ROW_FILTERS > 1 ? LAYER(i / ROW_OUTPUTS, z, src_at.channels) : z, sum[i]);
            }
        }
    }
}
