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

/* The output rows, the channel `keep` (-1: none) as it was. */
INLINE void store_rows(const pixel *sum, SOURCE(src), TARGET(dst), int x, int y, int z, int keep)
{
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        if (y + r >= dst_at.first_row + dst_at.rows)
            break;
        pixel value = sum[r];
        if (keep >= 0)
            value = keep_channel(value, load(GIVE(src), x, y + r, z), z, dst_at.channels, keep);
        store(GIVE(dst), x, y + r, z, value);
    }
}
