/* A product (product.h) on CPU devices. A work-item computes ROWS rows of a segment, SEGMENT consecutive blocks along x, block
 * by block. Its tile (17 KiB for one channel, 49 KiB for three) stays in the caches of its core:
 *
 *     one row of the tile   | LANES floats of padding | SPAN positions | LANES floats of padding |
 *
 * A position of the tile is a column of A * src. The padding is for vectors that begin before the first or end after the
 * last position.
 *
 *   -DSAMPLES  for chains that begin or end with a product: the source, the destination or both are a file's samples
 *              (samples.h). Arguments select samples or planes, so one program serves all these chains. A work-item
 *              computes all channels of its pixels, and the grid's z is 1. Without SAMPLES a work-item computes one plane,
 *              z
 *
 * Samples stay interleaved in the tile, as in the file. Splitting the channels would gain nothing, as each sample is
 * multiplied with a vector of weights.
 *
 * Grid: x counts blocks along y, y counts segments. Order of sums: product.h. */
#include "product.h"
#ifdef SAMPLES
#include "samples.h"
#define MAX_PLANES MAX_CHANNELS
#else
#define MAX_PLANES 1
#endif

#define SEGMENT 64  /* blocks along x of a work-item; also in src/filters/product.c */
#define SPAN    512 /* positions in the tile; also in src/filters/product.c */
#define CHUNK   64  /* positions in a step of sum_without_zeros() */

/* Floats of one channel at neighbouring positions, with the padding on both sides. */
#define PADDED(positions) ((positions) + 2 * LANES)
#define TILE_PITCH        (MAX_PLANES * PADDED(SPAN)) /* floats from row to row of the tile */

/* Source and destination. The source is src, or `samples` if src is NULL. If both are given, `samples` is only the other
 * operand of SHARPEN (store_row). The destination is the raster, or dst if the raster is NULL. These macros use parameters of
 * the function around them: src, samples_at and planes.
 *
 *   IS_INTERLEAVED  the source is samples, and the tile is interleaved like them
 *   STEP            floats of the tile from one position to the next
 *   ROW_ELEMENTS    elements of a source row in memory: floats of a plane, or samples of all channels */
#ifdef SAMPLES
#define SRC_PARAMS     __global const read_sample *restrict samples, const struct geometry samples_at, PLANES_IN(src)
#define SRC_ARGS       PLANES_ARG(samples), PLANES_ARG(src)
#define DST_PARAMS     RASTER_OUT(sample, raster), PLANES_OUT(dst)
#define DST_ARGS       RASTER_OUT_ARG(raster), PLANES_ARG(dst)
#define IS_INTERLEAVED (src == 0)
#define STEP           (IS_INTERLEAVED ? planes : 1)
#define ROW_ELEMENTS   (IS_INTERLEAVED ? samples_at.pitch : src_at.pitch)
#else
#define SRC_PARAMS     PLANES_IN(src)
#define SRC_ARGS       PLANES_ARG(src)
#define DST_PARAMS     PLANES_OUT(dst)
#define DST_ARGS       PLANES_ARG(dst)
#define IS_INTERLEAVED 0
#define STEP           1
#define ROW_ELEMENTS   src_at.pitch
#endif

/* Loads sixteen neighbouring elements of a row. Converts samples to floats as samples.cl does. That kernel unpacks the images
 * of a group, and a picture must get the same bits in a group and alone. */
INLINE float16 load_elements(SRC_PARAMS, int x, int y, int z)
{
#ifdef SAMPLES
    if (IS_INTERLEAVED)
        return convert_float16(vload16(0, samples + offset(samples_at, x, y, 0))) * (1.0f / READ_FULL_SCALE);
#endif
    return VLOAD(src + offset(src_at, x, y, z));
}

