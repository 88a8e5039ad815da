/* Enlarging by a power of two on the device: see kernels/enlarge.h. */
#ifndef CLIMG_FILTERS_ENLARGE_H
#define CLIMG_FILTERS_ENLARGE_H

#include "engine/run.h"

struct enlargement {
    int exponent;         /* the factor is 2^exponent */
    int taps;             /* 0: pixels are repeated */
    const float *weights; /* taps for each phase, phase after phase */
};

/* Allocates out's planes, unless it is samples. */
enum status enlarge_image(struct run *run, const struct enlargement *by, const struct value *in,
                          struct value *out, struct error *error);

extern const struct tunable tunable_enlarge, tunable_enlarge_rows, tunable_enlarge_columns;

#endif
