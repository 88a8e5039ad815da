/* Separable filters on the device: see kernels/separable.cl. */
#ifndef CLIMG_FILTERS_SEPARABLE_H
#define CLIMG_FILTERS_SEPARABLE_H

#include "chain/run.h"

/* dst[i] = sum over k < taps of weights[k] * src[i * stride + start + k] along one axis. */
struct filter {
    const float *weights;
    int taps;
    int start;  /* minus the centre for a filter of stride 1 */
    int stride; /* 1, or a power of two that the axis shrinks by */
};

/* What becomes of colour and alpha apart from the filter. */
struct finish {
    float bias;      /* added to colour */
    int alpha;       /* the channel that is not colour, -1: none */
    bool keep_alpha; /* copy it instead of filtering it */
};

extern const struct finish plain_finish; /* every channel filtered alike */

/* Along x: src and dst hold the same rows; dst's width is src's divided by the stride, rounded up. */
enum status filter_rows(struct run *run, const struct filter *filter, const struct finish *finish,
                        const struct planes *src, const struct planes *dst, struct error *error);

/* Along y: src holds what filter_source_rows says. */
enum status filter_columns(struct run *run, const struct filter *filter, const struct finish *finish,
                           const struct planes *src, const struct planes *dst, struct error *error);

/* The source rows that output rows `out` need, not yet clipped to the image. */
struct rows filter_source_rows(const struct filter *filter, struct rows out);

/* Rows, then columns, through a scratch image, into out's planes (allocated here). bias is added once. */
enum status filter_separable(struct run *run, const struct filter *along_x, const struct filter *along_y,
                             const struct finish *finish, const struct value *in, struct value *out,
                             struct error *error);

#endif
