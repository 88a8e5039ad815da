/* One axis of a product (kernels/product.h): which samples each output is made of, with which weights, and
 * what stands for samples beyond the border. */
#ifndef CLIMG_FILTERS_AXIS_H
#define CLIMG_FILTERS_AXIS_H

#include "engine/run.h"
#include "filters/resample.h"

/* `samples` become `outputs`, both of the whole image, by a filter, or where that is none, by resizing. Where
 * `cut`, there is nothing beside the samples, and the weights that are left are normalised to sum 1; else the
 * axis is extended by a border rule. */
struct axis {
    int samples, outputs;
    bool cut;
    enum edge edge;
    struct filter filter;
    struct resize resize;
};

/* An axis of a plain filter, whose outputs lie where its samples do. */
struct axis axis_filtered(const float *weights, int taps, int start, int samples, enum edge edge);

/* Samples [begin, end) of which output o is made, before the border rule, and their weights, unless NULL. */
struct rows axis_taps(const struct axis *axis, int o, double *weights);

/* At least the taps of each output. */
int axis_max_taps(const struct axis *axis);

/* The samples that outputs `out` need, in whole blocks of PRODUCT_ROWS, before the border rule: what a stage
 * says as `rows`. */
struct rows axis_source_rows(const struct axis *axis, struct rows out);

/* The same after the border rule: what planes between two products hold. */
struct rows axis_held_rows(const struct axis *axis, struct rows out);

/* How an axis is cut into blocks. */
struct blocking {
    int outputs; /* of a block */
    int unit;    /* a block's first sample is a multiple of this */
    bool share;  /* neighbours share a tile, so no window ends before that of the block before it */
};

/* The most samples that `count` neighbouring blocks need, the first of which is a multiple of `count`. */
int axis_max_samples(const struct axis *axis, struct blocking blocking, int count);

/* Outputs of a block along y, on all devices and in every memory: as in kernels/product.h. */
enum { PRODUCT_ROWS = 8 };

/* The table of all blocks of an axis on the device: TABLE of kernels/product.h. */
enum status axis_table(struct run *run, const struct axis *axis, struct blocking blocking, cl_mem *table,
                       struct error *error);

#endif
