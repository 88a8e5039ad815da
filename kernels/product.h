/* Every filter and every resampling that works along the axes is a product of three matrices,
 *
 *     dst = A * src * transposed(B)
 *
 * where row y of A has the weights of the rows of src that row y of dst is made of, and row x of B those of the columns. Both
 * are banded: an output is made of few neighbouring samples. So an axis is cut into blocks of neighbouring outputs, which
 * share a window of samples: it begins at sample `first` and has `count` of them. The part of A (or B) that lies there is
 * a small dense matrix, with zeros where an output does not use a sample:
 *
 *              samples          first   first + count
 *           . . . . . . . . . . .|. . . . . . .|. . .
 *     output 0       w w w
 *     output 1           w w w            one block of four outputs, of a reduction by 2:
 *     output 2             | w w w |      here lies its matrix, which is stored sample after sample,
 *     output 3             |   w w w      a weight for each output of the block
 *
 * What stands for samples beyond the border is in the weights; only an axis that wraps has windows that begin before sample 0 or
 * end behind the last one (`wraps`), and go on at the other end. Blocks that are alike share a matrix: of a blur or an
 * enlargement few differ, and only at the ends. Blocks begin at fixed rows and columns of the whole image, whatever
 * slice of it is computed.
 *
 * Sums begin with 0 and go on sample after sample, in ascending order: first those of A * src, then those of the product.
 *
 * A table (src/filters/axis.h) is the blocks, then the matrices. A work-item, or a group of them, computes all columns that it
 * needs of ROWS rows of A * src, into a tile in fast memory, and from that ROWS rows of the product. */
#pragma once
#include "roots.h"

#define ROWS 8 /* outputs of a block along y: PRODUCT_ROWS of src/filters/axis.h */

struct block {
    int first, count;
    int matrix; /* where it begins, in floats from the table's beginning */
    int wraps;
};

#define TABLE(name) __global const struct block *restrict name

/* The weights of a block of a table. */
static inline __global const float *weights_of(__global const struct block *table, const struct block block)
{
    return (__global const float *)table + block.matrix;
}

/* The sample that position i of a window stands for: that of an axis that wraps may lie beside the n samples. */
static inline int wrap_index(int i, int n)
{
    return i < 0 ? i + n : i < n ? i : i - n;
}

/* What is done last with a value of the product. */
struct epilogue {
    int op;
    float amount, threshold; /* SHARPEN */
    int alpha_channel;                /* a channel that is `other`, as alpha is; -1: none */
};

#define COPY      0
#define SHARPEN   1 /* `other`, and what the product took away from it times amount, where that is at least threshold, or NaN */
#define MAGNITUDE 2 /* the length of (value, other) */

static inline vec length_of(vec a, vec b)
{
    return root(mad(a, a, b * b));
}

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
