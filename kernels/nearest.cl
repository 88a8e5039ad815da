#include "nearest.h"

/* The grid's y counts source rows from `first`. */
__kernel void enlarge_nearest(SOURCE(src), TARGET(dst), int shift, int first)
{
    const int x = get_global_id(0) * LANES, i = get_global_id(1) + first, z = get_global_id(2);
    const int begin = max(i << shift, dst_at.first_row), end = min((i + 1) << shift, dst_at.first_row + dst_at.rows);
    if (x >= dst_at.width || begin >= end)
        return;
    const pixel value = repeat_samples(GIVE(src), x, i, z, shift);
    for (int y = begin; y < end; y++)
        store(GIVE(dst), x, y, z, value);
}
