/* A matrix (matrix.h) on GPUs, in buffers: a source row goes through once, by vectors of four samples, for all output rows
 * that it meets. The matrix' width and start_x are multiples of four: there are zeros beside its weights. */
#ifndef LANES
#define LANES 4
#endif
#include "matrix.h"

INLINE void add_row(pixel *sum, SOURCE(src), WEIGHTS const float *weights, const struct matrix matrix, int x, int y,
                    int j, int z)
{
    const int x0 = x + matrix.start_x;
    const bool inside = x0 >= 0 && x0 + matrix.width + 4 <= src_at.width;
    pixel u = inside ? load(GIVE(src), x0, y, z) : load_pixel(GIVE(src), x0, y, z);
    for (int i = 0; i < matrix.width; i += 4) {
        const pixel v = inside ? load(GIVE(src), x0 + i + 4, y, z) : load_pixel(GIVE(src), x0 + i + 4, y, z);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (meets(matrix, j, r)) {
                const float4 w = *(WEIGHTS const float4 *)(row_of(weights, matrix, j, r) + i);
                sum[r] = mad(u, w.x, sum[r]);
                sum[r] = mad((pixel)(u.yzw, v.x), w.y, sum[r]);
                sum[r] = mad((pixel)(u.zw, v.xy), w.z, sum[r]);
                sum[r] = mad((pixel)(u.w, v.xyz), w.w, sum[r]);
            }
        u = v;
    }
}

__kernel void convolve(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct matrix matrix, int keep)
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2), y = get_global_id(1) * OUTPUTS + dst_at.first_row;
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    pixel sum[OUTPUTS];
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = 0.0f;
#pragma unroll 1
    for (int j = 0; j < matrix.height + OUTPUTS - 1; j++) {
        const int row = y + matrix.start_y + j;
        if (!outside(row, src_at.height))
            add_row(sum, GIVE(src), weights, matrix, x, held_row(src_at, edge(row, src_at.height)), j, z);
    }
    store_rows(sum, GIVE(src), GIVE(dst), weights, matrix, x, y, z, keep);
}
