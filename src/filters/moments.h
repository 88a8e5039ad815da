/* Mean and variance of the square window around each sample (kernels/moments.cl).
 *
 * The cost does not depend on the radius. Measured errors up to radius 500, relative to the largest sample:
 * at most 5e-7 of the mean and 2e-8 of the standard deviation, also for a tiny variance. NaN and infinities
 * reach only windows that contain them. Functions only enqueue work. A struct run belongs to one thread. */
#ifndef CLIMG_FILTERS_MOMENTS_H
#define CLIMG_FILTERS_MOMENTS_H

#include "engine/run.h"

/* Largest radius in pixels. */
enum { MOMENTS_MAX_RADIUS = 1000 };

/* Enqueues the moments of windows of 2 * radius + 1 samples a side, with the border rule of the run, for
 * `rows` of src, which is in buffers and has `radius` more rows on each side. Allocates *moments as scratch
 * planes of two layers: the mean, and the sum of the squared distances to the mean. */
enum status moments_find(struct run *run, int radius, const struct planes *src, struct interval rows,
                         struct planes *moments, struct error *error);

#endif
