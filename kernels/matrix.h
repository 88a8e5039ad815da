/* A two-dimensional correlation with a matrix, whose size is an argument:
 *
 *     dst[x, y] = sum over (i, j) of weights[j][i] * src[x + start_x + i, y + start_y + j]
 *
 *   -DOUTPUTS=n  rows that a work-item computes, LANES outputs in each */
#pragma once
#include "edge.h"

#ifndef OUTPUTS
#define OUTPUTS 4
#endif

struct matrix {
    int start_x, start_y, width, height;
    int has_zeros; /* not 0: some weights are 0 */
};

/* Whether row j of a work-item's window is one of output row r, and the weights of the matrix' row that it meets. */
static inline bool meets(const struct matrix matrix, int j, int r)
{
    return j - r >= 0 && j - r < matrix.height;
}

static inline WEIGHTS const float *row_of(WEIGHTS const float *weights, const struct matrix matrix, int j, int r)
{
    return weights + (j - r) * matrix.width;
}

/* Outputs from x on in row y, without the samples whose weight is 0: these may be NaN or infinite. */
INLINE pixel sum_support(SOURCE(src), WEIGHTS const float *weights, const struct matrix matrix, int x, int y, int z)
{
    pixel sum = 0.0f;
#pragma unroll 1
    for (int j = 0; j < matrix.height; j++) {
        const int row = y + matrix.start_y + j;
#pragma unroll 1
        for (int i = 0; i < matrix.width && !outside(row, src_at.height); i++) {
            const float w = weights[j * matrix.width + i];
            if (w != 0.0f)
                sum = mad(load_pixel(GIVE(src), x + matrix.start_x + i, held_row(src_at, edge(row, src_at.height)), z), w, sum);
        }
    }
    return sum;
}

/* Stores the output rows, the channel `keep` (-1: none) as it was. */
INLINE void store_rows(const pixel *sum, SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct matrix matrix,
                       int x, int y, int z, int keep)
{
    pixel check = 0.0f;
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        check += sum[r];
    const bool mend = matrix.has_zeros && !are_finite(check);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        if (y + r >= dst_at.first_row + dst_at.rows)
            break;
        pixel value = mend ? sum_support(GIVE(src), weights, matrix, x, y + r, z) : sum[r];
        if (keep >= 0)
            value = keep_channel(value, load(GIVE(src), x, y + r, z), z, dst_at.channels, keep);
        store(GIVE(dst), x, y + r, z, value);
    }
}
