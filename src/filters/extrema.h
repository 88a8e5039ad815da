/* Minima and maxima of square windows of any size: gray-scale erosion, dilation, opening and closing.
 *
 * Functions only enqueue work; their scratch planes are released before they return. A struct run belongs to
 * one thread. */
#ifndef CLIMG_FILTERS_EXTREMA_H
#define CLIMG_FILTERS_EXTREMA_H

#include "engine/run.h"

/* Enqueues the minimum, or the maximum, of the window of 2 * radius + 1 samples a side around each sample,
 * with the border rule of the run. `src` must have `radius` more rows than `dst` on each side. Channel
 * `alpha_channel` (-1: no alpha) is copied. NaN is larger than all numbers. */
enum status extrema_find(struct run *run, int radius, bool largest, int alpha_channel,
                         const struct planes *src, const struct planes *dst, struct error *error);

/* Enqueues an opening, the maximum of the minimum, which removes bright objects smaller than the window. If
 * `closes`, a closing, the minimum of the maximum, which removes dark ones. `src` must have 2 * radius more
 * rows on each side. Allocates *dst as scratch planes with `rows`. */
enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src,
                         struct interval rows, struct planes *dst, struct error *error);

#endif
