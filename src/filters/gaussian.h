/* Gaussian filters of any width, as separable products (filters/product.h): blurs and gradients.
 *
 * Results are within 5e-6 of full scale of the sampled, untruncated Gaussian. The cost per pixel hardly grows
 * with sigma. Each output depends on a window only, so slices do not change a bit.
 *
 * Ownership: gaussian_make() allocates the weights, gaussian_free() frees them. Between the two a struct
 * gaussian is read-only and may be shared by threads. */
#ifndef CLIMG_FILTERS_GAUSSIAN_H
#define CLIMG_FILTERS_GAUSSIAN_H

#include "filters/product.h"

/* Must be the first member of the params of a stage that smooths by a Gaussian. The options fill in sigma and
 * truncate, gaussian_make() the rest. */
struct gaussian {
    double sigma;       /* pixels */
    double truncate;    /* the radius is floor(truncate * sigma + 0.5), as in scipy.ndimage.gaussian_filter;
                         * 0: cut off where the rest weighs less than 2.1e-6 */
    int across, down;   /* sigma is divided by these along x and y, for subsampled chroma; 0 means 1 */
    int x_taps, y_taps; /* number of taps */
    float *x_weights, *y_weights; /* taps of the filter, then of its derivative; NULL: uses the coarse grid */
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

/* The coarse grid of a wide blur (x_weights is NULL) of a whole picture, computed in an analysis pass
 * (struct analysis of engine/stage.h). A slice of the blur then needs no rows but its own. These are
 * the callbacks of the pass; the result has the grid in planes[0]. */
enum status gaussian_grid_begin(struct run *run, const void *params, const struct shape *in,
                                struct analysis_result *result, struct error *error);
enum status gaussian_grid_add(struct run *run, const void *params, const struct value *in,
                              struct interval part, struct analysis_result *result, struct error *error);
enum status gaussian_grid_end(struct run *run, const void *params, const struct shape *in,
                              struct analysis_result *result, struct error *error);

/* Enqueues the blur that a grid describes, and allocates the planes of `out`. The same bits as gaussian_blur.
 */
enum status gaussian_interpolate(struct run *run, const struct gaussian *gaussian, const struct planes *grid,
                                 struct value *out, struct error *error);

/* Callback `run`: enqueues the gradient magnitude of the blurred input, and allocates the planes of `out`.
 * Alpha is copied. On the coarse grid the interpolating Gaussian is differentiated. */
enum status gaussian_gradient(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error);

#endif
