/* A product (product.h) on GPUs, and in images on any device. A group has ROWS rows of `across` neighbouring blocks along x; a
 * work-item has one block. The work-items also compute the tile's columns: four samples each, or one texel.
 *
 *     tile          | c0 | c1 | c2 | ...                 | GROUP vecs, ROWS rows
 *     work-item     | 0    1    2    ...                 | computes column i, then sums over the window of block i
 *
 *   -DGROUP=n  work-items of a group
 *   -DREFILL   the windows of the group's blocks are together wider than the tile, which is filled and used several times.
 *              Not always defined, as sums that are kept while the tile is filled take registers, and fewer groups run at
 *              once (H200, --scale 2: 187 instead of 142 us)
 *
 * Grid: x counts the work-items of groups along x, y blocks along y, z planes. Order of sums: product.h. */
#include "product_tile.h"

/* Stores an output at x and row y, if dst has that row. */
INLINE void store_output(vec sum, PLANES_IN(other), PLANES_OUT(dst), const struct epilogue epilogue, int x, int y, int z)
{
    if (y < dst_at.first_row || y >= dst_at.first_row + dst_at.rows)
        return;
    if (epilogue.op != COPY || epilogue.alpha_channel >= 0)
        sum = apply_epilogue(epilogue, sum, load(PLANES_ARG(other), x, y, z), z, dst_at.channels);
    store(PLANES_ARG(dst), x, y, z, sum);
}

/* Returns true if rows y to y + ROWS - 1 are stored without an epilogue and dst has all of them. Most blocks are stored
 * this way, without a check per row. */
INLINE int stores_all_rows(const struct geometry dst_at, const struct epilogue epilogue, int y)
{
    return epilogue.op == COPY && epilogue.alpha_channel < 0 && y >= dst_at.first_row &&
           y + ROWS <= dst_at.first_row + dst_at.rows;
}

/* Stores the outputs of a group: blocks [begin, begin + across) along x, ROWS rows from row y on. */
#ifdef IMAGES
/* A sector of a texture is two rows high, so neighbouring stores along x would each fill half a sector. The tile
 * transposes the outputs: neighbouring work-items store texels above each other. */
INLINE void store_sums(vec *sum, __local vec *tile, PLANES_IN(other), PLANES_OUT(dst), const struct epilogue epilogue, int begin,
                       int across, int y, int z)
{
    const int item = get_local_id(0), row = item % ROWS, column = item / ROWS;
    const int stride = GROUP / ROWS; /* columns between the texels of a work-item */
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        tile[r * PITCH + item] = sum[r];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        sum[i] = tile[row * PITCH + column + i * stride];
    if (stores_all_rows(dst_at, epilogue, y) && column + (ROWS - 1) * stride < across) {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            store(PLANES_ARG(dst), begin + column + i * stride, y + row, z, sum[i]);
        return;
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        if (column + i * stride < across)
            store_output(sum[i], PLANES_ARG(other), PLANES_ARG(dst), epilogue, begin + column + i * stride, y + row, z);
}
#else
INLINE void store_sums(vec *sum, __local vec *tile, PLANES_IN(other), PLANES_OUT(dst), const struct epilogue epilogue, int begin,
                       int across, int y, int z)
{
    const int item = get_local_id(0), x = (begin + item) * LANES;
    if (item >= across)
        return;
    if (stores_all_rows(dst_at, epilogue, y)) {
        __global float *row = dst + offset(dst_at, x, y, z);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            VSTORE(sum[r], row + r * (size_t)dst_at.pitch);
        return;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        store_output(sum[r], PLANES_ARG(other), PLANES_ARG(dst), epilogue, x, y + r, z);
}
#endif

/* Computes the product and its epilogue, of which `other` is the second operand.
 *
 *     blocks, across   blocks along x, of the whole axis and of a group
 *     first_block      block along y of the grid's first group */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
product(PLANES_IN(src), PLANES_IN(other), PLANES_OUT(dst), TABLE(along_y), TABLE(along_x), int blocks, int first_block,
        const struct epilogue epilogue, int across)
{
    __local vec tile[ROWS * PITCH];
    const int item = get_local_id(0), block_y = get_group_id(1) + first_block, z = get_global_id(2);
    const int begin_x = get_group_id(0) * across, end_x = min(begin_x + across, blocks);
    const struct block rows = along_y[block_y], first = along_x[begin_x], last = along_x[end_x - 1];
    const struct block columns = along_x[min(begin_x + item, end_x - 1)];
    __global const float *row_weights = weights_of(along_y, rows);
    __global const float *weights = weights_of(along_x, columns);
    const int end = last.first + last.count;
    vec sum[ROWS] = {0.0f};
#ifdef REFILL
    for (int tile_first = first.first; tile_first < end; tile_first += GROUP * LANES)
#else
    const int tile_first = first.first;
#endif
    {
        /* Along y: ROWS rows of A * src in column `item` of the tile. */
        const int x = tile_first + item * LANES;
        if (x < end) {
            vec column[ROWS] = {0.0f};
#ifndef IMAGES
            const int inside = x >= 0 && x + LANES <= src_at.width && !rows.wraps; /* a bool is slower (NVIDIA) */
            __global const float *row = src + offset(src_at, x, rows.first, z);
#endif
            for (int j = 0; j < rows.count; j++) {
#ifdef IMAGES
                const vec v = load_window_vec(PLANES_ARG(src), x, wrap_index(rows.first + j, src_at.height), z, first.wraps);
#else
                const int y = wrap_index(rows.first + j, src_at.height);
                const vec v = inside ? VLOAD(row) : load_window_vec(PLANES_ARG(src), x, y, z, first.wraps);
                row += src_at.pitch;
#endif
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    column[r] = mad(v, row_weights[j * ROWS + r], column[r]);
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                tile[r * PITCH + item] = column[r];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        /* Along x: the part of the block's window that is in the tile. */
        const int from = max(columns.first, tile_first), to = min(columns.first + columns.count, tile_first + GROUP * LANES);
        for (int i = from; i < to; i += LANES)
            multiply_rows(sum, tile + (i - tile_first) / LANES, weights + (i - columns.first) * LANES, ROWS);
#if defined(REFILL) || defined(IMAGES)
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    /* A weight of 0 times NaN or infinity is NaN: compute such sums again, without samples of weight 0. */
    if (!sums_are_finite(sum, ROWS))
        recompute_sums(sum, ROWS, PLANES_ARG(src), rows, row_weights, columns, weights, z);
    store_sums(sum, tile, PLANES_ARG(other), PLANES_ARG(dst), epilogue, begin_x, end_x - begin_x, block_y * ROWS, z);
}
