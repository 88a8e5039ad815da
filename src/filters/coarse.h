/* Wide Gaussians on a coarser grid. A Gaussian of the standard deviation sigma is three, one after the other,
 * whose variances add up to its own: one that is sampled only every sigma / 2 pixels, or every 12, where it
 * leaves nothing that the coarser grid could not hold; one on the samples that are left; and one that
 * interpolates them. What is done for a pixel hardly grows with sigma, and each result depends on a window
 * alone: slices change no bit. A recursive filter would do as little, but in floats the error of a constant
 * picture grows with sigma, to 4e-5 at 1000, and it goes through each axis in order.
 *
 * Samples mix frequencies that differ by one a sample. Of Gaussians of s, m and again s samples, S together,
 * the three leave at most 2 exp(-2 (pi s)^2 (1 - (s / S)^2)) of what is mixed in: 3e-6 for the s of coarse.c,
 * 0.93, and S = 2, and less for more. With what is cut off, at 5 s, results are within 5e-6 of full scale of
 * the sampled Gaussian that nothing is cut off from. */
#ifndef CLIMG_FILTERS_COARSE_H
#define CLIMG_FILTERS_COARSE_H

#include "filters/resize.h"

/* The rows of the source that rows `out` of the result need, not yet clipped to the image. */
struct rows coarse_source_rows(double sigma, const struct shape *in, struct rows out);

/* A picture that is smooth, on its coarse grid, and the ways back along both axes. */
struct coarse {
    struct planes planes;
    struct resize_axis x, y;
};

/* Smooths all planes of an image, which may be samples, enough for rows `out` of the result. The planes are
 * scratch. */
enum status coarse_smooth(struct run *run, double sigma, const struct value *in, struct rows out,
                          struct coarse *coarse, struct error *error);

/* Back along x: rows of the coarse grid, which are scratch. RESIZE_GAUSSIAN or RESIZE_SLOPE. */
enum status coarse_rows(struct run *run, const struct coarse *coarse, enum resize_filter filter,
                        struct planes *rows, struct error *error);

/* The Gaussian of an image, either end of which may be samples; `dst` then says which. */
enum status coarse_blur(struct run *run, double sigma, const struct value *in, const struct planes *dst,
                        const struct raster *raster, struct error *error);

#endif
