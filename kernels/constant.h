/* Counts the positions at which red, green or blue is constant, for --denoise with a given strength. A constant
 * colour channel has no noise, and opponent colours would mix the noise of the other channels into it. So pictures with such
 * a channel are denoised in red, green and blue.
 *
 * On CPUs the kernel is part of dtcwt_cpu.cl, because loading another program takes 8 ms. On GPUs it is constant.cl. */
#pragma once
#include "planes.h"
#include "sampling_positions.h"
#define CHANNEL float
#include "opponent.h"

/* Counts the positions at which three neighbours along x are equal, up to rounding. counts[3 * image + c] is the number for
 * colour c (0 to 2) of an image of the group. columns x rows positions are evenly spaced (sampling_positions.h); only
 * positions in rows [range.x, range.y) are tested. `opponent` is 1 if src has opponent colours, else 0.
 *
 * Grid: x counts columns, y rows of positions, z images. */
NOINLINE void noise_constant_run(PLANES_IN(src), int columns, int rows, int2 range, int channels, int opponent,
                                 volatile __global uint *counts, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int i = first_item; i < first_item + ITEMS_PER_CALL; i++) {
        const int j = item_y, image = item_z;
        if (i >= columns || j >= rows)
            return;
        const int x = sampling_position(i, columns, src_at.width), y = sampling_position(j, rows, src_at.height);
        if (y < range.x || y >= range.y)
            return;
        float v[3][3];        /* [neighbour][colour] */
        float largest = 1.0f; /* largest magnitude, at least full scale; the tolerance is relative to it */
        for (int k = 0; k < 3; k++) {
            const int neighbour = min(x + k, src_at.width - 1);
            for (int c = 0; c < 3; c++)
#ifdef IMAGES
                v[k][c] = component(load(PLANES_ARG(src), neighbour, y, 0), c);
#else
                v[k][c] = src[offset(src_at, neighbour, y, image * channels + c)];
#endif
            if (opponent)
                from_opponent(v[k]);
            for (int c = 0; c < 3; c++)
                largest = fmax(largest, fabs(v[k][c]));
        }
        for (int c = 0; c < 3; c++)
            if (fabs(v[1][c] - v[0][c]) <= 1e-6f * largest && fabs(v[2][c] - v[0][c]) <= 1e-6f * largest)
                atomic_inc(counts + image * 3 + c);
    }
}

__kernel void noise_constant(PLANES_IN(src), int columns, int rows, int2 range, int channels, int opponent,
                             volatile __global uint *counts)
{
    noise_constant_run(PLANES_ARG(src), columns, rows, range, channels, opponent, counts, WORK_ITEM_ARGS);
}
