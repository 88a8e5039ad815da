/* Rank filters on the device: see kernels/rank*.cl. */
#ifndef CLIMG_FILTERS_RANK_H
#define CLIMG_FILTERS_RANK_H

#include "engine/run.h"

enum { RANK_MAX_RADIUS = 127 };

enum rank_shape { RANK_SQUARE, RANK_DISC };

#define RANK_SHAPES "square|disc"

/* The sample of a window that n * percent / 100 of its n samples, rounded down, stand before, or the last
 * one: the rule of scipy.ndimage.percentile_filter. A square has 2 * radius + 1 samples a side, a disc all
 * that are not further than the radius from its middle. */
struct rank {
    int radius; /* 1 to RANK_MAX_RADIUS */
    int shape;  /* enum rank_shape */
    double percent;
};

/* As `rows` and `maps_samples` of a stage whose params are a struct rank. */
struct rows rank_rows(const void *params, const struct shape *in, struct rows out);
bool rank_maps_samples(const void *params);

/* Allocates out's planes, unless it is samples; then `in` is samples, too. Alpha stays. */
enum status rank_image(struct run *run, const struct rank *rank, const struct value *in, struct value *out,
                       struct error *error);

#endif
