/* Between a file's samples (samples.h) and float planes.
 *
 *   -DOPPONENT_IN   unpack gives opponent colours (opponent.h)
 *   -DOPPONENT_OUT  pack takes them */
#include "samples.h"
#define COLOUR lanes
#include "opponent.h"

__kernel void unpack(READ_RASTER(raster), TARGET(dst), float exponent, float2 range)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    lanes value[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    load_pixels(value, GIVE_READ_RASTER(raster), x, y, z);
#pragma unroll
    for (int c = 0; c < COLOURS; c++) {
#ifdef DIVIDE_FIRST
        value[c] = divide(value[c], value[CHANNELS - 1]);
#endif
#ifdef RANGE
        value[c] = (value[c] - range.x) * range.y;
#endif
#ifdef LINEAR
        value[c] = decode(value[c], exponent);
#endif
#ifdef MULTIPLY
        value[c] *= value[CHANNELS - 1];
#endif
    }
#ifdef OPPONENT_IN
    to_opponent(value);
#endif
#ifdef IMAGES
    store(GIVE(dst), x, y, 0, (pixel)(value[0], value[1], value[2], value[3]));
#else
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        store(GIVE(dst), x, y, z * CHANNELS + c, value[c]);
#endif
}

__kernel void pack(SOURCE(src), RASTER(raster), float exponent, float2 range)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + src_at.first_row, z = get_global_id(2);
    if (x >= src_at.width || y >= src_at.first_row + src_at.rows)
        return;
    lanes value[4];
#ifdef IMAGES
    const pixel texel = load(GIVE(src), x, y, 0);
    value[0] = texel.x, value[1] = texel.y, value[2] = texel.z, value[3] = texel.w;
#else
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        value[c] = load(GIVE(src), x, y, z * CHANNELS + c);
#endif
#ifdef OPPONENT_OUT
    from_opponent(value);
#endif
    store_pixels(GIVE_RASTER(raster), x, y, z, value, exponent, range);
}
