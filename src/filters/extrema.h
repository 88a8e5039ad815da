/* Minima and maxima of square windows of any size (kernels/extremum.cl), and the openings made of them.
 *
 * Each axis takes as many passes as the radius has octal digits. Functions only enqueue work; scratch planes
 * are released before they return. */
#ifndef CLIMG_FILTERS_EXTREMA_H
#define CLIMG_FILTERS_EXTREMA_H

#include "engine/run.h"

/* Returns the rows of src that rows `out` need. */
struct rows extrema_source_rows(int radius, struct rows out);

/* Enqueues the minimum, or the maximum, of the window of 2 * radius + 1 samples a side around each sample.
 * Follows the border rule. `src` must have the rows that `dst` needs. The channel `keep` (-1: none) is
 * copied. NaN is larger than all numbers. */
enum status extrema_find(struct run *run, int radius, bool largest, int keep, const struct planes *src,
                         const struct planes *dst, struct error *error);

/* Enqueues an opening, the maximum of the minimum, which removes bright objects smaller than the window; or a
 * closing, the minimum of the maximum, which removes dark ones. Allocates *dst as scratch with rows `rows`.
 */
enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src, struct rows rows,
                         struct planes *dst, struct error *error);

#endif
