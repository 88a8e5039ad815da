/* Reduction on CPU devices: along y first, as the other pass, which gathers with a stride, then has less to do. */
#include "reduce.h"

APART void reduce_columns_run(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct reduction by, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * LANES, z = item_z;
        const int y = item_y * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
        if (x >= dst_at.width || y >= end)
            return;
        const int first = y * by.stride + by.start;
        pixel sum[OUTPUTS];
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            sum[r] = 0.0f;
        if (holds_rows(src_at, first, run_rows(by))) {
#define HELD_ROW(y) load(GIVE(src), x, y, z)
            REDUCE_RUN(HELD_ROW)
        } else {
#define ANY_ROW(y) load_row(GIVE(src), x, y, z)
            REDUCE_ANY_RUN(ANY_ROW)
        }
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (y + r < end)
                store(GIVE(dst), x, y + r, z, sum[r]);
    }
}

__kernel void reduce_columns(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct reduction by)
{
    reduce_columns_run(GIVE(src), GIVE(dst), weights, by, THIS_ITEM);
}

#define ROW_OUTPUTS 4
#define MOST_STRIDE 64
#define PHASE       ((ROW_OUTPUTS + 1) * LANES) /* samples of a phase: those of the outputs, and PHASE_TAPS - 1 more */
#define LINE        (PHASE * MOST_STRIDE)

/* Splits each of `parts` runs of `count` samples in two: the run of remainder p by `parts` becomes those of the remainders
 * p and p + parts by twice that. */
#define SPLIT(to, from, parts, count)                                                                                  \
    for (int p = 0; p < (parts); p++)                                                                                  \
        for (int i = 0; i < (count); i += 2 * LANES) {                                                                 \
            const float16 a = VLOAD((from) + p * (count) + i), b = VLOAD((from) + p * (count) + i + LANES);            \
            store_line((float16)(a.even, b.even), (to) + (p * (count) + i) / 2);                                       \
            store_line((float16)(a.odd, b.odd), (to) + ((p + (parts)) * (count) + i) / 2);                             \
        }

/* The samples are sorted into phases, by their remainder by the stride. In each of them a tap is a step. */
APART void reduce_rows_run(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct reduction by, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * ROW_OUTPUTS * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        float lines[2][LINE];
        int now, parts;
        const int x0 = x * by.stride + by.start, count = PHASE * by.stride;
        if (x0 >= 0 && x0 + count <= src_at.width) {
            __global const float *row = src + offset(src_at, x0, y, z);
            SPLIT(lines[0], row, 1, count)
            now = 0;
            parts = 2;
        } else {
            const int outputs = min(ROW_OUTPUTS * LANES, dst_at.width - x);
            fill_line(lines[1], (outputs - 1) * by.stride + by.taps, GIVE(src), x0, y, z);
            now = 1;
            parts = 1;
        }
        for (; parts < by.stride; parts *= 2, now = 1 - now)
            SPLIT(lines[1 - now], lines[now], parts, count / parts)

        pixel sum[ROW_OUTPUTS];
#pragma unroll
        for (int r = 0; r < ROW_OUTPUTS; r++)
            sum[r] = 0.0f;
        for (int p = 0; p < min(by.stride, by.taps); p++)
            for (int i = 0, k = p; k < by.taps; i++, k += by.stride)
#pragma unroll
                for (int r = 0; r < ROW_OUTPUTS; r++)
                    sum[r] = mad(VLOAD(lines[now] + p * PHASE + i + r * LANES), weights[k], sum[r]);
#pragma unroll
        for (int r = 0; r < ROW_OUTPUTS; r++)
            if (x + r * LANES < dst_at.width)
                store(GIVE(dst), x + r * LANES, y, z, sum[r]);
    }
}

__kernel void reduce_rows(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct reduction by)
{
    reduce_rows_run(GIVE(src), GIVE(dst), weights, by, THIS_ITEM);
}
