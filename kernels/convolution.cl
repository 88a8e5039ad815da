/* Two-dimensional correlation with a matrix that is not separable; weights and size are arguments:
 *
 *     dst[x, y] = sum over (j, i) of weights[j][i] * src[x + start_x + i, y + start_y + j]
 *
 * Order of sums: the sum begins with 0; rows of the matrix from top to bottom, each from left to right.
 *
 * A work-item has LANES outputs in each of OUTPUTS rows. It reads a source row once, for all output rows whose window
 * contains it:
 *
 *     source row j of the window      output row r uses it with row j - r of the matrix
 *         0   |-- r = 0 --|
 *         1   |           |-- r = 1 --|                  (matrix of three rows, OUTPUTS 2)
 *         2   |-----------|           |
 *         3               |-----------|
 *
 * Rows are loaded in three ways:
 *
 *     CPU buffers   an unaligned vector of sixteen samples per column of the matrix
 *     GPU buffers   aligned vectors of four samples. The host adds columns of weight 0, so that width and start_x are
 *                   multiples of four
 *     images        a group copies its texels to local memory, in strips of rows. A 16x16 matrix takes an H200 1.4 times
 *                   as long as in buffers; with a fetch per tap it took 1.84 times as long
 *
 * Grid: x counts vecs, y groups of OUTPUTS rows, z planes.
 *
 *   -DOUTPUTS=n               rows of a work-item (src/stages/convolve.c)
 *   -DGROUP_X=n, -DGROUP_Y=n  work-items of a group, in images */
#include "edge.h"

#ifndef OUTPUTS
#define OUTPUTS 4
#endif

struct matrix {
    int start_x, start_y; /* first sample of the window, relative to the output */
    int width, height;
    int has_zeros; /* not 0: some weights are 0. Their samples may be NaN or infinite, which must not affect the sum */
};

/* Returns true if row j of the work-item's window is in the window of output row r. */
static inline bool uses_row(const struct matrix matrix, int j, int r)
{
    return j - r >= 0 && j - r < matrix.height;
}

/* Returns the weights for row j of the window and output row r. */
static inline WEIGHTS const float *weights_row(WEIGHTS const float *weights, const struct matrix matrix, int j, int r)
{
    return weights + (j - r) * matrix.width;
}

/* Returns the outputs at x in row y, summed over the support: the samples whose weight is not 0. It is slow, and called only
 * for windows that contain a NaN or an infinity. */
INLINE vec sum_without_zeros(PLANES_IN(src), WEIGHTS const float *weights, const struct matrix matrix, int x, int y, int z)
{
    vec sum = 0.0f;
#pragma unroll 1
    for (int j = 0; j < matrix.height; j++) {
        const int row = y + matrix.start_y + j, from = clamp_row(src_at, edge(row, src_at.height));
#pragma unroll 1
        for (int i = 0; i < matrix.width && !beyond_border(row, src_at.height); i++) {
            const float w = weights[j * matrix.width + i];
            if (w != 0.0f)
                sum = mad(load_vec_edge_x(PLANES_ARG(src), x + matrix.start_x + i, from, z), w, sum);
        }
    }
    return sum;
}

/* Stores the work-item's outputs, and recomputes them first if a sum is not finite. Channel `alpha_channel` (-1: no alpha) is
 * copied from src. */
INLINE void store_rows(const vec *sum, PLANES_IN(src), PLANES_OUT(dst), WEIGHTS const float *weights, const struct matrix matrix,
                       int x, int y, int z, int alpha_channel)
{
    vec check = 0.0f;
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        check += sum[r];
    const bool recompute = matrix.has_zeros && !are_finite(check);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        if (y + r >= dst_at.first_row + dst_at.rows)
            break;
        vec value = recompute ? sum_without_zeros(PLANES_ARG(src), weights, matrix, x, y + r, z) : sum[r];
        if (alpha_channel >= 0)
            value = select_alpha(value, load(PLANES_ARG(src), x, y + r, z), z, dst_at.channels, alpha_channel);
        store(PLANES_ARG(dst), x, y + r, z, value);
    }
}

#ifdef IMAGES
#ifndef GROUP_X
#define GROUP_X 32
#endif
#ifndef GROUP_Y
#define GROUP_Y 4
#endif

