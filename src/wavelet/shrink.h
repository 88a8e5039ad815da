/* Denoising by bivariate shrinkage of a pyramid: see kernels/shrink.h. */
#ifndef CLIMG_WAVELET_SHRINK_H
#define CLIMG_WAVELET_SHRINK_H

#include "wavelet/dtcwt.h"
#include "wavelet/noise.h"

/* Shrinks the pyramid on the way back to the image: `out`, as dtcwt_inverse gives it. A strip of a level is
 * shrunk when its turn comes, so that what comes of it is there for one strip at a time, in caches. The
 * coarsest level has parents where `in` has planes of another level beyond it. */
enum status shrink_inverse(struct run *run, const struct noise *noise, const struct value *in,
                           struct value *out, struct error *error);

/* Shrinks and inverts all rows, down to the lowpass of level `finest`, in scratch planes. */
enum status shrink_inverse_to(struct run *run, const struct noise *noise, int finest, const struct value *in,
                              struct planes *lowpass, struct error *error);

/* Shrinks subbands without inverting them; three colours are shrunk in opponent colours. The shape and rows
 * of `out` are set; its subbands are allocated here, and it shares the lowpass with `in`. `sigma`: 8-bit
 * counts over 255; NAN estimates. */
enum status shrink_pyramid(struct run *run, double sigma, const struct value *in, struct value *out,
                           struct error *error);

/* Red, green, blue to brightness and two colour differences (way: 1), or back (-1): an orthonormal matrix, so
 * white noise stays white and as strong in each. Alpha passes. With `images`, only of those that are
 * `separate` or not; others are copied. */
enum status opponent_colours(struct run *run, const struct shape *shape, float way,
                             const struct image_noise *images, bool separate, const struct planes *src,
                             const struct planes *dst, struct error *error);

/* Extends the subband rows to those that shrinking reads: neighbours, and the parents of finer levels. */
void shrink_rows(const struct shape *shape, struct dtcwt_rows *rows);

/* An OPTION_CUSTOM parser: a noise level in 8-bit counts, or "auto" for NAN, into a double. */
enum status shrink_parse_sigma(const char *text, void *field, struct error *error);

/* Prints it as shrink_parse_sigma reads it. */
void shrink_print_sigma(FILE *file, double sigma);

#endif
