/* Resizing on GPUs. */
#ifndef LANES
#define LANES 4
#endif
#include "resize.h"

#define ROWS 8 /* that share the weights which a work-item of the pass along x loads */

#ifdef IMAGES
typedef float4 sample;
#define LOAD(x, y)         load(GIVE(src), x, y, z)
#define STORE(value, x, y) store(GIVE(dst), x, y, z, value)
#else
typedef float sample;
#define LOAD(x, y)         src[offset(src_at, x, y, z)]
#define STORE(value, x, y) dst[offset(dst_at, x, y, z)] = value
#endif

/* Work-items that are neighbours have neighbouring outputs, so the table is turned: element i of all outputs is a row. */
__kernel void resize_rows(SOURCE(src), TARGET(dst), TABLE(table))
{
    const int x = get_global_id(0), y = get_global_id(1) * ROWS + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int first = as_int(table[x]), taps = as_int(table[table_pitch + x]);
    __global const float *weights = table + 2 * (size_t)table_pitch + x;
    sample sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        sum[r] = 0.0f;
    for (int k = 0; k < taps; k++) {
        const float weight = weights[(size_t)k * table_pitch];
        const int at = wrapped(first + k, src_at.width);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            sum[r] = mad(LOAD(at, held_row(src_at, y + r)), weight, sum[r]);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (y + r < dst_at.first_row + dst_at.rows)
            STORE(sum[r], x, y + r);
}
