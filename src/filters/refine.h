/* From about the right place to the exact one, by steps of Gauss and Newton. */
#ifndef CLIMG_FILTERS_REFINE_H
#define CLIMG_FILTERS_REFINE_H

#include "filters/sampled.h"

/* What a picture may differ by from the reference, each more than the last. */
enum model { MODEL_SHIFT, MODEL_RIGID, MODEL_SIMILARITY, MODEL_AFFINE };

#define MODEL_CHOICES "shift|rigid|similarity|affine"

/* Where places of the reference are in the picture, and how its values become the reference's. */
struct match {
    struct affine affine; /* of whole pictures */
    double gain, offset;
    double correlation;
    bool settled;       /* the last step was short enough */
    double uncertainty; /* of the corners: a standard deviation in pixels of the level */
    double score; /* the correlation, less where little of the reference is covered; -1: there is none */
};

/* Improves a match on one level with at most so many steps, until the corners move by less than `enough`
 * pixels of it. */
enum status match_refine(struct workers *workers, struct match *match, enum model model,
                         const struct level *reference, const struct level *picture, int steps, double enough,
                         struct error *error);

#endif
