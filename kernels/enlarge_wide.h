/* Enlarging (enlarge.h) on CPU devices, in two passes: along x first, as the other pass, which writes the whole result,
 * then stores whole vectors. */
#pragma once
#include "enlarge.h"

#define ROW_OUTPUTS  4           /* runs of LANES outputs that share a matrix, each as far from the next as there are matrices */
#define MOST_WINDOW  (LANES / 2 + TAPS + 1) /* at factor 2 */

#define ENLARGE_RUNS(samples)                                                                                          \
    for (int j = 0; j < by.window; j++) {                                                                              \
        const pixel w = VLOAD(matrix + j * LANES);                                                                     \
        _Pragma("unroll") for (int r = 0; r < ROW_OUTPUTS; r++) sum[r] = mad(samples[j], w, sum[r]);                   \
    }

APART void enlarge_rows_run(SOURCE(src), TARGET(dst), __global const float *restrict matrices,
                            const struct enlargement by, ITEM)
{
    EACH_ITEM(item)
    {
        const int count = max((1 << by.shift) / LANES, 1), id = item; /* count: of matrices */
        const int x = (id / count * ROW_OUTPUTS * count + id % count) * LANES, step = count * LANES;
        const int y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const int x0 = first_sample(by, x), last = first_sample(by, x + (ROW_OUTPUTS - 1) * step);
        __global const float *matrix = matrices + matrix_of(by, x, LANES) * by.window * LANES;
        pixel sum[ROW_OUTPUTS];
#pragma unroll
        for (int r = 0; r < ROW_OUTPUTS; r++)
            sum[r] = 0.0f;
        if (x0 >= 0 && last + by.window <= src_at.width) {
            __global const float *row = src + offset(src_at, 0, y, z);
#define HELD(r) (row + first_sample(by, x + (r) * step))
            ENLARGE_RUNS(HELD(r))
        } else {
            float line[ROW_OUTPUTS][MOST_WINDOW];
            for (int r = 0; r < ROW_OUTPUTS; r++)
                fill_line(line[r], by.window, GIVE(src), first_sample(by, x + r * step), y, z);
            ENLARGE_RUNS(line[r])
        }
#pragma unroll
        for (int r = 0; r < ROW_OUTPUTS; r++)
            if (x + r * step < dst_at.width)
                store(GIVE(dst), x + r * step, y, z, sum[r]);
    }
}

__kernel void enlarge_rows(SOURCE(src), TARGET(dst), __global const float *restrict matrices,
                           const struct enlargement by)
{
    enlarge_rows_run(GIVE(src), GIVE(dst), matrices, by, THIS_ITEM);
}

/* Along y a run is one output: matrices are TAPS weights, and of the window of a source row those of the first half of
 * its phases are the first ones, of the second half the last ones. */
#define BETWEEN    (TAPS % 2 == 0)
#define WINDOW     (TAPS + BETWEEN)

INLINE void load_window(pixel *window, SOURCE(src), int x, int i, int z)
{
#pragma unroll
    for (int k = 0; k < WINDOW; k++)
        window[k] = load_row(GIVE(src), x, i - TAPS / 2 + k, z);
}

INLINE pixel interpolate(const pixel *samples, WEIGHTS const float *weights)
{
    pixel sum = samples[0] * weights[0];
#pragma unroll
    for (int k = 1; k < TAPS; k++)
        sum = mad(samples[k], weights[k], sum);
    return sum;
}
