/* Rank filter of 8-bit values on CPU devices, in blocks. The source is samples of a file, or planes. A block of planes is
 * skipped unless all its values are multiples of 1/255; rank_tiles_cpu.cl filters the skipped blocks. rank_squares_cpu.cl and
 * rank_discs_cpu.cl include this file and define rank_block().
 *
 * The blocks of all planes are divided among the work-items; each work-item has its own scratch memory. Values are only
 * counted, so all devices give the same bits. */
#pragma once
#define LANES 1
#include "raster.h"
#include "edge.h"

#define MAX_VALUE 255
#define STEP      (1.0f / MAX_VALUE) /* planes of 8-bit samples have multiples of it, exactly: samples.cl multiplies by it */

/* The filter. The output is the value at index `rank` of the window's sorted values. */
struct ranking {
    int radius, rank;
    int column_bytes;  /* bytes of block.scratch per column */
    int width, height; /* outputs of a block */
    int across, down;  /* blocks of a plane */
};

enum { MAX_RADIUS = 127 }; /* RANK_MAX_RADIUS of src/filters/rank.h */

/* Source and destination: planes (src, dst), or, if these are NULL, interleaved samples of `channels` channels (samples,
 * raster). */
#define SRC_PARAMS RASTER_IN(uchar, samples), PLANES_IN(src)
#define SRC_ARGS   RASTER_IN_ARG(samples), PLANES_ARG(src)
#define DST_PARAMS RASTER_OUT(uchar, raster), PLANES_OUT(dst)
#define DST_ARGS   RASTER_OUT_ARG(raster), PLANES_ARG(dst)

/* A block of outputs, and a copy of the values of all their windows. */
struct block {
    int x, y, width, height, z; /* its outputs; z is the plane */
    int radius, rank;
    int columns;             /* width + 2 * radius */
    int pitch;               /* distance of the rows of `values`, at least `columns` */
    __global uchar *values;  /* height + 2 * radius rows; the first value is at (x - radius, y - radius) */
    __global uchar *scratch; /* for rank_block(): column_bytes * pitch bytes, aligned */
};

/* Copies `count` values from column x of a row of the image. Returns false if one is not a multiple of STEP. */
static inline bool copy_values(const struct block *block, SRC_PARAMS, int channels, __global uchar *values, int x, int row,
                               int count)
{
    bool is_8bit = true;
    if (src) {
        __global const float *p = src + offset(src_at, x, row, block->z);
        for (int i = 0; i < count; i++) {
            const int number = p[i] >= 0.0f && p[i] <= 1.0f ? (int)(p[i] * MAX_VALUE + 0.5f) : 0; /* nearest 8-bit value */
            is_8bit &= as_uint(number * STEP) == as_uint(p[i]); /* compares bits, as -0 must stay -0 */
            values[i] = number;
        }
    } else {
        __global const uchar *p = samples + PIXEL_INDEX(samples, x, row, block->z / channels) * channels + block->z % channels;
        for (int i = 0; i < count; i++)
            values[i] = p[i * channels];
    }
    return is_8bit;
}

/* Fills row j of the block's values and applies the border rule. Returns false if a value is not a multiple of STEP. */
static inline bool fill_row(const struct block *block, SRC_PARAMS, int channels, int j)
{
    const int n = src_at.width, x = block->x - block->radius, y = block->y - block->radius + j;
    const int begin = clamp(-x, 0, block->columns), end = clamp(n - x, begin, block->columns); /* inside the image */
    __global uchar *values = block->values + (size_t)j * block->pitch;
    if (beyond_border(y, src_at.height)) {
        for (int i = 0; i < block->columns; i++)
            values[i] = 0;
        return true;
    }
    const int row = clamp_row(src_at, edge(y, src_at.height));
    bool is_8bit = copy_values(block, SRC_ARGS, channels, values + begin, x + begin, row, end - begin);
    /* Values to the left of the image, then values to the right of it. */
    for (int i = 0; i < block->columns; i++) {
        if (i >= begin && i < end)
            continue;
        if (beyond_border(x + i, n))
            values[i] = 0;
        else
            is_8bit &= copy_values(block, SRC_ARGS, channels, values + i, edge(x + i, n), row, 1);
    }
    return is_8bit;
}

/* Stores the output at column i and row j of the block. */
static inline void store_value(const struct block *block, DST_PARAMS, int channels, int i, int j, int value)
{
    const int x = block->x + i, y = block->y + j;
    if (raster)
        raster[PIXEL_INDEX(raster, x, y, block->z / channels) * channels + block->z % channels] = value;
    else
        dst[offset(dst_at, x, y, block->z)] = value * STEP;
}

/* Returns the pitch for rows of `columns` values. */
static inline int block_pitch(int columns);

/* Filters a block. Squares do not use `reach`. */
static inline void rank_block(const struct block *block, DST_PARAMS, int channels, __global const float *reach);

/* Filters blocks `item`, item + items, ... of all planes. Each work-item has `scratch_bytes` of `scratch`. skipped[n] becomes 1
 * if block n has values that are not multiples of STEP, or belongs to channel `alpha_channel` (-1: no alpha); else 0. `skipped`
 * may be NULL for samples of a file. */
NOINLINE void rank_histogram_run(SRC_PARAMS, DST_PARAMS, int channels, __global const float *reach, const struct ranking ranking,
                                 int alpha_channel, __global uchar *scratch, ulong scratch_bytes, __global uint *skipped, int item,
                                 int items)
{
    const int blocks = ranking.across * ranking.down;
    for (int n = item; n < blocks * dst_at.layers * dst_at.channels; n += items) {
        struct block block = {.z = n / blocks, .radius = ranking.radius, .rank = ranking.rank};
        block.x = n % ranking.across * ranking.width;
        block.y = dst_at.first_row + n / ranking.across % ranking.down * ranking.height;
        block.width = min(ranking.width, dst_at.width - block.x);
        block.height = min(ranking.height, dst_at.first_row + dst_at.rows - block.y);
        block.columns = block.width + 2 * ranking.radius;
        block.pitch = block_pitch(block.columns);
        block.scratch = scratch + item * scratch_bytes;
        block.values = block.scratch + ranking.column_bytes * block.pitch;
        bool is_8bit = alpha_channel < 0 || block.z % dst_at.channels != alpha_channel;
        for (int j = 0; is_8bit && j < block.height + 2 * ranking.radius; j++)
            is_8bit = fill_row(&block, SRC_ARGS, channels, j);
        if (skipped)
            skipped[n] = !is_8bit;
        if (is_8bit)
            rank_block(&block, DST_ARGS, channels, reach);
    }
}

__kernel void rank_histogram(SRC_PARAMS, DST_PARAMS, int channels, __global const float *reach, const struct ranking ranking,
                             int alpha_channel, __global uchar *scratch, ulong scratch_bytes, __global uint *skipped)
{
    rank_histogram_run(SRC_ARGS, DST_ARGS, channels, reach, ranking, alpha_channel, scratch, scratch_bytes, skipped,
                       get_global_id(0), get_global_size(0));
}
