/* Resizing on CPU devices. Along x samples lie at distances that differ from output to output, and a work-item would gather
 * them one by one: it has LANES rows instead, and turns them so that the rows are side by side in a vector. Then a tap is a
 * load and a weight for all rows, as along y. */
#define COLUMNS 2
#include "resize.h"

#define LINE 256 /* samples that are turned at once, a multiple of LANES: 16 KB, in the first level cache */

/* Four rows of four become four columns: row i of `to` is side by side what element i of a, b, c and d is. */
#define TURN(to, pitch, a, b, c, d)                                                                                    \
    vstore4((float4)((a).x, (b).x, (c).x, (d).x), 0, to);                                                              \
    vstore4((float4)((a).y, (b).y, (c).y, (d).y), 0, (to) + (pitch));                                                  \
    vstore4((float4)((a).z, (b).z, (c).z, (d).z), 0, (to) + 2 * (pitch));                                              \
    vstore4((float4)((a).w, (b).w, (c).w, (d).w), 0, (to) + 3 * (pitch));

/* The same as turn_in beside the image, of an axis that wraps. */
INLINE void turn_in_wrapped(float *line, SOURCE(src), int x, int count, int y, int z)
{
    for (int i = 0; i < count; i++) {
        const int at = clamp(wrapped(x + i, src_at.width), 0, src_at.width - 1);
        for (int r = 0; r < LANES; r++)
            line[i * LANES + r] = src[offset(src_at, at, held_row(src_at, y + r), z)];
    }
}

/* Samples [x, x + count) of rows y, y + 1, ... to line[0..count): both multiples of four. */
INLINE void turn_in(float *line, SOURCE(src), int x, int count, int y, int z)
{
    if (x < 0 || x + count > ROUND_UP(src_at.width, 4)) {
        turn_in_wrapped(line, GIVE(src), x, count, y, z);
        return;
    }
    for (int r = 0; r < LANES; r += 4) {
        __global const float *row[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            row[i] = src + offset(src_at, x, held_row(src_at, y + r + i), z);
        for (int i = 0; i < count; i += 4) {
            const float4 a = vload4(0, row[0] + i), b = vload4(0, row[1] + i);
            const float4 c = vload4(0, row[2] + i), d = vload4(0, row[3] + i);
            TURN(line + i * LANES + r, LANES, a, b, c, d)
        }
    }
}

/* LANES outputs of each row. */
INLINE void turn_out(TARGET(dst), const float *sum, int x, int y, int z)
{
    for (int r = 0; r < LANES; r += 4) {
        float block[4 * LANES];
        for (int i = 0; i < LANES; i += 4) {
            const float4 a = vload4(0, sum + i * LANES + r), b = vload4(0, sum + (i + 1) * LANES + r);
            const float4 c = vload4(0, sum + (i + 2) * LANES + r), d = vload4(0, sum + (i + 3) * LANES + r);
            TURN(block + i, LANES, a, b, c, d)
        }
        for (int i = 0; i < 4 && y + r + i < dst_at.first_row + dst_at.rows; i++)
            store(GIVE(dst), x, y + r + i, z, VLOAD(block + i * LANES));
    }
}

/* The part of an output's sum that samples [begin, begin + LINE) give. */
INLINE pixel add_taps(pixel sum, const float *line, int begin, __global const float *output)
{
    const int first = FIRST(output) - begin, taps = min(TAPS(output), LINE - first);
    for (int k = max(0, -first); k < taps; k++)
        sum = mad(VLOAD(line + (first + k) * LANES), WEIGHT(output, k), sum);
    return sum;
}

/* A work-item has `runs` times LANES outputs in each of LANES rows; one run where the line does not hold the samples of
 * more. */
APART void resize_rows_run(SOURCE(src), TARGET(dst), TABLE(table), int runs, ITEM)
{
    EACH_ITEM(item)
    {
        const int y = item_y * LANES + dst_at.first_row, z = item_z;
        const int x0 = item * runs * LANES, x1 = min(x0 + runs * LANES, dst_at.width);
        if (x0 >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        float line[LINE * LANES], sum[LANES * LANES];
        const int last = END(OUTPUT(table, x1 - 1));
        int held = -LINE; /* the first sample in the line */
        for (int x = x0; x < x1; x += LANES) {
            const int outputs = min(LANES, x1 - x), end = END(OUTPUT(table, x + outputs - 1));
            int next = FIRST(OUTPUT(table, x));
            for (int r = 0; r < LANES; r++)
                store_line((pixel)(0.0f), sum + r * LANES);
            while (next < end) {
                if (next < held || min(next + LINE, end) > held + LINE) {
                    held = next & -LANES;
                    turn_in(line, GIVE(src), held, min(LINE, ROUND_UP(last - held, 4)), y, z);
                }
                for (int r = 0; r < outputs; r++)
                    store_line(add_taps(VLOAD(sum + r * LANES), line, held, OUTPUT(table, x + r)), sum + r * LANES);
                next = held + LINE;
            }
            turn_out(GIVE(dst), sum, x, y, z);
        }
    }
}

__kernel void resize_rows(SOURCE(src), TARGET(dst), TABLE(table), int runs)
{
    resize_rows_run(GIVE(src), GIVE(dst), GIVE_TABLE(table), runs, THIS_ITEM);
}
