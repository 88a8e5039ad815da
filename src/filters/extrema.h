/* The smallest and the largest values of square windows of any size: see kernels/extremum.cl. */
#ifndef CLIMG_FILTERS_EXTREMA_H
#define CLIMG_FILTERS_EXTREMA_H

#include "engine/run.h"

/* The rows of src that rows `out` need. */
struct rows extrema_source_rows(int radius, struct rows out);

/* The extreme value of the 2 * radius + 1 by 2 * radius + 1 samples around each one, with the border rule, of
 * all planes of `src`, which holds the rows that `rows` need; into scratch planes. As many passes as the
 * radius has octal digits, along either axis. */
enum status extrema_run(struct run *run, int radius, bool largest, const struct planes *src, struct rows rows,
                        struct planes *dst, struct error *error);

/* Openings (of a dark background) take away what is brighter than the background and smaller than the window:
 * the smallest values, then the largest of those; closings the other way. */
enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src, struct rows rows,
                         struct planes *dst, struct error *error);

#endif