/* Convolves in images. `strip` has room for `strip_rows` rows of GROUP_X + matrix.width - 1 texels. */
__kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1))) void
convolve(PLANES_IN(src), PLANES_OUT(dst), WEIGHTS const float *weights, const struct matrix matrix, int alpha_channel,
         __local vec *strip, int strip_rows)
{
    const int x = get_global_id(0), y = get_global_id(1) * OUTPUTS + dst_at.first_row, z = get_global_id(2);
    const int x0 = get_group_id(0) * GROUP_X + matrix.start_x, width = GROUP_X + matrix.width - 1;
    const int y0 = get_group_id(1) * GROUP_Y * OUTPUTS + dst_at.first_row + matrix.start_y;
    const int rows = GROUP_Y * OUTPUTS + matrix.height - 1; /* source rows of the group */
    vec sum[OUTPUTS] = {0.0f};
    for (int first = 0; first < rows; first += strip_rows) {
        barrier(CLK_LOCAL_MEM_FENCE); /* all work-items have read the previous strip */
        /* All work-items of the group copy strip_rows rows with the border rule. */
        for (int i = get_local_id(1) * GROUP_X + get_local_id(0); i < width * strip_rows; i += GROUP_X * GROUP_Y) {
            const int column = x0 + i % width, row = y0 + first + i / width;
            strip[i] = beyond_border(column, src_at.width)
                           ? (vec)(0.0f)
                           : load_edge_y(PLANES_ARG(src), edge(column, src_at.width), row, z);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int row = 0; row < strip_rows; row++) {
            const int j = first + row - (int)get_local_id(1) * OUTPUTS;
            if (j < 0 || j >= matrix.height + OUTPUTS - 1)
                continue;
#pragma unroll 4
            for (int i = 0; i < matrix.width; i++) {
                const vec v = strip[row * width + get_local_id(0) + i];
#pragma unroll
                for (int r = 0; r < OUTPUTS; r++)
                    if (uses_row(matrix, j, r))
                        sum[r] = mad(v, weights_row(weights, matrix, j, r)[i], sum[r]);
            }
        }
    }
    if (x < dst_at.width) /* work-items beyond the image only copy texels */
        store_rows(sum, PLANES_ARG(src), PLANES_ARG(dst), weights, matrix, x, y, z, alpha_channel);
}
#else
#if LANES == 16
#define CHUNK 64 /* columns of the matrix that add_row() sums at a time at the border */

/* Adds columns [first, first + count) of the matrix, with row j of the window, to the output rows. Samples begin at `row` in
 * src if `inside` (`first` is 0 then), else at `line`, a copy with the border rule. `inside` is a compile-time constant at each
 * call, so the compiler makes two versions. */
INLINE void add_columns(vec *sum, bool inside, __global const float *row, const float *line,
                        WEIGHTS const float *weights, const struct matrix matrix, int j, int first, int count)
{
    for (int i = 0; i < count; i++) {
        const vec v = inside ? VLOAD(row + i) : VLOAD(line + i);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (uses_row(matrix, j, r))
                sum[r] = mad(v, weights_row(weights, matrix, j, r)[first + i], sum[r]);
    }
}

/* Adds row j of the window, which is row y of src, to the output rows. */
INLINE void add_row(vec *sum, PLANES_IN(src), WEIGHTS const float *weights, const struct matrix matrix, int x, int y,
                    int j, int z)
{
    const int x0 = x + matrix.start_x;
    __global const float *row = src + offset(src_at, x0, y, z);
    float line[LANES + CHUNK];
    if (x0 >= 0 && x0 + LANES + matrix.width <= src_at.width) {
        add_columns(sum, true, row, line, weights, matrix, j, 0, matrix.width);
        return;
    }
    for (int first = 0; first < matrix.width; first += CHUNK) {
        const int count = min(CHUNK, matrix.width - first);
        fill_line(line, LANES + count, PLANES_ARG(src), x0 + first, y, z);
        add_columns(sum, false, row, line, weights, matrix, j, first, count);
    }
}
#else
/* Adds row j of the window, which is row y of src, to the output rows. Four columns of the matrix at a time are multiplied with
 * the samples that begin at lanes 0, 1, 2 and 3 of vector u. The last three continue in the next vector, v. */
INLINE void add_row(vec *sum, PLANES_IN(src), WEIGHTS const float *weights, const struct matrix matrix, int x, int y,
                    int j, int z)
{
    const int x0 = x + matrix.start_x;
    const bool inside = x0 >= 0 && x0 + matrix.width + 4 <= src_at.width;
    vec u = inside ? load(PLANES_ARG(src), x0, y, z) : load_vec_edge_x(PLANES_ARG(src), x0, y, z);
    for (int i = 0; i < matrix.width; i += 4) {
        const vec v = inside ? load(PLANES_ARG(src), x0 + i + 4, y, z) : load_vec_edge_x(PLANES_ARG(src), x0 + i + 4, y, z);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (uses_row(matrix, j, r)) {
                const float4 w = *(WEIGHTS const float4 *)(weights_row(weights, matrix, j, r) + i);
                sum[r] = mad(u, w.x, sum[r]);
                sum[r] = mad((vec)(u.yzw, v.x), w.y, sum[r]);
                sum[r] = mad((vec)(u.zw, v.xy), w.z, sum[r]);
                sum[r] = mad((vec)(u.w, v.xyz), w.w, sum[r]);
            }
        u = v;
    }
}
#endif

/* Convolves in buffers: each work-item loads its own source rows. */
NOINLINE void convolve_run(PLANES_IN(src), PLANES_OUT(dst), WEIGHTS const float *weights, const struct matrix matrix,
                           int alpha_channel, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, z = item_z, y = item_y * OUTPUTS + dst_at.first_row;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        vec sum[OUTPUTS] = {0.0f};
#pragma unroll 1
        for (int j = 0; j < matrix.height + OUTPUTS - 1; j++) {
            const int row = y + matrix.start_y + j;
            if (!beyond_border(row, src_at.height))
                add_row(sum, PLANES_ARG(src), weights, matrix, x, clamp_row(src_at, edge(row, src_at.height)), j, z);
        }
        store_rows(sum, PLANES_ARG(src), PLANES_ARG(dst), weights, matrix, x, y, z, alpha_channel);
    }
}

__kernel void convolve(PLANES_IN(src), PLANES_OUT(dst), WEIGHTS const float *weights, const struct matrix matrix,
                       int alpha_channel)
{
    convolve_run(PLANES_ARG(src), PLANES_ARG(dst), weights, matrix, alpha_channel, WORK_ITEM_ARGS);
}
#endif