/* Computes ROWS rows of A * src into the tile, at `count` elements of a row from element `begin` on. */
INLINE void multiply_columns(float *tile, SRC_PARAMS, const struct block rows, __global const float *weights, int begin,
                             int count, int z)
{
    for (int i = 0; i < count; i += LANES) {
        const int x = min(begin + i, ROW_ELEMENTS - LANES); /* memory may end with the row */
        float16 sum[ROWS] = {0.0f};
        int y = wrap_index(rows.first, src_at.height);
        for (int j = 0; j < rows.count; j++, y = y + 1 < src_at.height ? y + 1 : 0) {
            const float16 v = load_elements(SRC_ARGS, x, y, z);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r] = mad(v, weights[j * ROWS + r], sum[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            store_sixteen(sum[r], tile + r * TILE_PITCH + x - begin);
    }
}

/* Fills the tile with positions [begin, end) along x, which are outside the image only if the axis wraps. */
INLINE void fill_tile(float *tile, SRC_PARAMS, const struct block rows, __global const float *weights, int begin, int end, int z,
                      int planes)
{
    const int n = src_at.width;
    for (int x = begin; x < end;) {
        const int at = wrap_index(x, n), count = min(end - x, n - at);
        multiply_columns(tile + (x - begin) * STEP, SRC_ARGS, rows, weights, at * STEP, count * STEP, z);
        x += count;
    }
}

/* sum += weights * samples of `count` positions of the tile, for one channel of a block's outputs: sum[r * MAX_PLANES] of row
 * r. With `is_first`, the first part of a window, sums start from 0. Returns the sums' largest bit pattern as an unsigned
 * integer, for may_be_clipped(): negative values, infinities and NaN have larger bit patterns than valid values. A loop over
 * the finished block would load all sums again, 6% of the kernel's time for five taps. */
INLINE uint16 multiply_rows(float16 *sum, const float *tile, __global const float *weights, int count, int step, bool is_first)
{
    float16 part[ROWS];
    uint16 largest = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        part[r] = is_first ? (float16)(0.0f) : sum[r * MAX_PLANES];
    for (int j = 0; j < count; j++) {
        const float16 w = ((__global const float16 *)weights)[j];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            part[r] = mad(w, tile[r * TILE_PITCH + j * step], part[r]);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        largest = max(largest, as_uint16(part[r]));
        sum[r * MAX_PLANES] = part[r];
    }
    return largest;
}

/* Returns row r of a block of outputs, summed without the samples of weight 0, which may be NaN or infinite. Called if the
 * block's sums are not finite. If the source is interleaved, c is the channel and z is 0; otherwise z is the plane and
 * c is 0. Vectorised loops would double the compilation time. */
NOINLINE float16 sum_without_zeros(SRC_PARAMS, const struct block rows, __global const float *row_weights,
                                   const struct block columns, __global const float *weights, int r, int c, int z, int planes)
{
    float line[MAX_PLANES * PADDED(CHUNK)];
    const int end = columns.first + columns.count, n = src_at.width, step = STEP;
    float16 sum = 0.0f;
#pragma unroll 1
    for (int x = columns.first; x < end;) {
        const int at = wrap_index(x, n), count = min(min(CHUNK, end - x), n - at);
#pragma unroll 1
        for (int i = 0; i < count * step; i += LANES) {
            const int first = min(at * step + i, ROW_ELEMENTS - LANES);
            float16 column = 0.0f;
#pragma unroll 1
            for (int j = 0; j < rows.count; j++)
                if (row_weights[j * ROWS + r] != 0.0f)
                    column = mad(load_elements(SRC_ARGS, first, wrap_index(rows.first + j, src_at.height), z),
                                 row_weights[j * ROWS + r], column);
            store_sixteen(column, line + LANES + first - at * step);
        }
#pragma unroll 1
        for (int j = 0; j < count; j++) {
            const float16 w = ((__global const float16 *)weights)[j];
            sum = w != 0.0f ? mad(w, line[LANES + c + j * step], sum) : sum;
        }
        x += count;
        weights += count * LANES;
    }
    return sum;
}

/* Applies the epilogue and stores the pixels of a block in row y. The second operand of SHARPEN is the file's samples if they
 * are given, as src may be a reduced picture; otherwise it is `other`. With `in_range` no value is clipped. */
INLINE void store_row(float16 *value, SRC_PARAMS, PLANES_IN(other), DST_PARAMS, const struct epilogue epilogue, int x, int y, int z,
                      int planes, bool in_range)
{
    if (epilogue.op != COPY || epilogue.alpha_channel >= 0) {
        float16 others[MAX_PLANES];
#ifdef SAMPLES
        if (epilogue.op == SHARPEN && samples)
            load_pixels(others, samples + offset(samples_at, x * planes, y, 0), planes);
        else
#endif
            for (int c = 0; c < planes; c++)
                others[c] = load(PLANES_ARG(other), x, y, z + c);
        for (int c = 0; c < planes; c++)
            value[c] = apply_epilogue(epilogue, value[c], others[c], z + c, dst_at.channels);
    }
#ifdef SAMPLES
    if (raster) {
        store_pixels(RASTER_OUT_ARG(raster), x, y, value, planes, in_range);
        return;
    }
#endif
    for (int c = 0; c < planes; c++)
        store(PLANES_ARG(dst), x, y, z + c, value[c]);
}

/* Computes a segment. Consecutive work-items have consecutive blocks along y, from `first_block` on, so that they share rows
 * of src. `channels` is the number of planes that a work-item computes with SAMPLES. A group has one work-item (product.c), so
 * there is no loop over ITEMS_PER_CALL. */
NOINLINE void product_run(SRC_PARAMS, PLANES_IN(other), DST_PARAMS, TABLE(along_y), TABLE(along_x), int blocks, int first_block,
                          const struct epilogue epilogue, int channels, WORK_ITEM_PARAMS)
{
    float tile[ROWS * TILE_PITCH];
    const int planes = MAX_PLANES == 1 ? 1 : channels;
    const int block_y = first_item + first_block, begin_x = item_y * SEGMENT, end_x = min(begin_x + SEGMENT, blocks);
    const int z = MAX_PLANES == 1 ? item_z : 0, begin_y = max(block_y * ROWS, dst_at.first_row);
    const int end_y = min(block_y * ROWS + ROWS, dst_at.first_row + dst_at.rows);
    const int step = STEP, fills = IS_INTERLEAVED ? 1 : planes; /* calls of fill_tile(): all channels together, or one by one */
    const int channel_step = IS_INTERLEAVED ? 1 : PADDED(SPAN); /* floats of the tile from channel to channel */
    const struct block rows = along_y[block_y], last = along_x[end_x - 1];
    __global const float *row_weights = weights_of(along_y, rows);
    int tile_first = 0, tile_end = 0; /* the tile has positions [tile_first, tile_end) */
    for (int i = begin_x; i < end_x; i++) {
        const struct block columns = along_x[i];
        __global const float *weights = weights_of(along_x, columns);
        const int end = columns.first + columns.count;
        float16 sum[ROWS][MAX_PLANES];
        uint16 largest; /* maximum of the bits of all sums */
        /* Adds the window part by part. Fills the tile if the rest of the window, or its next SPAN positions, is not in it. */
        int x = columns.first;
        do {
            if (x < tile_first || min(end, x + SPAN) > tile_end) {
                tile_first = x;
                tile_end = min(x + SPAN, last.first + last.count);
                for (int c = 0; c < fills; c++)
                    fill_tile(tile + LANES + c * PADDED(SPAN), SRC_ARGS, rows, row_weights, tile_first, tile_end, z + c,
                              planes);
            }
            const int count = min(end, tile_end) - x;
            largest = 0; /* only the last part has finished sums */
            for (int c = 0; c < planes; c++)
                largest = max(largest, multiply_rows(sum[0] + c, tile + LANES + c * channel_step + (x - tile_first) * step,
                                                     weights + (x - columns.first) * LANES, count, step,
                                                     x == columns.first));
            x += count;
        } while (x < end);
        /* Usually no sum of a file's samples is negative, clipped, infinite or NaN: one test for all. */
        bool in_range = false;
#ifdef SAMPLES
        if (raster && epilogue.op == COPY)
            in_range = !may_be_clipped(largest);
#endif
        bool all_finite = in_range;
        if (!in_range) {
            float16 check = 0.0f;
            for (int c = 0; c < planes; c++)
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    check += sum[r][c];
            all_finite = is_finite(check.s0); /* a NaN or an infinity in the window reaches all lanes and rows */
        }
        if (!all_finite)
            for (int r = begin_y - block_y * ROWS; r < end_y - block_y * ROWS; r++)
                for (int c = 0; c < planes; c++)
                    sum[r][c] = sum_without_zeros(SRC_ARGS, rows, row_weights, columns, weights, r, IS_INTERLEAVED ? c : 0,
                                                  IS_INTERLEAVED ? 0 : z + c, planes);
        for (int y = begin_y; y < end_y; y++)
            store_row(sum[y - block_y * ROWS], SRC_ARGS, PLANES_ARG(other), DST_ARGS, epilogue, i * LANES, y, z, planes,
                      in_range);
    }
}

__kernel void product(SRC_PARAMS, PLANES_IN(other), DST_PARAMS, TABLE(along_y), TABLE(along_x), int blocks, int first_block,
                      const struct epilogue epilogue, int channels)
{
    product_run(SRC_ARGS, PLANES_ARG(other), DST_ARGS, along_y, along_x, blocks, first_block, epilogue, channels,
                WORK_ITEM_ARGS);
}
