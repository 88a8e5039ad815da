/* Enlarging on CPU devices: both passes. */
#include "enlarge_wide.h"

/* The grid's y counts source rows from `first`, those whose phases the target holds. */
APART void enlarge_columns_run(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct enlargement by,
                               int first, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * LANES, i = item_y + first, z = item_z;
        const int factor = 1 << by.shift, end = dst_at.first_row + dst_at.rows;
        if (x >= dst_at.width || i * factor >= end)
            return;
        pixel window[WINDOW];
        load_window(window, GIVE(src), x, i, z);
#pragma unroll
        for (int later = 0; later < 2; later++)
            for (int p = later * factor / 2; p < (later + 1) * factor / 2; p++) {
                const int y = i * factor + p;
                if (y >= dst_at.first_row && y < end)
                    store(GIVE(dst), x, y, z, interpolate(window + later * BETWEEN, weights + p * TAPS));
            }
    }
}

__kernel void enlarge_columns(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct enlargement by,
                              int first)
{
    enlarge_columns_run(GIVE(src), GIVE(dst), weights, by, first, THIS_ITEM);
}
