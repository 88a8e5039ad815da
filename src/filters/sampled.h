/* A picture at the places of a reference, and how alike the two are. */
#ifndef CLIMG_FILTERS_SAMPLED_H
#define CLIMG_FILTERS_SAMPLED_H

#include "base/affine.h"
#include "filters/levels.h"

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

#endif
