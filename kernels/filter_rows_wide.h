/* Along x on CPU devices. A weight that is loaded serves all vectors of a work-item: loads bind this pass, two a tap with
 * one vector. (Vectors that are shifted in registers instead were not faster: PoCL 3.1 permutes where it could align.) */
#pragma once

#define ROW_OUTPUTS 4
#define CHUNK       64 /* taps that go through a line at a time */

#define FILTER_LINE(count, first, sample)                                                                              \
    for (int k = 0; k < (count); k++)                                                                                  \
        _Pragma("unroll") for (int r = 0; r < ROW_OUTPUTS; r++)                                                        \
        {                                                                                                              \
            const pixel v = sample;                                                                                    \
            _Pragma("unroll") for (int f = 0; f < ROW_FILTERS; f++) sum[f * ROW_OUTPUTS + r] =                         \
                mad(v, weights[f * along_x.taps + (first) + k], sum[f * ROW_OUTPUTS + r]);                             \
        }

INLINE void filter_row_at(pixel *sum, SOURCE(src), WEIGHTS const float *weights, const struct window along_x, int x,
                          int y, int z)
{
    const int x0 = x + along_x.start;
#pragma unroll
    for (int i = 0; i < ROW_FILTERS * ROW_OUTPUTS; i++)
        sum[i] = 0.0f;
    if (x0 >= 0 && x0 + ROW_OUTPUTS * LANES + along_x.taps <= src_at.width) {
        __global const float *p = src + offset(src_at, x0, y, z);
        FILTER_LINE(along_x.taps, 0, VLOAD(p + r * LANES + k))
        return;
    }
    float line[ROW_OUTPUTS * LANES + CHUNK];
    for (int first = 0; first < along_x.taps; first += CHUNK) {
        const int count = min(CHUNK, along_x.taps - first);
        fill_line(line, ROW_OUTPUTS * LANES + count, GIVE(src), x0 + first, y, z);
        FILTER_LINE(count, first, VLOAD(line + r * LANES + k))
    }
}
