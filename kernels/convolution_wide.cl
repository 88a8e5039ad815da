/* A matrix (matrix.h) on CPU devices: every sample is loaded once for each of its columns, and serves all the output rows
 * that its row meets. */
#include "matrix.h"

#define CHUNK 64 /* columns of the matrix that go through a line at a time */

#define ADD_COLUMNS(count, first, sample)                                                                              \
    for (int i = 0; i < (count); i++) {                                                                                \
        const pixel v = sample;                                                                                        \
        _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) if (MEETS(j, r))                                           \
            sum[r] = mad(v, ROW_OF(j, r)[(first) + i], sum[r]);                                                        \
    }

INLINE void add_row(pixel *sum, SOURCE(src), WEIGHTS const float *weights, const struct matrix matrix, int x, int y,
                    int j, int z)
{
    const int x0 = x + matrix.start_x;
    if (x0 >= 0 && x0 + LANES + matrix.width <= src_at.width) {
        __global const float *row = src + offset(src_at, x0, y, z);
        ADD_COLUMNS(matrix.width, 0, VLOAD(row + i))
        return;
    }
    float line[LANES + CHUNK];
    for (int first = 0; first < matrix.width; first += CHUNK) {
        const int count = min(CHUNK, matrix.width - first);
        fill_line(line, LANES + count, GIVE(src), x0 + first, y, z);
        ADD_COLUMNS(count, first, VLOAD(line + i))
    }
}

APART void convolve_run(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct matrix matrix, int keep,
                        ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * LANES, z = item_z, y = item_y * OUTPUTS + dst_at.first_row;
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
        store_rows(sum, GIVE(src), GIVE(dst), x, y, z, keep);
    }
}

__kernel void convolve(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct matrix matrix, int keep)
{
    convolve_run(GIVE(src), GIVE(dst), weights, matrix, keep, THIS_ITEM);
}
