/* Missing values: NaN and infinities of float pictures (kernels/missing.cl).
 *
 * Stages that would spread them far, or that analyse the whole picture, replace missing values by estimates
 * and put them back at the end. Their number is reported to the user.
 *
 * Functions allocate the planes of their results, which the caller releases. Except for missing_count() they
 * only enqueue work. */
#ifndef CLIMG_FILTERS_MISSING_H
#define CLIMG_FILTERS_MISSING_H

#include "engine/run.h"

/* The usual radius for missing_fill, in pixels. */
enum { MISSING_RADIUS = 3 };

/* Sets *has_missing if `image` has missing values, and waits for that. Adds the number of those in `columns`
 * and `rows` to run->results.nonfinite, for the stage with these params. Pictures of integers are not read.
 */
enum status missing_count(struct run *run, const void *params, const struct value *image,
                          struct interval columns, struct interval rows, bool *has_missing,
                          struct error *error);

/* Copies an image. A missing value becomes the mean of the valid values at most `radius` columns and rows
 * away, or 0 without any. */
enum status missing_fill(struct run *run, const struct value *image, int radius, struct value *filled,
                         struct error *error);

/* Computes planes of weights: full scale (alpha, if there is any) for valid values, 0 for missing ones. */
enum status missing_weights(struct run *run, const struct value *image, struct value *weights,
                            struct error *error);

/* Copies the missing values of `image` to `result`, whose planes are replaced by new ones. */
enum status missing_restore(struct run *run, const struct value *image, struct value *result,
                            struct error *error);

#endif
