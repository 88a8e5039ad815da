/* Every filter and every resampling along the axes is a product of three matrices,
 *
 *     dst = A * src * transposed(B)
 *
 * Row y of A has the weights of the rows of src for row y of dst. Row x of B has the weights of the columns of src for
 * column x of dst. Both are banded: an output is a sum of few neighbouring samples. So an axis is divided into blocks of
 * neighbouring outputs, which share a window of `count` samples from sample `first` on. The part of A (or B) in the window
 * is a small dense matrix, with zeros for samples that an output does not use:
 *
 *              samples          first   first + count
 *           . . . . . . . . . . .|. . . . . . .|. . .
 *     output 0       w w w
 *     output 1           w w w            one block of four outputs, of a reduction by 2:
 *     output 2             | w w w |      its matrix is stored sample after sample,
 *     output 3             |   w w w      a weight for each output of the block
 *
 * The weights include the border rule, so windows are inside the image. The exception is an axis that wraps (`wraps`): a
 * window may begin before sample 0 or end after the last one, and continues at the other end. Blocks with equal weights
 * share a matrix: a blur or an enlargement has few different ones, most of them at the ends. All slices of an image divide
 * it into the same blocks.
 *
 * Order of sums: sample after sample, ascending, from 0 on; first along y (A * src), then along x.
 *
 * A table (src/filters/axis.h) has the blocks, then the matrices. A work-item, or a group of them, computes ROWS rows of
 * A * src in all columns that it needs, and stores them in a tile in fast memory. From the tile it computes ROWS rows of the
 * product:
 *
 *     src                  A * src (tile)             dst
 *     |          |         |                |         |              |
 *     | window   | along y |  ROWS rows     | along x | ROWS rows    |
 *     | of rows  | ------> |  of all needed | ------> | of the       |
 *     |          |         |  columns       |         | block        | */
#pragma once
#include "planes.h"

#define ROWS 8 /* outputs of a block along y: PRODUCT_ROWS of src/filters/axis.h */

struct block {
    int first, count;
    int matrix; /* offset in floats from the table's beginning */
    int wraps;
};

#define TABLE(name) __global const struct block *restrict name

static inline __global const float *weights_of(__global const struct block *table, const struct block block)
{
    return (__global const float *)table + block.matrix;
}

/* Returns the index of the sample at position i of an axis, which is outside [0, n) only if the axis wraps. */
static inline int wrap_index(int i, int n)
{
    return i < 0 ? i + n : i < n ? i : i - n;
}

/* The last operation on a value of the product. It combines the product with the value of the same pixel in `other`: the
 * picture that is sharpened or whose alpha is copied, or the first of two products. */
struct epilogue {
    int op;                  /* COPY, SHARPEN or MAGNITUDE */
    float amount, threshold; /* of SHARPEN */
    int alpha_channel;       /* copied from `other`; -1 without alpha */
};

#define COPY      0 /* the product; `other` is not read, except for alpha */
#define SHARPEN   1 /* other + amount * (other - product), if |other - product| is at least threshold or NaN */
#define MAGNITUDE 2 /* the length of the vector (product, other) */

static inline vec length_of(vec a, vec b)
{
    return sqrt(mad(a, a, b * b));
}

/* Returns the result of the last operation on `value` of the product. z is its plane in a picture of `channels` planes. */
static inline vec apply_epilogue(const struct epilogue epilogue, vec value, vec other, int z, int channels)
{
    vec result = value;
    if (epilogue.op == SHARPEN) {
        const vec detail = other - value;
        result = mad(epilogue.amount, select(detail, (vec)(0.0f), fabs(detail) < epilogue.threshold), other);
    } else if (epilogue.op == MAGNITUDE) {
        result = length_of(other, value);
    }
    return select_alpha(result, other, z, channels, epilogue.alpha_channel);
}
