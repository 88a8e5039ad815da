/* Missing values: NaN and infinities of float pictures.
 *
 * Stages that would spread them far, or that analyse the whole picture, replace missing values by estimates
 * and put them back at the end. run->results.nonfinite counts them, for the warning of the command.
 *
 * Functions allocate the planes of their results, which the caller releases. Except for missing_count() they
 * only enqueue work. */
#ifndef CLIMG_FILTERS_MISSING_H
#define CLIMG_FILTERS_MISSING_H

#include "engine/run.h"

/* Reach of the mean that replaces a missing value, in pixels. */
enum { MISSING_RADIUS = 3 };

/* Counts the missing values of `image` and waits for the result. Sets *has_missing. Adds the number inside
 * the given ranges of columns and rows to run->results.nonfinite, for the stage with these params. Pictures
 * of integers have no missing values and are not read. */
enum status missing_count(struct run *run, const void *params, const struct value *image,
                          struct interval columns, struct interval rows, bool *has_missing,
                          struct error *error);

/* Copies an image. A missing value becomes the mean of the valid ones at most `radius` columns and rows away,
 * or 0. */
enum status missing_fill(struct run *run, const struct value *image, int radius, struct value *filled,
                         struct error *error);

/* Computes planes of weights: full scale (alpha, if there is any) for valid values, 0 for missing ones. */
enum status missing_weights(struct run *run, const struct value *image, struct value *weights,
                            struct error *error);

/* Puts the missing values of `image` back into `result`, whose planes are replaced by new ones. */
enum status missing_restore(struct run *run, const struct value *image, struct value *result,
                            struct error *error);

#endif
