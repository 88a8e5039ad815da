#include "planes_filter.h"

/* Unsharp mask: the blur's pass along y (planes_filter.h), and what it took away times amount, where it is at least
 * threshold. `rows` is src after the blur's pass along x. */
__kernel void sharpen_columns(SOURCE(src), SOURCE(rows), TARGET(dst), WEIGHTS_ARGUMENT(weights), float amount,
                              float threshold, int keep)
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2);
    const int y = get_global_id(1) * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
    if (x >= dst_at.width || y >= end)
        return;
    pixel blurred[OUTPUTS];
    filter_columns_at(blurred, GIVE(rows), weights, 0, x, y, z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        if (y + r >= end)
            break;
        const pixel original = load(GIVE(src), x, y + r, z), detail = original - blurred[r];
        const pixel sharp = original + amount * select((pixel)(0.0f), detail, fabs(detail) >= threshold);
        store(GIVE(dst), x, y + r, z, keep_channel(sharp, original, z, dst_at.channels, keep));
    }
}
