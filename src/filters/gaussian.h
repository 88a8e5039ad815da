/* Gaussian filters of any width, as separable products (filters/product.h): blurs and gradients.
 *
 * Errors are at most 5e-6 of full scale, compared with the sampled, untruncated Gaussian. The cost per pixel
 * hardly grows with sigma. Results do not depend on slices.
 *
 * Ownership: gaussian_make() allocates the weights, gaussian_free() frees them. Between the two a struct
 * gaussian is read-only and may be shared by threads. */
#ifndef CLIMG_FILTERS_GAUSSIAN_H
#define CLIMG_FILTERS_GAUSSIAN_H

#include "filters/product.h"

/* Must be the first member of the params of a stage that smooths by a Gaussian. */
struct gaussian {
    /* Options. */
    double sigma;    /* pixels */
    double truncate; /* the radius is floor(truncate * sigma + 0.5), as in scipy.ndimage.gaussian_filter; 0:
                      * cut off where the rest weighs less than 2.1e-6 */

    /* Set by gaussian_adapt_to_chroma: divisors of sigma along x and y; 0 means 1. */
    int across, down;

    /* Set by gaussian_make: the Gaussian's weights, then as many of its derivative. NULL: the coarse grid is
     * used. */
    int x_taps, y_taps;
    float *x_weights, *y_weights;
};

/* Row of the option table for truncate=. */
#define GAUSSIAN_TRUNCATE                                                                                    \
    {                                                                                                        \
        .name = "truncate", .type = OPTION_REAL, .offset = offsetof(struct gaussian, truncate),              \
        .fallback = "0", .max = 20, .value = "N",                                                            \
        .help = "cut the filter off at N standard deviations; 0: do not cut it"                              \
    }

/* Callbacks of such a stage: check, release, rows and adapt_to_chroma. */
enum status gaussian_make(void *params, struct error *error);
void gaussian_free(void *params);
struct interval gaussian_rows(const void *params, const struct shape *in, struct interval out);
enum status gaussian_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error);

/* Enqueues the blur of a stage's input, with an epilogue, and allocates the planes of `out`. */
enum status gaussian_blur(struct run *run, const struct gaussian *gaussian, const struct epilogue *epilogue,
                          const struct value *in, struct value *out, struct error *error);

/* Callbacks of an analysis pass that computes the coarse grid of a wide blur (x_weights is NULL) of the whole
 * picture, in planes[0] of the result. A slice of the blur then needs no other rows of the picture. */
enum status gaussian_grid_begin(struct run *run, const void *params, const struct shape *in,
                                struct analysis_result *result, struct error *error);
enum status gaussian_grid_add(struct run *run, const void *params, const struct value *in,
                              struct interval part, struct analysis_result *result, struct error *error);
enum status gaussian_grid_end(struct run *run, const void *params, const struct shape *in,
                              struct analysis_result *result, struct error *error);

/* Enqueues the blur from its coarse grid, with the bits of gaussian_blur. Allocates the planes of `out`. */
enum status gaussian_interpolate(struct run *run, const struct gaussian *gaussian, const struct planes *grid,
                                 struct value *out, struct error *error);

/* Callback `run`: enqueues the gradient magnitude of the blurred input, and allocates the planes of `out`.
 * Alpha is copied. On the coarse grid the interpolating Gaussian is differentiated. */
enum status gaussian_gradient(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error);

#endif
