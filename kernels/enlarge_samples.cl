/* Enlarging on CPU devices, the second pass into a file's samples without alpha, which saves the pass that would pack. */
#include "enlarge_wide.h"
#include "samples.h"

/* `at` says which rows are wanted. The grid's y counts source rows from `first`, those whose phases they have. */
APART void enlarge_columns_pack_run(SOURCE(src), RASTER(sample, raster), const struct geometry at,
                                    WEIGHTS const float *weights, const struct enlargement by, int first, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * LANES, i = item_y + first;
        const int factor = 1 << by.shift, end = at.first_row + at.rows;
        if (x >= at.width || i * factor >= end)
            return;
        pixel window[CHANNELS][WINDOW];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            load_window(window[c], GIVE(src), x, i, c);
#pragma unroll
        for (int later = 0; later < 2; later++)
            for (int p = later * factor / 2; p < (later + 1) * factor / 2; p++) {
                const int y = i * factor + p;
                lanes value[CHANNELS];
#pragma unroll
                for (int c = 0; c < CHANNELS; c++)
                    value[c] = interpolate(window[c] + later * BETWEEN, weights + p * TAPS);
                if (y >= at.first_row && y < end)
                    store_pixels(GIVE_RASTER(raster), x, y, 0, value);
            }
    }
}

__kernel void enlarge_columns_pack(SOURCE(src), RASTER(sample, raster), const struct geometry at,
                                   WEIGHTS const float *weights, const struct enlargement by, int first)
{
    enlarge_columns_pack_run(GIVE(src), GIVE_RASTER(raster), at, weights, by, first, THIS_ITEM);
}
