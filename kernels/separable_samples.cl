/* A separable filter in two passes, the first one from a file's samples without alpha, the second one into them: on CPU
 * devices, where that saves the passes that would unpack and pack. */
#include "filter.h"
#include "samples.h"

#define SEGMENT  (4 * LANES) /* outputs of a work-item along x: with fewer, more samples are converted twice */
#define MOST     257         /* taps that unpack_filter_rows takes: FILTER_READS_TAPS of filters/separable.h */
#define LONGEST  (SEGMENT + 2 * ROUND_UP(MOST, LANES))

/* One sample, of the channel c, that x stands for by the border rule. */
static inline float load_sample(READ_RASTER(sample, raster), int x, int width, int y, int c)
{
    __global const sample *p = PIXEL_AT(raster, edge(x, width), y, 0) + c;
    return outside(x, width) ? 0.0f : convert_float(*p) * (1.0f / FULL_SCALE);
}

/* line[c][i] = the sample of channel c that x - before + i stands for, from the first to the last one needed; `before` is
 * a multiple of LANES, `reach` what an output needs to its right. A window of single samples costs more to convert than
 * to filter, so neighbours share it. */
static inline void load_line(float line[][LONGEST], READ_RASTER(sample, raster), const struct geometry at, int x, int y,
                             int start, int before, int reach)
{
    const int length = before + SEGMENT + ROUND_UP(max(reach, 0), LANES);
    for (int i = 0; i < length; i += LANES) {
        lanes value[CHANNELS];
        if (x - before + i < 0 || x - before + i >= at.width)
            continue;
        load_pixels(value, GIVE_READ_RASTER(raster), x - before + i, y, 0);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            store_line(value[c], line[c] + i);
    }
    const int end = min(x + SEGMENT, at.width) + reach;
    for (int c = 0; c < CHANNELS; c++) {
        for (int i = x + start; i < 0; i++)
            line[c][i - x + before] = load_sample(GIVE_READ_RASTER(raster), i, at.width, y, c);
        for (int i = at.width; i < end; i++)
            line[c][i - x + before] = load_sample(GIVE_READ_RASTER(raster), i, at.width, y, c);
    }
}

APART void unpack_filter_rows_run(READ_RASTER(sample, raster), TARGET(dst), WEIGHTS const float *weights,
                                  const struct window along_x, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = item * SEGMENT, y = item_y + dst_at.first_row;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const int before = ROUND_UP(-along_x.start, LANES), reach = along_x.start + along_x.taps - 1;
        float line[CHANNELS][LONGEST];
        load_line(line, GIVE_READ_RASTER(raster), dst_at, x, y, along_x.start, before, reach);
        for (int c = 0; c < CHANNELS; c++) {
            const float *first = line[c] + before + along_x.start;
            pixel sum[SEGMENT / LANES];
#pragma unroll
            for (int i = 0; i < SEGMENT / LANES; i++)
                sum[i] = 0.0f;
            for (int k = 0; k < along_x.taps; k++) {
                const float weight = weights[k];
#pragma unroll
                for (int i = 0; i < SEGMENT / LANES; i++)
                    sum[i] = mad(VLOAD(first + k + i * LANES), weight, sum[i]);
            }
#pragma unroll
            for (int i = 0; i < SEGMENT / LANES; i++)
                if (x + i * LANES < dst_at.width)
                    store(GIVE(dst), x + i * LANES, y, c, sum[i]);
        }
    }
}

__kernel void unpack_filter_rows(READ_RASTER(sample, raster), TARGET(dst), WEIGHTS const float *weights,
                                 const struct window along_x)
{
    unpack_filter_rows_run(GIVE_READ_RASTER(raster), GIVE(dst), weights, along_x, THIS_ITEM);
}

#define STRIP 64 /* work-items */

/* `at` says which rows are wanted. The grid's z counts strips of STRIP work-items along x: the windows of all channels
 * over the whole width do not stay in a core's cache (a third slower). */
APART void filter_columns_pack_run(SOURCE(src), RASTER(sample, raster), const struct geometry at,
                                   WEIGHTS const float *weights, const struct window along_y, ITEM)
{
    EACH_ITEM(item)
    {
        const int x = (item + item_z * STRIP) * LANES;
        const int y = item_y * OUTPUTS + at.first_row, end = at.first_row + at.rows;
        if (x >= at.width || y >= end)
            return;
        pixel sum[CHANNELS][OUTPUTS];
#pragma unroll 1 /* else the addresses of all channels' rows take the registers (a fifth slower) */
        for (int c = 0; c < CHANNELS; c++)
            filter_columns_at(sum[c], GIVE(src), weights, along_y, x, y, c);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++) {
            lanes value[CHANNELS];
#pragma unroll
            for (int c = 0; c < CHANNELS; c++)
                value[c] = sum[c][r];
            if (y + r < end)
                store_pixels(GIVE_RASTER(raster), x, y + r, 0, value);
        }
    }
}

__kernel void filter_columns_pack(SOURCE(src), RASTER(sample, raster), const struct geometry at,
                                  WEIGHTS const float *weights, const struct window along_y)
{
    filter_columns_pack_run(GIVE(src), GIVE_RASTER(raster), at, weights, along_y, THIS_ITEM);
}
