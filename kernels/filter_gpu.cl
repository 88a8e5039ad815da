/* A separable filter on GPUs, in buffers, with the same weights for all outputs inside the image:
 *
 *     dst[x, y] = sum over i of wx[i] * (sum over j of wy[j] * src[x + i, y + j])
 *
 * product_gpu.cl computes it, too, from tables with weights for each output (product.h), but takes 1.46 times as long with 19
 * taps (docs/performance.md). Outputs near the border use these tables here, too. The order of sums is the same, so both
 * kernels give the same bits.
 *
 * A work-item filters OUTPUTS rows of one vec along y in registers, and stores them in local memory. From there the group
 * filters them along x. The columns at both ends are the halo of the outputs between them:
 *
 *     work-items   0 1 2 ...                                        GROUP - 1
 *     columns      |--------------------------------------------------|
 *     outputs      |  before  |  GROUP - reach vecs of outputs  | halo |
 *
 * Grid: x counts the work-items of groups along x, y groups of OUTPUTS rows, z planes.
 *
 *   -DGROUP=n    work-items of a group, along x
 *   -DOUTPUTS=n  output rows of a group; ROWS is a multiple of it
 *   -DFILTERS=n  1: dst is the result of one filter. 2: dst is the length of the vector of the results of two (gradient) */
#include "product_tile.h"

#ifndef OUTPUTS
#define OUTPUTS 8
#endif
#ifndef FILTERS
#define FILTERS 1
#endif
#define TILE (OUTPUTS * GROUP) /* vecs of local memory per filter */

/* The window along y: output row r is the sum over k < taps of weights[k] * row (r + start + k). taps >= OUTPUTS - 1. */
struct window_y {
    int start, taps;
};

/* The window along x of a vec of outputs: reach + 1 vecs (reach >= 1), which begin `before` vecs before the outputs' own.
 * Output lane i is the sum over k <= LANES * reach of weights[k] * sample (i + k) of the window. Weights outside the filter
 * are 0. */
struct window_x {
    int before, reach;
};

/* Adds row j of the window to output rows [begin, end) of each filter; output row r has weight j - r. */
INLINE void add_row(vec *sum, vec v, WEIGHTS const float *weights, int taps, int j, int begin, int end)
{
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (r >= begin && r < end)
                sum[f * OUTPUTS + r] = mad(v, weights[f * taps + j - r], sum[f * OUTPUTS + r]);
}

/* Adds all rows of the window to the outputs, near the border. The table's block at row y has the window and its weights. */
INLINE void add_block(vec *sum, PLANES_IN(src), TABLE(y_table), int wraps, int x, int y, int z)
{
    const struct block rows = y_table[y / ROWS];
    __global const float *weights = weights_of(y_table, rows) + y % ROWS;
#pragma unroll 1
    for (int j = 0; j < rows.count; j++) {
        const vec v = load_window_vec(PLANES_ARG(src), x, wrap_index(rows.first + j, src_at.height), z, wraps);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            sum[r] = mad(v, weights[j * ROWS + r], sum[r]);
    }
}

/* Returns the column to load for column x: the first column of the nearest vec inside the image, unless the axis wraps. Columns
 * outside have weight 0 along x, so their values do not matter (a NaN only causes a recomputation), but filter_columns() needs
 * samples in memory. With add_block() for all columns outside, a blur took 1.16 times as long on an H200. */
INLINE int clamp_column(const struct geometry at, TABLE(x_table), int x)
{
    const int last = (at.width - 1) / LANES * LANES;
    return x >= 0 && x <= last || x_table[0].wraps ? x : clamp(x, 0, last);
}

/* Returns true if filter_columns() can filter the vec at x: it and its windows along y are inside the image and in memory. */
INLINE bool has_whole_windows(const struct geometry at, const struct window_y along_y, int x, int y)
{
    const int first = y + along_y.start, end = first + OUTPUTS - 1 + along_y.taps;
    return x >= 0 && x + LANES <= at.width && first >= at.first_row && end <= at.first_row + at.rows;
}

/* Filters the work-item's columns inside the image. Rows in the middle contribute to all outputs, the first and last
 * ones to some. The middle loop is unrolled by 2, as consecutive iterations share all weights but one. */
INLINE void filter_columns(vec *sum, PLANES_IN(src), WEIGHTS const float *weights, const struct window_y along_y, int x,
                           int y, int z)
{
    const int taps = along_y.taps;
    __global const float *row = src + offset(src_at, x, y + along_y.start, z);
#pragma unroll
    for (int j = 0; j < OUTPUTS - 1; j++, row += src_at.pitch)
        add_row(sum, VLOAD(row), weights, taps, j, 0, j + 1);
#pragma unroll 2
    for (int j = OUTPUTS - 1; j < taps; j++, row += src_at.pitch)
        add_row(sum, VLOAD(row), weights, taps, j, 0, OUTPUTS);
#pragma unroll
    for (int t = 1; t < OUTPUTS; t++, row += src_at.pitch)
        add_row(sum, VLOAD(row), weights, taps, taps - 1 + t, t, OUTPUTS);
}

/* Filters the work-item's outputs inside the image along x, for one filter. `tile` begins with the first vec of their window.
 * Each vec is read once. The first and the last one have code of their own, as their samples do not contribute to all lanes;
 * otherwise the weights would need padding with zeros. */
INLINE void filter_rows(vec *sum, __local const vec *tile, WEIGHTS const float *weights, int reach)
{
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        const vec v = tile[r * GROUP];
        sum[r] = mad(v, weights[0], (vec)(0.0f));
        sum[r].xyz = mad(v.yzw, weights[1], sum[r].xyz);
        sum[r].xy = mad(v.zw, weights[2], sum[r].xy);
        sum[r].x = mad(v.w, weights[3], sum[r].x);
    }
