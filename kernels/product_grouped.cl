/* A product (product.h) on GPUs, and in images. A group has blocks side by side along x, a work-item of it one. The group's
 * work-items compute the columns of the tile side by side, too, four samples each or a texel; where the tile does not hold all
 * that the blocks need, one part after the other.
 *
 *   -DGROUP=n  work-items of a group */
#ifndef LANES
#define LANES 4
#endif
#include "product.h"

#ifndef GROUP
#define GROUP 128
#endif

/* What stands at x and the positions behind it that belong to its pixel. Behind the last sample no weight is but 0, unless
 * the axis wraps. */
INLINE pixel load_position(SOURCE(src), int x, int y, int z, int wraps)
{
    const int n = src_at.width;
#ifdef IMAGES
    return load(GIVE(src), wrapped(x, n), y, z);
#else
    if (x >= 0 && x + LANES <= n)
        return load(GIVE(src), x, y, z);
    __global const float *row = src + offset(src_at, 0, y, z);
    int at[LANES];
#pragma unroll
    for (int i = 0; i < LANES; i++)
        at[i] = wraps ? (x + i + n) % n : min(x + i, n - 1);
    return (pixel)(row[at[0]], row[at[1]], row[at[2]], row[at[3]]);
#endif
}

/* sum += what the samples of a pixel of the tile give the outputs of a work-item. */
INLINE void multiply_rows(pixel *sum, __local const pixel *tile, __global const float *weights)
{
#ifdef IMAGES
    const float w = weights[0];
#else
    __global const pixel *w = (__global const pixel *)weights;
    const pixel w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
#endif
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const pixel v = tile[r * GROUP];
#ifdef IMAGES
        sum[r] = mad(v, w, sum[r]);
#else
        sum[r] = mad(w3, v.w, mad(w2, v.z, mad(w1, v.y, mad(w0, v.x, sum[r]))));
#endif
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
product(SOURCE(src), SOURCE(other), TARGET(dst), TABLE(along_y), TABLE(along_x), int blocks, int first_block,
        const struct finish finish, int across)
{
    __local pixel tile[ROWS * GROUP];
    const int item = get_local_id(0), block_y = get_group_id(1) + first_block, z = get_global_id(2);
    const int begin_x = get_group_id(0) * across, end_x = min(begin_x + across, blocks);
    const struct block rows = along_y[block_y], first = along_x[begin_x], last = along_x[end_x - 1];
    const struct block columns = along_x[min(begin_x + item, end_x - 1)];
    __global const float *row_weights = weights_of(along_y, rows);
    __global const float *weights = weights_of(along_x, columns);
    const int end = last.first + last.count;
    pixel sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        sum[r] = 0.0f;
    for (int held = first.first; held < end; held += GROUP * LANES) {
        const int x = held + item * LANES;
        if (x < end) {
            pixel column[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                column[r] = 0.0f;
            for (int j = 0; j < rows.count; j++) {
                const int y = wrapped(rows.first + j, src_at.height);
                const pixel v = load_position(GIVE(src), x, y, z, first.wraps);
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    column[r] = mad(v, row_weights[j * ROWS + r], column[r]);
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                tile[r * GROUP + item] = column[r];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int from = max(columns.first, held), to = min(columns.first + columns.count, held + GROUP * LANES);
        for (int i = from; i < to; i += LANES)
            multiply_rows(sum, tile + (i - held) / LANES, weights + (i - columns.first) * LANES);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int x = (begin_x + item) * LANES;
    if (item >= end_x - begin_x)
        return;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int y = block_y * ROWS + r;
        if (y < dst_at.first_row || y >= dst_at.first_row + dst_at.rows)
            continue;
        if (finish.how != COPY || finish.keep >= 0)
            sum[r] = finished(finish, sum[r], load(GIVE(other), x, y, z), z, dst_at.channels);
        store(GIVE(dst), x, y, z, sum[r]);
    }
}
