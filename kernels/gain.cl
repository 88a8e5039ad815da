#include "planes.h"

/* Every channel but alpha (-1: none) times factor; the grid's z runs over all layers. */
__kernel void gain(SOURCE(src), TARGET(dst), float factor, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const pixel v = load(GIVE(src), x, y, z);
    store(GIVE(dst), x, y, z, keep_channel(factor * v, v, z, dst_at.channels, alpha));
}
