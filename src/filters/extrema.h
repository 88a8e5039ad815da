/* Minima and maxima of square windows of any size, by kernels/extremum.cl: as many passes along either axis
 * as the radius has octal digits. */
#ifndef CLIMG_FILTERS_EXTREMA_H
#define CLIMG_FILTERS_EXTREMA_H

#include "engine/run.h"

/* Returns the rows of src that rows `out` need. */
struct rows extrema_source_rows(int radius, struct rows out);

/* Enqueues the minimum, or the maximum, of the 2 * radius + 1 by 2 * radius + 1 samples around each one, with
 * the border rule, of all planes of `src`, which has the rows that `dst` needs. The channel `keep` (-1: none)
 * is copied. NaN is larger than all numbers. */
enum status extrema_find(struct run *run, int radius, bool largest, int keep, const struct planes *src,
                         const struct planes *dst, struct error *error);

/* Openings (of a dark background) take away what is brighter than the background and smaller than the window:
 * the smallest values, then the largest of those; closings the other way. */
enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src, struct rows rows,
                         struct planes *dst, struct error *error);

#endif
