/* A two-dimensional correlation with a WIDTH x HEIGHT matrix whose centre is (CENTRE_X, CENTRE_Y):
 *
 *     dst[x, y] = sum over (i, j) of weights[j * WIDTH + i] * src[x + i - CENTRE_X, y + j - CENTRE_Y]
 *
 *   -DOUTPUTS=n  rows that a work-item computes, LANES outputs in each
 *   -DGROUP_X=n, -DGROUP_Y=n  images: work-items of a group
 *   -DSTRIP=n    images: rows of the source that its local memory holds */
#include "edge.h"

#ifndef WIDTH
#define WIDTH 3
#endif
#ifndef HEIGHT
#define HEIGHT 3
#endif
#ifndef CENTRE_X
#define CENTRE_X 1
#endif
#ifndef CENTRE_Y
#define CENTRE_Y 1
#endif
#ifndef OUTPUTS
#define OUTPUTS 1
#endif
#ifndef GROUP_X
#define GROUP_X 16
#endif
#ifndef GROUP_Y
#define GROUP_Y 1
#endif
#ifndef STRIP
#define STRIP 3
#endif

#define WIDEST 40 /* columns of a matrix whose loop is unrolled */

#if LANES == 4
/* Each source row goes through once, in registers, for all output rows that it touches; matrices that are too wide for
 * that go in pieces. The rows are a loop and weights are loads, so one binary serves all matrices of a size; with the
 * weights as constants and all unrolled an H200 is 13% faster at 16x16. */
#define PIECE      (WIDTH <= WIDEST ? WIDTH : 32)
#define TAIL       (WIDTH % PIECE)
#define SKEW       ((-(CENTRE_X)) & 3) /* loads of four floats want a first one that 4 divides */
#define SPAN(taps) ROUND_UP(SKEW + 3 + (taps), 4)

