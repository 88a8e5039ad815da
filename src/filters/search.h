/* Where to begin: all shifts, turns and sizes are tried on the coarsest level. */
#ifndef CLIMG_FILTERS_SEARCH_H
#define CLIMG_FILTERS_SEARCH_H

#include "filters/refine.h"

enum { MOST_MATCHES = 512 };

/* The best shifts for every turn and size that the model has, the best one first: turns of up to 30 degrees,
 * sizes from 0.72 to 1.38, shifts of up to a quarter of the reference. *count of them. */
enum status search_matches(enum model model, const struct levels *reference, const struct levels *picture,
                           struct match matches[MOST_MATCHES], int *count, struct error *error);

int compare_matches(const void *a, const void *b);

#endif
