/* Reduction by a power of two on the device: see kernels/reduce*.cl. */
#ifndef CLIMG_FILTERS_REDUCE_H
#define CLIMG_FILTERS_REDUCE_H

#include "engine/run.h"

/* dst[i] = sum over k < taps of weights[k] * src[i * stride + start + k] along both axes. */
struct reduction {
    const float *weights;
    int start, taps, stride;
};

/* The source rows that output rows `out` need, not yet clipped to the image. */
struct rows reduce_source_rows(const struct reduction *by, struct rows out);

/* Allocates out's planes. */
enum status reduce_image(struct run *run, const struct reduction *by, const struct value *in,
                         struct value *out, struct error *error);

extern const struct tunable tunable_reduce;

#endif
