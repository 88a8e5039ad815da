/* Resizing to any size, one axis after the other, by tables (resize_table.h).
 *
 *   COLUMNS  vectors side by side that a work-item of the pass along y has: defined before this is included */
#pragma once
#include "resize_table.h"

#ifndef COLUMNS
#define COLUMNS 1
#endif
#define ROWS_OUT 4

/* Windows of neighbours overlap: a row that is loaded serves all outputs of a work-item. */
APART void resize_columns_run(SOURCE(src), TARGET(dst), TABLE(table), ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * COLUMNS * LANES, y = item_y * ROWS_OUT + dst_at.first_row;
        const int z = item_z, rows = min(ROWS_OUT, dst_at.first_row + dst_at.rows - y);
        if (x >= dst_at.width || rows <= 0)
            return;
        const int last_x = (dst_at.width - 1) / LANES * LANES;
        __global const float *output[ROWS_OUT];
        int first[ROWS_OUT], end[ROWS_OUT];
        pixel sum[ROWS_OUT * COLUMNS];
#pragma unroll
        for (int r = 0; r < ROWS_OUT; r++) {
            output[r] = OUTPUT(table, y + min(r, rows - 1));
            first[r] = FIRST(output[r]);
            end[r] = END(output[r]);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++)
                sum[r * COLUMNS + c] = 0.0f;
        }
        for (int row = first[0]; row < end[ROWS_OUT - 1]; row++) {
            const int held = wrapped(row, src_at.height);
            pixel v[COLUMNS];
#pragma unroll
            for (int c = 0; c < COLUMNS; c++)
                v[c] = load(GIVE(src), min(x + c * LANES, last_x), held, z);
#pragma unroll
            for (int r = 0; r < ROWS_OUT; r++) {
                if (row < first[r] || row >= end[r])
                    continue;
                const float weight = WEIGHT(output[r], row - first[r]);
#pragma unroll
                for (int c = 0; c < COLUMNS; c++)
                    sum[r * COLUMNS + c] = mad(v[c], weight, sum[r * COLUMNS + c]);
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS_OUT * COLUMNS; i++)
            if (i / COLUMNS < rows) /* pixels past the end again, the same */
                store(GIVE(dst), min(x + i % COLUMNS * LANES, last_x), y + i / COLUMNS, z, sum[i]);
    }
}

__kernel void resize_columns(SOURCE(src), TARGET(dst), TABLE(table))
{
    resize_columns_run(GIVE(src), GIVE(dst), GIVE_TABLE(table), THIS_ITEM);
}