#pragma unroll 1
    for (int i = 1; i < reach; i++) {
        weights += LANES;
        const float w0 = weights[-3], w1 = weights[-2], w2 = weights[-1], w3 = weights[0];
        const float w4 = weights[1], w5 = weights[2], w6 = weights[3];
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++) {
            const vec v = tile[r * GROUP + i];
            sum[r] = mad(v.x, (vec)(w3, w2, w1, w0), sum[r]);
            sum[r] = mad(v.y, (vec)(w4, w3, w2, w1), sum[r]);
            sum[r] = mad(v.z, (vec)(w5, w4, w3, w2), sum[r]);
            sum[r] = mad(v.w, (vec)(w6, w5, w4, w3), sum[r]);
        }
    }
    weights += LANES;
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        const vec v = tile[r * GROUP + reach];
        sum[r].w = mad(v.x, weights[-3], sum[r].w);
        sum[r].zw = mad(v.xy, weights[-2], sum[r].zw);
        sum[r].yzw = mad(v.xyz, weights[-1], sum[r].yzw);
        sum[r] = mad(v, weights[0], sum[r]);
    }
}

/* Adds the work-item's outputs along x near the border to `sum`, with the weights of the filter's table. `tile` begins with the
 * vec at column `first`. */
INLINE void filter_block(vec *sum, __local const vec *tile, TABLE(x_table), int first, int x)
{
    const struct block columns = x_table[x / LANES];
    __global const float *weights = weights_of(x_table, columns);
    __local const float *samples = (__local const float *)tile + columns.first - first;
#pragma unroll 1
    for (int i = 0; i < columns.count; i++) {
        const vec w = ((__global const vec *)weights)[i];
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            sum[r] = mad(w, samples[r * GROUP * LANES + i], sum[r]);
    }
}

/* Recomputes the sums of one filter, without the samples of weight 0. */
INLINE void recompute_rows(vec *sum, PLANES_IN(src), TABLE(x_table), TABLE(y_table), int x, int y, int z)
{
    const struct block rows = y_table[y / ROWS], columns = x_table[x / LANES];
    recompute_sums(sum, OUTPUTS, PLANES_ARG(src), rows, weights_of(y_table, rows) + y % ROWS, columns,
                   weights_of(x_table, columns), z);
}

/* Filters along y, then along x. weights_x and weights_y have the weights of the first filter, then of the second one. The
 * tables x_table2 and y_table2 belong to the second filter, if there is one. The grid's first group along y is group number
 * first_group of the whole image. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
filter_both(PLANES_IN(src), PLANES_OUT(dst), WEIGHTS const float *weights_x, const struct window_x along_x,
            WEIGHTS const float *weights_y, const struct window_y along_y, const struct epilogue epilogue, int first_group,
            TABLE(x_table), TABLE(y_table), TABLE(x_table2), TABLE(y_table2))
{
    __local vec tile[FILTERS * TILE];
    const int item = get_local_id(0), z = get_global_id(2), output_vecs = GROUP - along_x.reach; /* of the group, along x */
    const int x = ((int)get_group_id(0) * output_vecs + item) * LANES, first = x - along_x.before * LANES;
    const int y = ((int)get_group_id(1) + first_group) * OUTPUTS;
    vec column[FILTERS * OUTPUTS] = {0.0f}, sum[FILTERS * OUTPUTS] = {0.0f};
    /* Along y: the work-item's column, with constant weights or, near the border, the tables' weights. */
    const int column_x = clamp_column(src_at, x_table, first);
    if (has_whole_windows(src_at, along_y, column_x, y)) {
        filter_columns(column, PLANES_ARG(src), weights_y, along_y, column_x, y, z);
    } else {
        add_block(column, PLANES_ARG(src), y_table, x_table[0].wraps, first, y, z);
#if FILTERS == 2
        add_block(column + OUTPUTS, PLANES_ARG(src), y_table2, x_table[0].wraps, first, y, z);
#endif
    }
#pragma unroll
    for (int i = 0; i < FILTERS * OUTPUTS; i++)
        tile[i * GROUP + item] = column[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= output_vecs || x >= dst_at.width)
        return;
    /* Along x: from the columns of the group. */
    if (first >= 0 && first + (along_x.reach + 1) * LANES <= src_at.width) {
#pragma unroll
        for (int f = 0; f < FILTERS; f++)
            filter_rows(sum + f * OUTPUTS, tile + f * TILE + item, weights_x + f * (LANES * along_x.reach + 1), along_x.reach);
    } else {
        filter_block(sum, tile + item, x_table, first, x);
#if FILTERS == 2
        filter_block(sum + OUTPUTS, tile + TILE + item, x_table2, first, x);
#endif
    }
#if FILTERS == 2
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = length_of(sum[r], sum[OUTPUTS + r]);
#endif
    /* A weight of 0 times NaN or infinity is NaN: compute such sums again, without samples of weight 0. */
    if (!sums_are_finite(sum, OUTPUTS)) {
        recompute_rows(sum, PLANES_ARG(src), x_table, y_table, x, y, z);
#if FILTERS == 2
        recompute_rows(sum + OUTPUTS, PLANES_ARG(src), x_table2, y_table2, x, y, z);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            sum[r] = length_of(sum[r], sum[OUTPUTS + r]);
#endif
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        if ((uint)(y + r - dst_at.first_row) >= (uint)dst_at.rows)
            continue;
        if (epilogue.op != COPY || epilogue.alpha_channel >= 0)
            sum[r] = apply_epilogue(epilogue, sum[r], load(PLANES_ARG(src), x, y + r, z), z, dst_at.channels);
        store(PLANES_ARG(dst), x, y + r, z, sum[r]);
    }
}
