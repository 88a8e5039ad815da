/* A denoised picture made better with the noisy one: kernels/cosines.cl. */
#ifndef CLIMG_WAVELET_COSINES_H
#define CLIMG_WAVELET_COSINES_H

#include "wavelet/noise.h"

/* Rows of the noisy picture and of the pilot that rows `out` of a picture of `height` need. */
struct rows cosines_rows(int height, struct rows out);

/* Filters `noisy` by the spectrum of `pilot`, its first estimate. Allocates the planes of `out`. Three
 * colours are in opponent colours. `levels` is the number of levels in `noise`. */
enum status cosines_refine(struct run *run, const struct noise *noise, int levels, const struct value *noisy,
                           const struct value *pilot, struct value *out, struct error *error);

#endif
