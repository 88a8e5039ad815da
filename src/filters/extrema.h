/* The smallest and the largest values of square windows of any size: see kernels/extremum.cl. */
#ifndef CLIMG_FILTERS_EXTREMA_H
#define CLIMG_FILTERS_EXTREMA_H

#include "engine/run.h"

/* The rows of src that rows `out` need. */
struct rows extrema_source_rows(int radius, struct rows out);

/* Openings (of a dark background) take away what is brighter than the background and smaller than the window:
 * the smallest values, then the largest of those; closings the other way. */
enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src, struct rows rows,
                         struct planes *dst, struct error *error);

#endif
