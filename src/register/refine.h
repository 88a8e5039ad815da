/* Matches of a picture and a reference: found on the coarsest level and refined. Results do not depend on the
 * number of threads. */
#ifndef CLIMG_REGISTER_REFINE_H
#define CLIMG_REGISTER_REFINE_H

#include "base/affine.h"
#include "register/levels.h"

/* Maps that are looked for, each with more freedom than the one before. */
enum model { MODEL_SHIFT, MODEL_RIGID, MODEL_SIMILARITY, MODEL_AFFINE };

#define MODEL_CHOICES "shift|rigid|similarity|affine"

/* Maps places of the reference to places in the picture. */
struct match {
    struct affine affine; /* of whole pictures */
    double agreement;     /* the share of the covered blocks that agree, 0 to 1 */
    double covered;       /* the share of the reference that the picture covers */
    bool settled;         /* the last step moved the corners by less than `enough` */
    double uncertainty;   /* of the corners: a standard deviation in pixels of the level */
    double score;         /* agreement * covered^(1/4); -1: not aligned */
};

/* ---------------------------------------------------------------- refine.c */

/* Improves a match on level `index` by at most `steps` Gauss-Newton steps, until the corners move by less
 * than `enough` pixels of the level. With 0 steps only its agreement, coverage and uncertainty are computed.
 */
enum status match_refine(struct workers *workers, struct match *match, enum model model,
                         const struct levels *reference, const struct levels *picture, int index, int steps,
                         double enough, struct error *error);

/* ---------------------------------------------------------------- sample.c */

/* Resamples a picture at the reference's pixels in `rows`, by cubic interpolation. Values and weights beyond
 * the picture are 0. `sampled` has the reference's size; other rows stay as they are. */
void sample_rows(const struct gray_plane *picture, const struct affine *affine, struct rows rows,
                 struct gray_plane *sampled);

/* ---------------------------------------------------------------- search.c */

enum { MOST_MATCHES = 4096 };

/* Rotations of up to 30 degrees, and all others. */
enum extent { EXTENT_NEAR, EXTENT_TURNED, EXTENTS };

/* Finds the best shifts for every rotation and scale that the model has, the best one first: scales from 0.72
 * to 1.38, shifts of up to half of the reference. *count is at most MOST_MATCHES. */
enum status search_matches(struct workers *workers, enum model model, enum extent extent,
                           const struct levels *reference, const struct levels *picture,
                           struct match *matches, int *count, struct error *error);

/* Compares for qsort, the better one first; equal ones by their maps, so that every qsort gives the same
 * order. */
int compare_matches(const void *a, const void *b);

#endif
