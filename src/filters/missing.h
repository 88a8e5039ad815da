/* Values of float pictures that are NaN or infinite, for stages that would spread them far, or that analyse
 * the picture: they count as missing, and stay what they are. run->results.missing says how many there are.
 */
#ifndef CLIMG_FILTERS_MISSING_H
#define CLIMG_FILTERS_MISSING_H

#include "engine/run.h"

enum { MISSING_RADIUS = 3 }; /* rows around a missing value that replace it */

/* Waits. Counts values of `image` that are missing: *has_missing says whether there are any,
 * run->results.missing those in the area `own` of columns and rows. `params` are the stage's. A picture of
 * integers is not looked at. */
enum status missing_count(struct run *run, const void *params, const struct value *image, struct rows columns,
                          struct rows rows, bool *has_missing, struct error *error);

/* Copies the planes of an image, allocated here; each missing value is the mean of those that are at most
 * `near` away, or 0. */
enum status missing_fill(struct run *run, const struct value *image, int near, struct value *filled,
                         struct error *error);

/* Fills planes, allocated here, with full scale, and 0 where a value of the image is missing. */
enum status missing_weights(struct run *run, const struct value *image, struct value *weights,
                            struct error *error);

/* Replaces the planes of what was made of an image by others, which have its missing values. */
enum status missing_restore(struct run *run, const struct value *image, struct value *made,
                            struct error *error);

#endif
