#include "planes.h"

/* The negative: 1 - v. With alpha, premultiplied colour c of alpha a becomes a - c; alpha stays. */
__kernel void invert(SOURCE(src), TARGET(dst), int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const pixel v = load(GIVE(src), x, y, z);
    store(GIVE(dst), x, y, z, keep_channel(white(GIVE(src), v, x, y, alpha) - v, v, z, dst_at.channels, alpha));
}
