/* Matches of a picture and a reference: found on the coarsest level, refined, and compared. */
#ifndef CLIMG_FILTERS_REFINE_H
#define CLIMG_FILTERS_REFINE_H

#include "base/affine.h"
#include "filters/levels.h"

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

/* ---------------------------------------------------------------- refine.c
 *
 * From about the right place to the exact one, by steps of Gauss and Newton. */

/* Improves a match on one level with at most so many steps, until the corners move by less than `enough`
 * pixels of it. */
enum status match_refine(struct workers *workers, struct match *match, enum model model,
                         const struct level *reference, const struct level *picture, int steps, double enough,
                         struct error *error);

/* ---------------------------------------------------------------- sampled.c
 *
 * A picture at the places of a reference, and how alike the two are. */

/* The picture's values and weights at the places of some of the reference's rows; beyond the picture both are
 * 0. Cubic interpolation. `sampled` is as large as what of the reference is covered. */
void sample_rows(const struct grey *picture, const struct affine *affine, struct rows rows,
                 struct grey *sampled);

/* Sums, and then means, variances and the covariance of what counts in both of two pictures. */
struct moments {
    double all, weight, a, b, aa, bb, ab; /* all: what counts in a */
};

/* Adds some rows of two pictures of one size; adds other sums; turns sums into means. */
void moments_add_rows(const struct grey *a, const struct grey *b, struct rows rows, struct moments *sums);
void moments_add(struct moments *sums, const struct moments *more);
struct moments moments_means(struct moments sums);

/* The correlation that sums tell; NaN where that cannot be told. *covered is which share of a counts in both.
 */
double moments_correlation(const struct moments *sums, double *covered);

/* The same of two pictures of one size. */
double correlate(const struct grey *a, const struct grey *b, double *covered);

/* ---------------------------------------------------------------- search.c
 *
 * Where to begin: all shifts, turns and sizes are tried on the coarsest level. */

enum { MOST_MATCHES = 4096 };

/* Turns of up to 30 degrees, all others, and those of up to 30 degrees in finer steps, as of sizes. */
enum extent { EXTENT_NEAR, EXTENT_TURNED, EXTENT_FINE, EXTENTS };

/* The best shifts for every turn and size that the model has, the best one first: sizes from 0.72 to 1.38,
 * shifts of up to half of the reference. *count of MOST_MATCHES. */
enum status search_matches(struct workers *workers, enum model model, enum extent extent,
                           const struct levels *reference, const struct levels *picture,
                           struct match *matches, int *count, struct error *error);

int compare_matches(const void *a, const void *b);

#endif
