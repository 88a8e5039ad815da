/* Denoising of a pyramid by bivariate shrinkage (L. Sendur and I. Selesnick, 2002): each coefficient y1
 * becomes
 *
 *     y1 max(R - T, 0) / R,   R = sqrt(|y1|^2 + |y2|^2),   T = sqrt(5) sn^2 / s
 *
 * y2 is its parent, sn the noise, and s the local deviation of the signal; kernels/shrink.h has the details.
 * With complex coefficients sqrt(5) is 0.13 to 0.17 dB better than the paper's sqrt(3).
 *
 * Functions enqueue kernels and do not wait, except shrink_pyramid when it estimates the noise. */
#ifndef CLIMG_WAVELET_SHRINK_H
#define CLIMG_WAVELET_SHRINK_H

#include "wavelet/dtcwt.h"
#include "wavelet/noise.h"

/* Shrinks `rows` of a level: `run` of a struct subband_filter whose context is a struct noise. The parents of
 * the coarsest level are in->planes[levels + 1]; if these are empty, it has no parents (y2 = 0). */
enum status shrink_subbands(struct run *run, const void *noise, const struct value *in, int level,
                            struct interval rows, const struct planes *lowpass, struct planes *clean,
                            struct error *error);

/* Shrinks subbands without inverting them, for --shrink. Three colours are shrunk in opponent colours.
 * `sigma` is the standard deviation of the noise, full scale being 1; NAN: estimate it. The shape and rows of
 * `out` are set. Its subbands are allocated here, and it shares the lowpass with `in`. */
enum status shrink_pyramid(struct run *run, double sigma, const struct value *in, struct value *out,
                           struct error *error);

/* Converts red, green, blue to brightness and two colour differences (direction 1), or back (-1). The matrix
 * is orthonormal, so white noise has the same strength in all three. Alpha is copied. If `images` is not
 * NULL, only images whose is_separate equals `separate` are converted, and the others copied. */
enum status opponent_colours(struct run *run, const struct shape *shape, float direction,
                             const struct image_noise *images, bool separate, const struct planes *src,
                             const struct planes *dst, struct error *error);

/* Adds the rows that shrinking reads to the subband rows of each level: two on each side, and the parents of
 * the finer level's rows. */
void shrink_add_halo(const struct shape *shape, struct dtcwt_rows *rows);

/* Parses a noise level for an OPTION_CUSTOM: 0 to 255 (8-bit counts), or "auto", which becomes NAN. `field`
 * is a double. */
enum status shrink_parse_sigma(const char *text, void *field, struct error *error);

/* Prints a noise level as shrink_parse_sigma parses it. */
void shrink_print_sigma(FILE *file, const void *field);

#endif
