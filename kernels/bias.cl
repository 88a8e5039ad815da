#include "planes.h"

/* Adds a constant to colour. With alpha (channel `alpha`, -1: none) colour is premultiplied, so bias times alpha is
 * added; alpha stays. */
__kernel void add_bias(SOURCE(src), TARGET(dst), float bias, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const pixel v = load(GIVE(src), x, y, z);
    store(GIVE(dst), x, y, z, keep_channel(v + bias * white(GIVE(src), v, x, y, alpha), v, z, dst_at.channels, alpha));
}
