/* Separable filters on GPUs. Both axes in one kernel, so that pixels go through memory once:
 *
 * A work-item filters OUTPUTS rows of one column, of LANES floats or of one texel, in registers. Its group hands these
 * columns on through local memory and filters them along x. The columns at both ends are margin, which the outputs
 * between them need. */
#pragma once
#include "columns_grouped.h"

/* A window along x, in columns: those before the first output's own, and those that it reaches over beside it. In buffers
 * the weights are those of whole columns, LANES * reach + 1, with zeros for samples outside the window. */
struct span {
    int before, reach;
};

#define SPAN_WEIGHTS(span) ((span).reach * LANES + 1)

/* Columns of outputs that a group has. A work-item's outputs are a run: in images along x, as stores fill whole sectors of
 * a texture only where neighbours in a group lie above each other; in buffers along y. There the columns of the group
 * have a work-item each. Rows that are read together begin in different banks of local memory. */
#ifdef IMAGES
#define ACROSS(span) ((GROUP - (span).reach) / OUTPUTS * OUTPUTS)
#define ROW_PITCH    (GROUP + 1)
#define OUTPUT_X(r)  (r)
#define OUTPUT_Y(r)  0
#else
#define ACROSS(span) (GROUP - (span).reach)
#define ROW_PITCH    GROUP
#define OUTPUT_X(r)  0
#define OUTPUT_Y(r)  (r)
#endif
#define TILE (OUTPUTS * ROW_PITCH) /* pixels of local memory, for each of COLUMN_FILTERS */

/* The group's columns to local memory. The windows of both axes have RUN_TAPS or more, in buffers the one along y. */
INLINE void filter_tile_columns(__local pixel *tile, SOURCE(src), const struct geometry dst_at, const struct span span,
                                WEIGHTS const float *weights, const struct window along_y, int z)
{
    const int id = get_local_id(0), x = ((int)get_group_id(0) * ACROSS(span) - span.before + id) * LANES;
    int row = get_group_id(1) * OUTPUTS + dst_at.first_row + along_y.start;
    pixel sum[COLUMN_FILTERS * OUTPUTS];
#pragma unroll
    for (int i = 0; i < COLUMN_FILTERS * OUTPUTS; i++)
        sum[i] = 0.0f;
    if (holds_window(src_at, x, row, OUTPUTS - 1 + along_y.taps)) {
        ROWS_BEGIN(src, x, row, z);
        FILTER_RUN(COLUMN_FILTERS, sum, weights, along_y.taps, NEXT_ROW(src, x, z))
    } else {
        FILTER_ANY_RUN(COLUMN_FILTERS, sum, weights, along_y.taps, load_beside(GIVE(src), x, row++, z))
    }
#pragma unroll
    for (int i = 0; i < COLUMN_FILTERS * OUTPUTS; i++)
        tile[i * ROW_PITCH + id] = sum[i];
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The work-item's outputs from one filter's columns. */
INLINE void filter_tile_rows(pixel *sum, __local const pixel *tile, WEIGHTS const float *weights,
                             const struct span span)
{
    const int id = get_local_id(0);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = 0.0f;
#ifdef IMAGES
    __local const pixel *next = tile + id % OUTPUTS * ROW_PITCH + id / OUTPUTS * OUTPUTS;
    const int taps = span.reach + 1;
    if (id / OUTPUTS * OUTPUTS < ACROSS(span)) {
        FILTER_RUN(1, sum, weights, taps, *next++)
    }
#else
    if (id >= ACROSS(span))
        return;
#if COLUMN_FILTERS == 1
    /* Each column is read once; the first and the last one, apart, need no zeros beside the weights. */
    const int last = LANES * span.reach;
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        const pixel v = tile[r * ROW_PITCH + id], u = tile[r * ROW_PITCH + id + span.reach];
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
    for (int i = 1; i < span.reach; i++) {
        weights += LANES;
        const float w0 = weights[-3], w1 = weights[-2], w2 = weights[-1], w3 = weights[0];
        const float w4 = weights[1], w5 = weights[2], w6 = weights[3];
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++) {
            const pixel v = tile[r * ROW_PITCH + id + i];
            sum[r] = mad(v.x, (pixel)(w3, w2, w1, w0), sum[r]);
            sum[r] = mad(v.y, (pixel)(w4, w3, w2, w1), sum[r]);
            sum[r] = mad(v.z, (pixel)(w5, w4, w3, w2), sum[r]);
            sum[r] = mad(v.w, (pixel)(w6, w5, w4, w3), sum[r]);
        }
    }
#else
    /* By less text: each filter has all of it, and that takes the compiler longer than it saves the kernel. */
#pragma unroll 1
    for (int i = 0; i < span.reach; i++) {
        const float w0 = weights[4 * i], w1 = weights[4 * i + 1], w2 = weights[4 * i + 2], w3 = weights[4 * i + 3];
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++) {
            const pixel u = tile[r * ROW_PITCH + id + i], v = tile[r * ROW_PITCH + id + i + 1];
            sum[r] = mad(u, w0, sum[r]);
            sum[r] = mad((pixel)(u.yzw, v.x), w1, sum[r]);
            sum[r] = mad((pixel)(u.zw, v.xy), w2, sum[r]);
            sum[r] = mad((pixel)(u.w, v.xyz), w3, sum[r]);
        }
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = mad(tile[r * ROW_PITCH + id + span.reach], weights[4 * span.reach], sum[r]);
#endif
#endif
}

/* Where the work-item's outputs lie: output r at x + OUTPUT_X(r), y + OUTPUT_Y(r), if that is before the ends. */
struct place {
    int x, y, end_x, end_y;
};

static inline struct place output_place(const struct geometry at, const struct span span)
{
    const int id = get_local_id(0), group = get_group_id(0), y = get_group_id(1) * OUTPUTS + at.first_row;
    const int x = group * ACROSS(span) * LANES, end_x = min(at.width, x + ACROSS(span) * LANES);
#ifdef IMAGES
    return (struct place){x + id / OUTPUTS * OUTPUTS, y + id % OUTPUTS, end_x, at.first_row + at.rows};
#else
    return (struct place){x + id * LANES, y, end_x, at.first_row + at.rows};
#endif
}
