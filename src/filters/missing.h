/* Missing values: NaN and infinities of float pictures (kernels/missing.cl).
 *
 * Stages that would spread them far, or that analyse the whole picture, replace missing values by estimates
 * and put them back at the end. Their number is reported to the user.
 *
 * Functions allocate the planes of their results, which the caller releases. They only enqueue work, except
 * for missing_count(). A struct run belongs to one thread. */
#ifndef CLIMG_FILTERS_MISSING_H
#define CLIMG_FILTERS_MISSING_H

#include "engine/run.h"

/* The usual radius for missing_fill, in pixels. */
enum { MISSING_RADIUS = 3 };

/* Sets *has_missing: true if a colour of `image` has missing values, and always on a dry-run device. Waits
 * for the device. Adds the number of missing values in `columns` and `rows`, which leave out the halo, to
 * run->results, for the stage with these params (run_count_missing). Rows that were counted before are
 * not counted again (run_uncounted_row). Images of integers are not read. */
enum status missing_count(struct run *run, const void *params, const struct value *image,
                          struct interval columns, struct interval rows, bool *has_missing,
                          struct error *error);

/* Copies an image. A missing value becomes the mean of the valid values of its channel at most `radius`
 * columns and rows away, or 0 if no value there is valid. */
enum status missing_fill(struct run *run, const struct value *image, int radius, struct value *filled,
                         struct error *error);

/* Computes planes of weights: 0 for missing values, and for all others alpha, or 1 without alpha. */
enum status missing_weights(struct run *run, const struct value *image, struct value *weights,
                            struct error *error);

/* Copies the missing values of `image` to `result`, whose planes are replaced by new ones. */
enum status missing_restore(struct run *run, const struct value *image, struct value *result,
                            struct error *error);

#endif
