/* Denoising by bivariate shrinkage of a pyramid: see kernels/shrink.cl. */
#ifndef CLIMG_FILTERS_SHRINK_H
#define CLIMG_FILTERS_SHRINK_H

#include "filters/dtcwt.h"

/* sigma: the standard deviation of the image's noise, full scale being 1; NAN: estimated on the device from
 * the diagonal subbands of level 1, for each plane that is denoised. Three colours are denoised as brightness
 * and two colour differences. Alpha and the lowpass pass. `out` has its shape and its rows set; its planes
 * come from here, its lowpass is that of `in`. `spent` is NULL, or `in` again where its subbands may be given
 * back on the way. */
enum status shrink_pyramid(struct run *run, double sigma, const struct value *in, struct value *spent,
                           struct value *out, struct error *error);

/* From the rows of the subbands that are wanted, those that shrinking needs: neighbours and parents. */
void shrink_rows(const struct shape *shape, struct dtcwt_rows *rows);

/* An OPTION_CUSTOM parser: a noise level in 8-bit counts, or "auto" for NAN, into a double. */
enum status shrink_parse_sigma(const char *text, void *field, struct error *error);

/* The same level as text. */
void shrink_print_sigma(FILE *file, double sigma);

/* The median of |v| over real and imaginary parts of the diagonal subbands of level 1, for white noise of
 * standard deviation 1: the unit of the estimate. */
double noise_median_unit(int biort);

#endif
