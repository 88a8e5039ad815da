/* The tile of a product (product.h) on GPUs, in local memory. First each work-item of a group computes a column of the tile:
 * sums of source samples along y. Then each computes the outputs of one block (struct block) in ROWS rows: sums of tile
 * samples along x.
 *
 *   -DGROUP=n  work-items of a group */
#pragma once
#ifndef LANES
#define LANES 4
#endif
#include "product.h"

#ifndef GROUP
#define GROUP 128
#endif

/* Loads the vec at x of a window along x. Samples outside the image come from its other end if the axis wraps. Otherwise their
 * weight is 0, and the nearest sample is loaded. */
INLINE vec load_window_vec(PLANES_IN(src), int x, int y, int z, int wraps)
{
    const int n = src_at.width;
#ifdef IMAGES
    return load(PLANES_ARG(src), wrap_index(x, n), y, z);
#else
    if (x >= 0 && x + LANES <= n)
        return load(PLANES_ARG(src), x, y, z);
    __global const float *row = src + offset(src_at, 0, y, z);
    int at[LANES];
#pragma unroll
    for (int i = 0; i < LANES; i++)
        at[i] = wraps ? (x + i + n) % n : clamp(x + i, 0, n - 1);
    return (vec)(row[at[0]], row[at[1]], row[at[2]], row[at[3]]);
#endif
}

/* Vecs from row to row of the tile. With images store_sums reads the tile by columns; one more vec per row avoids bank
 * conflicts. */
#ifdef IMAGES
#define PITCH (GROUP + 1)
#else
#define PITCH GROUP
#endif

/* sum[r] += weights * samples of one vec in row r of the tile, for the work-item's outputs in `rows` rows. */
INLINE void multiply_rows(vec *sum, __local const vec *tile, __global const float *weights, const int rows)
{
#ifdef IMAGES
    const float w = weights[0];
#else
    __global const vec *w = (__global const vec *)weights;
    const vec w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
#endif
#pragma unroll
    for (int r = 0; r < rows; r++) {
        const vec v = tile[r * PITCH];
#ifdef IMAGES
        sum[r] = mad(v, w, sum[r]);
#else
        sum[r] = mad(w3, v.w, mad(w2, v.z, mad(w1, v.y, mad(w0, v.x, sum[r]))));
#endif
    }
}

/* Returns the work-item's outputs in one row, without the samples of weight 0: 0 * NaN would be NaN. Called only if a sum is not
 * finite. The weights along y are row_weights[0], row_weights[ROWS], ... Reads src, not the tile. */
INLINE vec sum_without_zeros(PLANES_IN(src), const struct block rows, __global const float *row_weights, const struct block columns,
                       __global const float *weights, int z)
{
    vec sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < columns.count; i++) {
        /* Windows are padded to whole vecs: in a tiny image x may be outside, with weight 0. */
        const int x = wrap_index(columns.first + i, src_at.width);
#ifdef IMAGES
        const vec w = weights[i];
        vec column = 0.0f;
#else
        const vec w = ((__global const vec *)weights)[i];
        float column = 0.0f;
#endif
#pragma unroll 1
        for (int j = 0; j < rows.count && x < src_at.width; j++) {
            const int y = wrap_index(rows.first + j, src_at.height);
            if (row_weights[j * ROWS] != 0.0f)
#ifdef IMAGES
                column = mad(load(PLANES_ARG(src), x, y, z), row_weights[j * ROWS], column);
#else
                column = mad(src[offset(src_at, x, y, z)], row_weights[j * ROWS], column);
#endif
        }
        sum = w != 0.0f ? mad(column, w, sum) : sum;
    }
    return sum;
}

/* Returns true if all sums are finite. */
INLINE bool sums_are_finite(const vec *sum, const int count)
{
    vec check = 0.0f;
#pragma unroll
    for (int r = 0; r < count; r++)
        check += sum[r];
    return are_finite(check);
}

/* Recomputes the work-item's sums in `count` rows with sum_without_zeros(). */
INLINE void recompute_sums(vec *sum, const int count, PLANES_IN(src), const struct block rows, __global const float *row_weights,
                           const struct block columns, __global const float *weights, int z)
{
#pragma unroll 1
    for (int r = 0; r < count; r++) {
        const vec value = sum_without_zeros(PLANES_ARG(src), rows, row_weights + r, columns, weights, z);
#pragma unroll
        for (int k = 0; k < count; k++)
            sum[k] = k == r ? value : sum[k]; /* a variable index would move the sums from registers to memory */
    }
}
