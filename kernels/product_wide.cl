/* A product (product.h) on CPU devices. A work-item has a strip of blocks along x, one after the other; its tile stays in the
 * first caches.
 *
 *   -DREAD_SAMPLE=n  src is a file's samples (samples.h); the interleaved channels of neighbouring pixels stand in a row of
 *                    the tile as they stand in a row of the file: a weight is multiplied with single samples of it anyway
 *   -DWRITES         dst is a file's samples, or planes where there are none of these
 *
 * With either, a work-item has all channels of its pixels; else the grid's z counts planes. */
#include "product.h"
#ifdef READ_SAMPLE
#define READS
#endif
#if defined(READS) || defined(WRITES)
#include "samples.h"
#define PLANES CHANNELS
#else
#define PLANES 1
#endif

#define STRIP 64  /* blocks along x of a work-item: src/filters/product.c */
#define SPAN  512 /* positions that a tile holds */

/* Of a tile: the distance of neighbours along x, of rows and of channels. Behind the end and before the beginning of its rows
 * there is room for what whole vectors have too much. */
#ifdef READS
#define STEP    CHANNELS
#define ROW     (SPAN * CHANNELS + 2 * LANES)
#define CHANNEL 1
#define TILE    (ROWS * ROW)
#else
#define STEP    1
#define ROW     (SPAN + 2 * LANES)
#define CHANNEL (ROWS * ROW)
#define TILE    (PLANES * CHANNEL)
#endif

#ifdef READS
typedef read_sample element;

/* As unpacking has them, so that a group, which is unpacked, gets the same bits. */
static inline float16 load_elements(__global const element *p)
{
    return convert_float16(vload16(0, p)) * (1.0f / READ_FULL_SCALE);
}
#else
typedef float element;
#define load_elements(p) VLOAD(p)
#endif
#define FROM(name) __global const element *restrict name, const struct geometry name##_at

/* ROWS rows of A * src, of `count` neighbouring elements of src's rows from `begin` on. */
INLINE void multiply_columns(float *tile, FROM(src), const struct block rows, __global const float *weights, int begin, int count,
                             int z)
{
    for (int i = 0; i < count; i += LANES) {
        const int x = min(begin + i, src_at.pitch - LANES); /* memory may end with the row */
        float16 sum[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            sum[r] = 0.0f;
        for (int j = 0; j < rows.count; j++) {
            const float16 v = load_elements(src + offset(src_at, x, wrapped(rows.first + j, src_at.height), z));
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r] = mad(v, weights[j * ROWS + r], sum[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            store_line(sum[r], tile + r * ROW + x - begin);
    }
}

/* The same of positions [begin, end) along x, which may lie beside the image where the axis wraps. */
INLINE void fill_tile(float *tile, FROM(src), const struct block rows, __global const float *weights, int begin, int end, int z)
{
    const int n = src_at.width;
    for (int x = begin; x < end;) {
        const int at = wrapped(x, n), count = min(end - x, n - at);
        multiply_columns(tile + (x - begin) * STEP, GIVE(src), rows, weights, at * STEP, count * STEP, z);
        x += count;
    }
}

/* sum += what `count` samples of the tile give the outputs of a block. */
INLINE void multiply_rows(float16 *sum, const float *tile, __global const float *weights, int count)
{
    for (int j = 0; j < count; j++) {
        const float16 w = ((__global const float16 *)weights)[j];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            sum[r] = mad(w, tile[r * ROW + j * STEP], sum[r]);
    }
}

/* What a work-item works with. */
#ifdef WRITES
#define TO(name)      RASTER(sample, raster), TARGET(name)
#define GIVE_TO(name) GIVE_RASTER(raster), GIVE(name)
#else
#define TO(name)      TARGET(name)
#define GIVE_TO(name) GIVE(name)
#endif

/* The pixels of a block in row y. What is sharpened is src, where that is samples. */
INLINE void store_row(float16 *value, FROM(src), SOURCE(other), TO(dst), const struct finish finish, int x, int y, int z)
{
    if (finish.how != COPY || finish.keep >= 0) {
        float16 others[PLANES];
#ifdef READS
        if (finish.how == SHARPEN)
            load_pixels(others, src + offset(src_at, x * CHANNELS, y, 0));
        else
#endif
            for (int c = 0; c < PLANES; c++)
                others[c] = load(GIVE(other), x, y, z + c);
        for (int c = 0; c < PLANES; c++)
            value[c] = finished(finish, value[c], others[c], z + c, dst_at.channels);
    }
#ifdef WRITES
    if (raster) {
        store_pixels(GIVE_RASTER(raster), x, y, 0, value);
        return;
    }
#endif
    for (int c = 0; c < PLANES; c++)
        store(GIVE(dst), x, y, z + c, value[c]);
}

/* The grid's x counts blocks of rows from `first_block` on, its y strips: neighbours share rows of src. */
APART void product_run(FROM(src), SOURCE(other), TO(dst), TABLE(along_y), TABLE(along_x), int blocks, int first_block,
                       const struct finish finish, ITEM)
{
    float tile[TILE];
    const int block_y = first_item + first_block, begin_x = item_y * STRIP, end_x = min(begin_x + STRIP, blocks);
    const int z = PLANES == 1 ? item_z : 0, begin_y = max(block_y * ROWS, dst_at.first_row);
    const int end_y = min(block_y * ROWS + ROWS, dst_at.first_row + dst_at.rows);
    const struct block rows = along_y[block_y], last = along_x[end_x - 1];
    int held = 0, held_end = 0; /* positions in the tile */
    for (int i = begin_x; i < end_x; i++) {
        const struct block columns = along_x[i];
        __global const float *weights = weights_of(along_x, columns);
        const int end = columns.first + columns.count;
        float16 sum[PLANES][ROWS];
        for (int c = 0; c < PLANES; c++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[c][r] = 0.0f;
        for (int x = columns.first; x < end;) {
            if (x < held || min(end, x + SPAN) > held_end) {
                held = x;
                held_end = min(x + SPAN, last.first + last.count);
                for (int c = 0; c < PLANES / STEP; c++)
                    fill_tile(tile + LANES + c * CHANNEL, GIVE(src), rows, weights_of(along_y, rows), held, held_end, z + c);
            }
            const int count = min(end, held_end) - x;
            for (int c = 0; c < PLANES; c++)
                multiply_rows(sum[c], tile + LANES + c * CHANNEL + (x - held) * STEP, weights + (x - columns.first) * LANES, count);
            x += count;
        }
        for (int y = begin_y; y < end_y; y++) {
            float16 value[PLANES];
            for (int c = 0; c < PLANES; c++)
                value[c] = sum[c][y - block_y * ROWS];
            store_row(value, GIVE(src), GIVE(other), GIVE_TO(dst), finish, i * LANES, y, z);
        }
    }
}

__kernel void product(FROM(src), SOURCE(other), TO(dst), TABLE(along_y), TABLE(along_x), int blocks, int first_block,
                      const struct finish finish)
{
    product_run(GIVE(src), GIVE(other), GIVE_TO(dst), along_y, along_x, blocks, first_block, finish, THIS_ITEM);
}
