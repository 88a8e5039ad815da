/* From about the right place to the exact one, by steps of Gauss and Newton. */
#ifndef CLIMG_FILTERS_REFINE_H
#define CLIMG_FILTERS_REFINE_H

#include "filters/levels.h"

/* What a picture may differ by from the reference, each more than the last. */
enum model { MODEL_SHIFT, MODEL_RIGID, MODEL_SIMILARITY, MODEL_AFFINE };

#define MODEL_CHOICES "shift|rigid|similarity|affine"

/* Where places of the reference are in the picture, and how its values become the reference's. */
struct match {
    struct affine affine; /* of whole pictures */
    double gain, offset;
    double correlation;
    double uncertainty; /* of the corners: a standard deviation in pixels of the level */
    double score;       /* the same, less where little of the reference is covered; -1: there is none */
};

/* The picture's values and weights at the reference's places; beyond the picture both are 0. Cubic
 * interpolation. `sampled` is as large as what of the reference is covered. */
void sample_grey(const struct grey *picture, const struct affine *affine, struct grey *sampled);

/* Improves a match on one level with at most so many steps, until the corners move by less than `enough`
 * pixels of it. */
enum status match_refine(struct match *match, enum model model, const struct level *reference,
                         const struct level *picture, int steps, double enough, struct error *error);

/* The correlation of two pictures of one size, where both count; NaN where that cannot be told. *covered is
 * which share of a counts in both. */
double correlate(const struct grey *a, const struct grey *b, double *covered);

#endif
