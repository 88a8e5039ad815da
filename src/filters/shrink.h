/* Denoising by bivariate shrinkage of a pyramid: see kernels/shrink.h. */
#ifndef CLIMG_FILTERS_SHRINK_H
#define CLIMG_FILTERS_SHRINK_H

#include "filters/dtcwt.h"

/* The image's noise on the device, of each plane of a layer from `at` on; 0 where the plane is to stay as it
 * is. */
struct noise {
    cl_mem sigma;
    cl_int at;
};

/* The noise of a pyramid's planes, given its subbands of level 1. sigma: its standard deviation, full scale
 * being 1; NAN: estimated on the device from the diagonal ones, for each plane. Alpha has none. */
enum status noise_find(struct run *run, double sigma, const struct shape *shape, const struct planes *finest,
                       struct noise *noise, struct error *error);

/* The same on the way back to the image: `out`, as dtcwt_inverse gives it. A level is shrunk when its turn
 * comes, so that what comes of it is there for one level at a time, and of small ones in caches. */
enum status shrink_inverse(struct run *run, const struct noise *noise, const struct value *in,
                           struct value *out, struct error *error);

/* The subbands alone, three colours as brightness and two colour differences. `out` has its shape and its
 * rows set; its planes come from here, its lowpass is that of `in`. */
enum status shrink_pyramid(struct run *run, double sigma, const struct value *in, struct value *out,
                           struct error *error);

/* Red, green, blue to brightness and two colour differences, or back: an orthonormal matrix, so white noise
 * stays white and as strong in each. Alpha passes. */
enum status opponent_colours(struct run *run, const struct shape *shape, bool back, const struct planes *src,
                             const struct planes *dst, struct error *error);

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
