/* One axis of a separable product (kernels/product.h): the samples and weights of each output, and the border
 * rule.
 *
 * An axis is a value: it owns nothing and may be copied. Its filter's weights must live as long as it does.
 * axis_table() uploads an axis as a table of weights and caches the table in run->constants, which owns it.
 *
 * Thread safety: all functions are reentrant; a struct run belongs to one thread. */
#ifndef CLIMG_FILTERS_AXIS_H
#define CLIMG_FILTERS_AXIS_H

#include "engine/run.h"
#include "filters/resample.h"

/* Weights of a filter that keeps the size: dst[o] = sum over k < taps of weights[k] * src[o + start + k] */
struct filter {
    const float *weights; /* not owned. NULL without a filter */
    int taps, start;
};

/* The matrix that maps the samples of an axis of the whole image to outputs. */
struct axis {
    int samples, outputs; /* number of each */
    bool ends_at_border;  /* weights beyond the border are dropped, and the others normalised to sum 1 */
    enum edge edge;       /* border rule if not ends_at_border */
    struct filter filter; /* the weights, unless filter.weights is NULL */
    struct resize resize; /* else the weights are computed from this */
};

/* Returns the axis of a filter that keeps the size. Tap taps / 2 of an output is at its own sample. */
struct axis axis_filtered(const float *weights, int taps, int samples, enum edge edge);

/* Adapts an axis of `resize` to a picture that the reader reduced, whose side has `samples` pixels. `factor`
 * and `offset` are members of struct reduction: factor, and left or top. A factor of 0 changes nothing. */
void axis_reduce(struct axis *axis, int samples, int factor, double offset);

/* Returns the samples [begin, end) of output o, before the border rule, and stores their weights. `weights`
 * may be NULL. */
struct interval axis_taps(const struct axis *axis, int o, double *weights);

/* Returns an upper bound of the taps of an output. */
int axis_max_taps(const struct axis *axis);

/* Returns the samples that outputs `out` need, before the border rule. `out` is first extended to whole
 * blocks of PRODUCT_ROWS. This is the result of a stage's callback `rows`. */
struct interval axis_source_rows(const struct axis *axis, struct interval out);

/* Returns the samples that outputs `out` need, after the border rule, so all are inside the image. The plane
 * between two products needs these rows. */
struct interval axis_inside_rows(const struct axis *axis, struct interval out);

/* The division of an axis into blocks of neighbouring outputs. */
struct blocking {
    int outputs;      /* outputs per block */
    int unit;         /* a block's first sample is a multiple of this */
    bool shares_tile; /* neighbouring blocks share a tile, so their windows must end in ascending order */
};

/* Returns the largest number of samples that a group of `count` consecutive blocks needs. */
int axis_max_samples(const struct axis *axis, struct blocking blocking, int count);

/* Outputs of a block along y, on all devices and for both kinds of memory: ROWS of kernels/product.h. */
enum { PRODUCT_ROWS = 8 };

/* Returns the table of an axis (TABLE of kernels/product.h). The caller must not release it. */
enum status axis_table(struct run *run, const struct axis *axis, struct blocking blocking, cl_mem *memory,
                       struct error *error);

#endif