static inline __attribute__((always_inline)) void load_piece(float *window, const int span, SOURCE(src), int x0, int y,
                                                             int z)
{
    if (x0 >= 0 && x0 + span <= src_at.width) {
        __global const float *row = src + offset(src_at, x0, y, z);
#pragma unroll
        for (int i = 0; i < span; i += 4) {
            const float4 v = *(__global const float4 *)(row + i);
            window[i] = v.x, window[i + 1] = v.y, window[i + 2] = v.z, window[i + 3] = v.w;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < span; i++)
        window[i] = load_column(GIVE(src), x0 + i, y, z);
}

/* Columns first ... first + taps - 1 of all the matrix' rows that source row j of the window meets. */
static inline __attribute__((always_inline)) void add_piece(pixel *sum, const int taps, SOURCE(src),
                                                            WEIGHTS_ARGUMENT(weights), int first, int x, int y, int j,
                                                            int z)
{
    float window[SPAN(PIECE)];
    load_piece(window, SPAN(taps), GIVE(src), x + first - (CENTRE_X) - SKEW, y, z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (j - r >= 0 && j - r < HEIGHT)
#pragma unroll
            for (int i = 0; i < taps; i++)
                sum[r] = mad((float4)(window[SKEW + i], window[SKEW + i + 1], window[SKEW + i + 2], window[SKEW + i + 3]),
                             WEIGHT(weights, (j - r) * WIDTH + first + i), sum[r]);
}

static inline __attribute__((always_inline)) void add_row(pixel *sum, SOURCE(src), WEIGHTS_ARGUMENT(weights), int x,
                                                          int y, int j, int z)
{
#pragma unroll 1
    for (int first = 0; first + PIECE <= WIDTH; first += PIECE)
        add_piece(sum, PIECE, GIVE(src), weights, first, x, y, j, z);
#if TAIL
    add_piece(sum, TAIL, GIVE(src), weights, WIDTH - TAIL, x, y, j, z);
#endif
}
#elif LANES == 16
/* Every sample is loaded once and serves all the output rows that source row j of the window meets. */
#define ADD_ROW(sample)                                                                                                \
    for (int i = 0; i < WIDTH; i++) {                                                                                  \
        const pixel v = sample;                                                                                        \
        _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) if (j - r >= 0 && j - r < HEIGHT)                          \
            sum[r] = mad(v, WEIGHT(weights, (j - r) * WIDTH + i), sum[r]);                                             \
    }

static inline __attribute__((always_inline)) void add_row(pixel *sum, SOURCE(src), WEIGHTS_ARGUMENT(weights), int x,
                                                          int y, int j, int z)
{
    const int x0 = x - (CENTRE_X);
    if (x0 >= 0 && x0 + LANES + WIDTH <= src_at.width) {
        ADD_ROW(load(GIVE(src), x0 + i, y, z))
    } else {
        float line[LANES + WIDTH];
        fill_line(line, LANES + WIDTH, GIVE(src), x0, y, z);
        ADD_ROW(VLOAD(line + i))
    }
}
#endif

#ifdef IMAGES
/* A group of GROUP_X x GROUP_Y work-items fetches each texel that it needs once, into local memory, in strips of
 * STRIP rows. With a fetch for every tap and OUTPUTS rows an H200 took 1.84 times as long as in buffers for 16x16, 1.4
 * times so. */
#define STRIP_WIDTH (GROUP_X + WIDTH - 1)
#define SPAN_ROWS   (GROUP_Y * OUTPUTS + HEIGHT - 1) /* of the source, for the group's outputs */

static inline void fetch_strip(__local float4 *strip, SOURCE(src), int x0, int y0, int z)
{
    const int id = get_local_id(1) * GROUP_X + get_local_id(0);
    for (int i = id; i < STRIP_WIDTH * STRIP; i += GROUP_X * GROUP_Y) {
        const int x = x0 + i % STRIP_WIDTH, y = y0 + i / STRIP_WIDTH;
        strip[i] = outside(x, src_at.width) ? (float4)(0.0f) : load_row(GIVE(src), edge(x, src_at.width), y, z);
    }
}

/* Every texel serves all the output rows that source row j of the work-item's window meets. */
static inline __attribute__((always_inline)) void add_row(pixel *sum, __local const float4 *row,
                                                          WEIGHTS_ARGUMENT(weights), int j)
{
#pragma unroll(WIDTH <= WIDEST ? WIDTH : 8)
    for (int i = 0; i < WIDTH; i++) {
        const float4 v = row[i];
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (j - r >= 0 && j - r < HEIGHT)
                sum[r] = mad(v, WEIGHT(weights, (j - r) * WIDTH + i), sum[r]);
    }
}

static inline __attribute__((always_inline)) void add_strip(pixel *sum, __local const float4 *strip,
                                                            WEIGHTS_ARGUMENT(weights), int first)
{
    for (int i = 0; i < STRIP; i++) {
        const int j = first + i - (int)get_local_id(1) * OUTPUTS;
        if (j >= 0 && j < HEIGHT + OUTPUTS - 1)
            add_row(sum, strip + i * STRIP_WIDTH + get_local_id(0), weights, j);
    }
}
#endif

__kernel void convolve(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2);
    const int y = get_global_id(1) * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
    pixel sum[OUTPUTS];
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = 0.0f;
#ifdef IMAGES
    __local float4 strip[STRIP * STRIP_WIDTH];
    const int x0 = get_group_id(0) * GROUP_X - (CENTRE_X);
    const int y0 = get_group_id(1) * GROUP_Y * OUTPUTS + dst_at.first_row - (CENTRE_Y);
    for (int first = 0; first < SPAN_ROWS; first += STRIP) {
        if (first > 0)
            barrier(CLK_LOCAL_MEM_FENCE);
        fetch_strip(strip, GIVE(src), x0, y0 + first, z);
        barrier(CLK_LOCAL_MEM_FENCE);
        add_strip(sum, strip, weights, first);
    }
    if (x >= dst_at.width) /* no work-item leaves before the last fetch */
        return;
#else
    if (x >= dst_at.width || y >= end)
        return;
#pragma unroll 1
    for (int j = 0; j < HEIGHT + OUTPUTS - 1; j++) {
        const int row = y + j - (CENTRE_Y);
        if (!outside(row, src_at.height))
            add_row(sum, GIVE(src), weights, x, held_row(src_at, edge(row, src_at.height)), j, z);
    }
#endif
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (y + r < end)
            store(GIVE(dst), x, y + r, z, kept(sum[r], GIVE(src), x, y + r, z));
}
