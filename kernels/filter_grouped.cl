/* Filters along both axes on GPUs, in buffers. It is a product (product.h) with the same weights for every output: that
 * of 19 taps takes a GPU 1.46 times as long by product_grouped.cl (docs/performance.md).
 *
 * A work-item filters OUTPUTS rows of one column, of four floats, in registers. Its group hands these columns on through
 * local memory and filters them along x. The columns at both ends are margin, which the outputs between them need.
 *
 *   -DGROUP=n    work-items of a group, side by side along x
 *   -DOUTPUTS=n  rows that a group has outputs in
 *   -DFILTERS=n  1; or 2: what is stored is the length of what both give */
#ifndef LANES
#define LANES 4
#endif
#include "edge.h"
#include "product.h"

#ifndef GROUP
#define GROUP 128
#endif
#ifndef OUTPUTS
#define OUTPUTS 8
#endif
#ifndef FILTERS
#define FILTERS 1
#endif
#define TILE (OUTPUTS * GROUP) /* pixels of local memory of each filter */

/* Along y: output i is the sum over k < taps of weights[k] times sample i + start + k. There are OUTPUTS - 1 taps or more. */
struct window {
    int start, taps;
};

/* Along x, in columns: those before the first output's own, and those that a window reaches over beside it. The weights are
 * those of whole columns, LANES * reach + 1, with zeros for samples outside the window. */
struct span {
    int before, reach;
};

/* The pixel at x and row y, which may lie beside the image, wholly or in part. */
static inline pixel load_beside(SOURCE(s), int x, int y, int z)
{
    return outside(y, s_at.height) ? (pixel)(0.0f) : load_four(GIVE(s), x, held_row(s_at, edge(y, s_at.height)), z);
}

/* Outputs [begin, end) of each filter += row j of their window: output r meets it with weight j - r. */
INLINE void add_row(pixel *sum, pixel v, WEIGHTS const float *weights, int taps, int j, int begin, int end)
{
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (r >= begin && r < end)
                sum[f * OUTPUTS + r] = mad(v, weights[f * taps + j - r], sum[f * OUTPUTS + r]);
}

/* The work-item's columns. Inside the image rows in the middle serve all outputs, the first and the last ones a part. The
 * weights are uniform and those of neighbours in the loop overlap, so it is unrolled a little. */
INLINE void filter_columns(pixel *sum, SOURCE(src), WEIGHTS const float *weights, const struct window along_y, int x,
                           int y, int z)
{
    const int first = y + along_y.start, taps = along_y.taps, rows = OUTPUTS - 1 + taps;
#pragma unroll
    for (int i = 0; i < FILTERS * OUTPUTS; i++)
        sum[i] = 0.0f;
    if (x < 0 || x + LANES > src_at.width || first < src_at.first_row || first + rows > src_at.first_row + src_at.rows) {
#pragma unroll 1
        for (int j = 0; j < rows; j++)
            add_row(sum, load_beside(GIVE(src), x, first + j, z), weights, taps, j, j - taps + 1, j + 1);
        return;
    }
    __global const float *row = src + offset(src_at, x, first, z);
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

/* The work-item's outputs from one filter's columns, of which `tile` begins with the first that they need. Each column is
 * read once; the first and the last one, apart, need no zeros beside the weights. */
INLINE void filter_rows(pixel *sum, __local const pixel *tile, WEIGHTS const float *weights, int reach)
{
    const int last = LANES * reach;
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        const pixel v = tile[r * GROUP], u = tile[r * GROUP + reach];
        sum[r] = v * weights[0];
        sum[r].xyz = mad(v.yzw, weights[1], sum[r].xyz);
        sum[r].xy = mad(v.zw, weights[2], sum[r].xy);
        sum[r].x = mad(v.w, weights[3], sum[r].x);
        sum[r] = mad(u, weights[last], sum[r]);
        sum[r].yzw = mad(u.xyz, weights[last - 1], sum[r].yzw);
        sum[r].zw = mad(u.xy, weights[last - 2], sum[r].zw);
        sum[r].w = mad(u.x, weights[last - 3], sum[r].w);
    }
#pragma unroll 1
    for (int i = 1; i < reach; i++) {
        weights += LANES;
        const float w0 = weights[-3], w1 = weights[-2], w2 = weights[-1], w3 = weights[0];
        const float w4 = weights[1], w5 = weights[2], w6 = weights[3];
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++) {
            const pixel v = tile[r * GROUP + i];
            sum[r] = mad(v.x, (pixel)(w3, w2, w1, w0), sum[r]);
            sum[r] = mad(v.y, (pixel)(w4, w3, w2, w1), sum[r]);
            sum[r] = mad(v.z, (pixel)(w5, w4, w3, w2), sum[r]);
            sum[r] = mad(v.w, (pixel)(w6, w5, w4, w3), sum[r]);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
filter_both(SOURCE(src), TARGET(dst), WEIGHTS const float *weights_x, const struct span span,
            WEIGHTS const float *weights_y, const struct window along_y, const struct finish finish)
{
    __local pixel tile[FILTERS * TILE];
    const int item = get_local_id(0), across = GROUP - span.reach, z = get_global_id(2);
    const int x = ((int)get_group_id(0) * across + item) * LANES;
    const int y = get_group_id(1) * OUTPUTS + dst_at.first_row;
    pixel column[FILTERS * OUTPUTS], sum[FILTERS * OUTPUTS];
    filter_columns(column, GIVE(src), weights_y, along_y, x - span.before * LANES, y, z);
#pragma unroll
    for (int i = 0; i < FILTERS * OUTPUTS; i++)
        tile[i * GROUP + item] = column[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= across || x >= dst_at.width)
        return;
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
        filter_rows(sum + f * OUTPUTS, tile + f * TILE + item, weights_x + f * (LANES * span.reach + 1), span.reach);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        if (y + r >= dst_at.first_row + dst_at.rows)
            break;
#if FILTERS == 2
        sum[r] = sqrt(sum[r] * sum[r] + sum[OUTPUTS + r] * sum[OUTPUTS + r]);
#endif
        if (finish.how != COPY || finish.keep >= 0)
            sum[r] = finished(finish, sum[r], load(GIVE(src), x, y + r, z), z, dst_at.channels);
        store(GIVE(dst), x, y + r, z, sum[r]);
    }
}
