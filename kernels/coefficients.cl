/* Copies between a raster of complex samples (a page of a coefficient file) and the two layers of a subband.
 *
 *     raster  pixel after pixel, `pitch` pixels a row: re 0, im 0, re 1, im 1, ... of CHANNELS channels
 *     planes  layer 2 * subband has the real parts, layer 2 * subband + 1 the imaginary parts
 *
 *   -DCHANNELS=n  channels of a pixel
 *
 * Grid: x counts pixels, y rows, z channels (in images 1: a texel has all channels). */
#define LANES 1
#include "planes.h"

#ifndef CHANNELS
#define CHANNELS 3
#endif

/* Loads the real (part 0) or imaginary part (part 1) of channel z of a pixel. In images loads all its channels. */
static inline vec load_part(__global const float *p, int z, int part)
{
#ifdef IMAGES
    float channel[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int c = 0; c < CHANNELS; c++)
        channel[c] = p[2 * c + part];
    return (vec)(channel[0], channel[1], channel[2], channel[3]);
#else
    return p[2 * z + part];
#endif
}

/* Stores the real (part 0) or imaginary part (part 1) of channel z of a pixel. In images stores all its channels. */
static inline void store_part(__global float *p, int z, int part, vec v)
{
#ifdef IMAGES
    const float channel[4] = {v.x, v.y, v.z, v.w};
    for (int c = 0; c < CHANNELS; c++)
        p[2 * c + part] = channel[c];
#else
    p[2 * z + part] = v;
#endif
}

/* Copies a raster to the layers of subband number `subband`. */
__kernel void unpack_subband(__global const float *raster, int pitch, PLANES_OUT(subbands), int subband)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= subbands_at.width || y >= subbands_at.height)
        return;
    __global const float *p = raster + ((size_t)y * pitch + x) * 2 * CHANNELS;
    store(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * subband, z, CHANNELS), load_part(p, z, 0));
    store(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * subband + 1, z, CHANNELS), load_part(p, z, 1));
}

/* Copies the layers of subband number `subband` to a raster. */
__kernel void pack_subband(PLANES_IN(subbands), __global float *raster, int pitch, int subband)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= subbands_at.width || y >= subbands_at.height)
        return;
    __global float *p = raster + ((size_t)y * pitch + x) * 2 * CHANNELS;
    store_part(p, z, 0, load(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * subband, z, CHANNELS)));
    store_part(p, z, 1, load(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * subband + 1, z, CHANNELS)));
}
