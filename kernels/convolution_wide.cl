/* A matrix (matrix.h) on CPU devices: every sample is loaded once for each of its columns, and serves all the output rows
 * that its row meets. */
#include "matrix.h"

#define CHUNK 64 /* columns of the matrix that go through a line at a time */

/* Columns [first, first + count) of row j of a window, which stand in `row` where they are inside the image, else in
 * `line`. */
INLINE void add_columns(pixel *sum, bool inside, __global const float *row, const float *line,
                        WEIGHTS const float *weights, const struct matrix matrix, int j, int first, int count)
{
    for (int i = 0; i < count; i++) {
        const pixel v = inside ? VLOAD(row + i) : VLOAD(line + i);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (meets(matrix, j, r))
                sum[r] = mad(v, row_of(weights, matrix, j, r)[first + i], sum[r]);
    }
}

INLINE void add_row(pixel *sum, SOURCE(src), WEIGHTS const float *weights, const struct matrix matrix, int x, int y,
                    int j, int z)
{
    const int x0 = x + matrix.start_x;
    __global const float *row = src + offset(src_at, x0, y, z);
    float line[LANES + CHUNK];
    if (x0 >= 0 && x0 + LANES + matrix.width <= src_at.width) {
        add_columns(sum, true, row, line, weights, matrix, j, 0, matrix.width);
        return;
    }
    for (int first = 0; first < matrix.width; first += CHUNK) {
        const int count = min(CHUNK, matrix.width - first);
        fill_line(line, LANES + count, GIVE(src), x0 + first, y, z);
        add_columns(sum, false, row, line, weights, matrix, j, first, count);
    }
}

APART void convolve_run(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct matrix matrix, int keep,
                        ITEM)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + RUN; item++) {
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
        store_rows(sum, GIVE(src), GIVE(dst), weights, matrix, x, y, z, keep);
    }
}

__kernel void convolve(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct matrix matrix, int keep)
{
    convolve_run(GIVE(src), GIVE(dst), weights, matrix, keep, THIS_ITEM);
}
