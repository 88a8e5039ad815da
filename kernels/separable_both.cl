/* Both passes of a separable filter at once (planes_filter.h), for GPUs. */
#include "planes_filter.h"

#ifdef IMAGES
#ifndef GROUP
#define GROUP 128
#endif

/* Both passes at once by a group of GROUP work-items, each texel fetched once but for the halo: every work-item filters
 * a column of the source in registers, the group then the rows that this gives, from local memory.
 *
 *   -DGROUP=n   work-items of a group, at least TAPS
 *
 * Neighbours store texels above each other (see enlarge in scale.cl). With rows an odd number of texels apart, the two
 * rows that eight neighbours read fall into different banks. */
#define ACROSS ((GROUP - TAPS) / STRIDE + 1) /* outputs along x that GROUP columns give */
#define ROWS   ROUND_UP(OUTPUTS, 2)

__kernel void filter_both(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    __local float4 columns[ROWS][GROUP + 1];
    const int id = get_local_id(1) * get_local_size(0) + get_local_id(0), z = get_global_id(2);
    const int x0 = get_group_id(0) * ACROSS, y0 = get_group_id(1) * OUTPUTS + dst_at.first_row;
    const int column = x0 * STRIDE + START + id, end = dst_at.first_row + dst_at.rows;
    pixel sum[OUTPUTS];
    filter_columns_at(sum, GIVE(src), weights, 0, edge(column, src_at.width), y0, z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        columns[r][id] = outside(column, src_at.width) ? (float4)(0.0f) : sum[r];
    barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll
    for (int first = 0; first < ACROSS * ROWS; first += GROUP) {
        const int i = first + id, x = i / 2 % ACROSS, y = i / (2 * ACROSS) * 2 + i % 2;
        if (x0 + x >= dst_at.width || y >= OUTPUTS || y0 + y >= end)
            continue;
        pixel value = 0.0f;
#pragma unroll
        for (int k = 0; k < TAPS; k++)
            value = mad(columns[y][x * STRIDE + k], WEIGHT(weights, k), value);
        store(GIVE(dst), x0 + x, y0 + y, z, value);
    }
}
#else
/* Both passes at once: each row of the window is filtered along x as it comes. That costs WINDOW / OUTPUTS times the
 * arithmetic along x and saves a plane's way to memory and back: it wins for reductions by 2 and loses for blurs. */
__kernel void filter_both(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2);
    const int y = get_global_id(1) * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
    if (x >= dst_at.width || y >= end)
        return;
    const int y0 = y * STRIDE + START;
    pixel sum[OUTPUTS];
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = 0.0f;
#pragma unroll
    for (int j = 0; j < WINDOW; j++) {
        pixel v = 0.0f;
        if (!outside(y0 + j, src_at.height))
            filter_row_at(&v, GIVE(src), weights, x, held_row(src_at, edge(y0 + j, src_at.height)), z);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (TOUCHES(j, r))
                sum[r] = mad(v, WEIGHT(weights, TAP(j, r)), sum[r]);
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (y + r < end)
            store(GIVE(dst), x, y + r, z, sum[r]);
}
#endif
