/* Where to begin: all shifts, turns and sizes are tried on the coarsest level. */
#ifndef CLIMG_FILTERS_SEARCH_H
#define CLIMG_FILTERS_SEARCH_H

#include "filters/refine.h"

enum { MOST_MATCHES = 2048 };

/* The best shifts for every turn and size that the model has, the best one first: turns of up to 30 degrees,
 * sizes from 0.72 to 1.38, shifts of up to a quarter of the reference. *count of MOST_MATCHES. Steps of turns
 * and sizes are those of the search divided by fineness, 1 or 2. */
enum status search_matches(struct workers *workers, enum model model, int fineness,
                           const struct levels *reference, const struct levels *picture,
                           struct match *matches, int *count, struct error *error);

int compare_matches(const void *a, const void *b);

#endif
