/* The second step of --denoise=quality=high: a Wiener filter in sliding 8 x 8 blocks of the cosine transform,
 * guided by the picture after the first step, the pilot. kernels/cosines.cl has the formulas. It gains 0.2 dB
 * with white noise, 0.1 dB on real pairs and up to 0.15 dB with simulated cameras. The mean of no camera
 * loses more than 0.01 dB. The kernels take twice as long. */
#ifndef CLIMG_WAVELET_COSINES_H
#define CLIMG_WAVELET_COSINES_H

#include "wavelet/noise.h"

/* Returns the rows of noisy picture and pilot that rows `out` need, in a picture of `height` rows. */
struct interval cosines_rows(int height, struct interval out);

/* Filters `noisy`, guided by `pilot`. Both are in opponent colours, unless the noise is separate. Allocates
 * the planes of `out`, whose shape and rows are set. */
enum status cosines_refine(struct run *run, const struct noise *noise, const struct value *noisy,
                           const struct value *pilot, struct value *out, struct error *error);

#endif
