/* Resizing to any size, one axis after the other. Output i of an axis is the sum over k < taps of weight k times sample
 * first + k. A table has a row for each output: the bits of two ints, first and taps, then the weights. No window reaches
 * over the border, so that there is no border rule.
 *
 *   COLUMNS  pixels side by side that a work-item of the pass along y has: defined before this is included */
#pragma once
#include "planes.h"

#ifndef COLUMNS
#define COLUMNS 1
#endif

#define TABLE(name)     __global const float *restrict name, const int name##_pitch
#define OUTPUT(name, i) ((name) + (size_t)(i) * name##_pitch)
#define FIRST(output)   as_int((output)[0])
#define TAPS(output)    as_int((output)[1])
#define END(output)     (FIRST(output) + TAPS(output))
#define WEIGHT(output, k) (output)[2 + (k)]

__kernel void resize_columns(SOURCE(src), TARGET(dst), TABLE(table))
{
    const int x = get_global_id(0) * COLUMNS * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    __global const float *output = OUTPUT(table, y);
    const int first = FIRST(output), taps = TAPS(output), last_x = (dst_at.width - 1) / LANES * LANES;
    pixel sum[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
        sum[c] = 0.0f;
    for (int k = 0; k < taps; k++) {
        const float weight = WEIGHT(output, k);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            sum[c] = mad(load(GIVE(src), min(x + c * LANES, last_x), first + k, z), weight, sum[c]);
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
        store(GIVE(dst), min(x + c * LANES, last_x), y, z, sum[c]); /* those past the end again, the same */
}
