#include "planes_filter.h"

/* The two passes of a separable filter (planes_filter.h). */
__kernel void filter_rows(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * ROW_STEP, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    pixel sum[ROW_OUTPUTS];
    filter_row_at(sum, GIVE(src), weights, x, y, z);
#pragma unroll
    for (int r = 0; r < ROW_OUTPUTS; r++)
        if (x + r * LANES < dst_at.width)
            store(GIVE(dst), x + r * LANES, y, z, kept(sum[r], GIVE(src), x + r * LANES, y, z));
}

__kernel void filter_columns(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2);
    const int y = get_global_id(1) * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
    if (x >= dst_at.width || y >= end)
        return;
    pixel sum[OUTPUTS];
    filter_columns_at(sum, GIVE(src), weights, 0, x, y, z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (y + r < end)
            store(GIVE(dst), x, y + r, z, kept(sum[r], GIVE(src), x, y + r, z));
}

#if LANES == 16 && defined(SAMPLE)
#include "samples.h"

/* The first pass from a file's samples, and the second one into them: built for samples without alpha. */
#define SEGMENT (ROW_OUTPUTS * LANES) /* outputs of a work-item along x: with fewer, more samples are converted twice */
#if STRIDE == 1
#define BEFORE        ROUND_UP(-START, LANES) /* vectors of the line begin at multiples of LANES */
#define REACH         (TAPS + START - 1)      /* samples that an output needs to its right */
#define SEGMENT_LINE  (BEFORE + SEGMENT + ROUND_UP(REACH > 0 ? REACH : 0, LANES))

/* One sample, of the channel c, that x stands for by the border rule. */
static inline float load_sample(READ_RASTER(raster), int x, int width, int y, int c)
{
    __global const sample *p = PIXEL_AT(raster, edge(x, width), y, 0) + c;
    return outside(x, width) ? 0.0f : convert_float(*p) * (1.0f / FULL_SCALE);
}

/* line[c][i] = the sample of channel c that x - BEFORE + i stands for, from the first to the last one needed. A window
 * of single samples costs more to convert than to filter, so neighbours share it. */
static inline void load_line(float line[][SEGMENT_LINE], READ_RASTER(raster), const struct geometry at, int x, int y)
{
    for (int i = 0; i < SEGMENT_LINE; i += LANES) {
        lanes value[CHANNELS];
        if (x - BEFORE + i < 0 || x - BEFORE + i >= at.width)
            continue;
        load_pixels(value, GIVE_RASTER(raster), x - BEFORE + i, y, 0);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            vstore16(value[c], 0, line[c] + i);
    }
    const int end = min(x + SEGMENT, at.width) + REACH;
    for (int c = 0; c < CHANNELS; c++) {
        for (int i = x + START; i < 0; i++)
            line[c][i - x + BEFORE] = load_sample(GIVE_RASTER(raster), i, at.width, y, c);
        for (int i = at.width; i < end; i++)
            line[c][i - x + BEFORE] = load_sample(GIVE_RASTER(raster), i, at.width, y, c);
    }
}

__kernel void unpack_filter_rows(READ_RASTER(raster), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * SEGMENT, y = get_global_id(1) + dst_at.first_row;
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    float line[CHANNELS][SEGMENT_LINE];
    load_line(line, GIVE_RASTER(raster), dst_at, x, y);
    for (int c = 0; c < CHANNELS; c++) {
        pixel sum[SEGMENT / LANES];
#pragma unroll
        for (int i = 0; i < SEGMENT / LANES; i++)
            sum[i] = 0.0f;
        for (int k = 0; k < TAPS; k++) {
            const float weight = WEIGHT(weights, k);
#pragma unroll
            for (int i = 0; i < SEGMENT / LANES; i++)
                sum[i] = mad(vload16(i, line[c] + BEFORE + START + k), weight, sum[i]);
        }
#pragma unroll
        for (int i = 0; i < SEGMENT / LANES; i++)
            if (x + i * LANES < dst_at.width)
                store(GIVE(dst), x + i * LANES, y, c, sum[i]);
    }
}
#endif

#if SAMPLE != 3
#define STRIP 64 /* work-items */

/* `at` says which rows are wanted. The grid's z counts strips of STRIP work-items along x: the windows of all channels
 * over the whole width do not stay in a core's cache (a third slower). */
__kernel void filter_columns_pack(SOURCE(src), RASTER(raster), const struct geometry at, WEIGHTS_ARGUMENT(weights))
{
    const int x = (get_global_id(0) + get_global_id(2) * STRIP) * LANES;
    const int y = get_global_id(1) * OUTPUTS + at.first_row, end = at.first_row + at.rows;
    if (x >= at.width || y >= end)
        return;
    pixel sum[CHANNELS][OUTPUTS];
#pragma unroll 1 /* else the addresses of all channels' rows take the registers (a fifth slower) */
    for (int c = 0; c < CHANNELS; c++)
        filter_columns_at(sum[c], GIVE(src), weights, 0, x, y, c);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        lanes value[CHANNELS];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            value[c] = sum[c][r];
        if (y + r < end)
            store_pixels(GIVE_RASTER(raster), x, y + r, 0, value, 0.0f);
    }
}
#endif
#endif
