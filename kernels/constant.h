/* Finds colours that are constant, for --denoise and --shrink with a given strength: a constant colour has no noise and
 * must not get any from the others.
 *
 * dtcwt_cpu.cl includes this file, as a program more takes 8 ms to load on a CPU; on GPUs constant.cl is the program.
 * Results are counts. */
#pragma once
#include "planes.h"
#include "places.h"
#define COLOUR float
#include "opponent.h"

/* Returns a colour of a pixel. */
static inline float colour_at(PLANES_IN(src), int x, int y, int image, int channel, int channels)
{
#ifdef IMAGES
    const float4 v = load(PLANES_ARG(src), x, y, 0);
    return channel == 0 ? v.x : channel == 1 ? v.y : v.z;
#else
    return src[offset(src_at, x, y, image * channels + channel)];
#endif
}

/* Counts, for red, green and blue of each image, the positions at which three neighbours along x have the same value, up to
 * rounding. There are columns x rows positions, evenly spaced (places.h); only those in rows [range.x, range.y) are looked
 * at. `opponent` (0 or 1): src has opponent colours. Grid: x and y count positions, z images. */
NOINLINE void noise_constant_run(PLANES_IN(src), int columns, int rows, int2 range, int channels, int opponent,
                                 volatile __global uint *counts, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int i = first_item; i < first_item + ITEMS_PER_CALL; i++) {
        const int j = item_y, image = item_z;
        if (i >= columns || j >= rows)
            return;
        const int x = place(i, columns, src_at.width), y = place(j, rows, src_at.height);
        if (y < range.x || y >= range.y)
            return;
        float v[3][3], most = 1.0f; /* [colour][neighbour], largest magnitude */
        for (int k = 0; k < 3; k++) {
            float colours[3];
            for (int c = 0; c < 3; c++)
                colours[c] = colour_at(PLANES_ARG(src), min(x + k, src_at.width - 1), y, image, c, channels);
            if (opponent)
                from_opponent(colours);
            for (int c = 0; c < 3; c++) {
                v[c][k] = colours[c];
                most = fmax(most, fabs(v[c][k]));
            }
        }
        for (int c = 0; c < 3; c++)
            if (fabs(v[c][1] - v[c][0]) <= 1e-6f * most && fabs(v[c][2] - v[c][0]) <= 1e-6f * most)
                atomic_inc(counts + image * 3 + c);
    }
}

__kernel void noise_constant(PLANES_IN(src), int columns, int rows, int2 range, int channels, int opponent,
                             volatile __global uint *counts)
{
    noise_constant_run(PLANES_ARG(src), columns, rows, range, channels, opponent, counts, WORK_ITEM_ARGS);
}
