/* A denoised picture made better with the noisy one: kernels/cosines.cl. */
#ifndef CLIMG_WAVELET_COSINES_H
#define CLIMG_WAVELET_COSINES_H

#include "wavelet/noise.h"

/* Rows of the noisy picture and of the pilot that rows `out` of a picture of `height` need. */
struct rows cosines_rows(int height, struct rows out);

/* `pilot` is what was made of `noisy` before; the planes of `out` are allocated here. Three colours are in
 * opponent colours. `levels` is how many levels the noise has. */
enum status cosines_refine(struct run *run, const struct noise *noise, int levels, const struct value *noisy,
                           const struct value *pilot, struct value *out, struct error *error);

#endif
