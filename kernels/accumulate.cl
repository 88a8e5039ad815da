/* Adds the rows of a part to the sums along y of a product (product.h), for pictures that are read in parts from top to bottom:
 *
 *     dst[o] = before[o] + sum of A[o, j] * src[j] over the rows j of the part
 *
 * `before` is dst of the part above. It is not read for blocks whose window begins in this part. The part with the last row of
 * a block's window completes it: the sums have the bits of A * src in the tile of a product. Values must be finite, as weights
 * of 0 are multiplied, too. The axis must not wrap: a picture with that border rule is read whole.
 *
 * Grid: x counts vecs, y blocks from `first_block` on, z planes. */
#include "product.h"

NOINLINE void accumulate_run(PLANES_IN(src), PLANES_IN(before), PLANES_OUT(dst), TABLE(along_y), const int2 part, int first_block,
                             WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, block = item_y + first_block, z = item_z, o = block * ROWS,
                  outputs = min(ROWS, dst_at.first_row + dst_at.rows - o);
        if (x >= dst_at.width || outputs <= 0)
            return;
        const struct block rows = along_y[block];
        const int begin = max(rows.first, part.x), end = min(rows.first + rows.count, part.y);
        __global const float *weights = weights_of(along_y, rows) + (begin - rows.first) * ROWS;
        vec sum[ROWS] = {0.0f};
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (begin > rows.first && r < outputs)
                sum[r] = load(PLANES_ARG(before), x, o + r, z);
        for (int y = begin; y < end; y++, weights += ROWS) {
            const vec v = load(PLANES_ARG(src), x, y, z);
#if LANES == 16
            /* The next item's vec of this row. Each row is in a page of its own, and the hardware does not prefetch across
             * pages. A prefetch 8 rows ahead, which needs the address of another page, takes twice as long. */
            PREFETCH(src + offset(src_at, x + LANES, y, z));
#endif
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r] = mad(v, weights[r], sum[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (r < outputs)
                store(PLANES_ARG(dst), x, o + r, z, sum[r]);
    }
}

__kernel void accumulate(PLANES_IN(src), PLANES_IN(before), PLANES_OUT(dst), TABLE(along_y), int2 part, int first_block)
{
    accumulate_run(PLANES_ARG(src), PLANES_ARG(before), PLANES_ARG(dst), along_y, part, first_block, WORK_ITEM_ARGS);
}
