/* The same into a file's samples without alpha, which saves the pass that would pack: on CPU devices. */
#include "nearest.h"
#include "samples.h"

/* `at` says which rows are wanted. The grid's y counts source rows from `first`. */
__kernel void enlarge_nearest_pack(SOURCE(src), RASTER(sample, raster), const struct geometry at, int shift, int first)
{
    const int x = get_global_id(0) * LANES, i = get_global_id(1) + first;
    const int begin = max(i << shift, at.first_row), end = min((i + 1) << shift, at.first_row + at.rows);
    if (x >= at.width || begin >= end)
        return;
    lanes value[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        value[c] = repeat_samples(GIVE(src), x, i, c, shift);
    for (int y = begin; y < end; y++)
        store_pixels(GIVE_RASTER(raster), x, y, 0, value);
}
