/* Magnitude of the gradient of a picture on a coarse grid (filters/coarse.h), of which the rows are there, interpolated
 * along x, and their derivatives along x. */
#include "resize_table.h"

__kernel void gradient_coarse(SOURCE(smooth), SOURCE(derived), TARGET(dst), SOURCE(original), TABLE(along_y), TABLE(slope),
                              int keep)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    __global const float *weights = OUTPUT(along_y, y), *slopes = OUTPUT(slope, y);
    const int first = FIRST(weights), taps = TAPS(weights);
    pixel by_x = 0.0f, by_y = 0.0f;
    for (int k = 0; k < taps; k++) {
        const int row = wrapped(first + k, smooth_at.height);
        by_x = mad(load(GIVE(derived), x, row, z), WEIGHT(weights, k), by_x);
        by_y = mad(load(GIVE(smooth), x, row, z), WEIGHT(slopes, k), by_y);
    }
    pixel magnitude = sqrt(by_x * by_x + by_y * by_y);
    if (keep >= 0)
        magnitude = keep_channel(magnitude, load(GIVE(original), x, y, z), z, dst_at.channels, keep);
    store(GIVE(dst), x, y, z, magnitude);
}
