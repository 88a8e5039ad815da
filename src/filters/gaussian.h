/* Gaussian filters of any width, as products (filters/product.h).
 *
 * A wide one runs on a coarser grid. A Gaussian of the standard deviation sigma is three, one after the
 * other, whose variances add up to its own: one that is sampled only every sigma / 2 pixels, or every 12,
 * where it leaves nothing that the coarser grid could not hold; one on the samples that are left; and one
 * that interpolates them. What is done for a pixel hardly grows with sigma, and each result depends on a
 * window alone: slices change no bit. A recursive filter would do as little, but in floats the error of a
 * constant picture grows with sigma, to 4e-5 at 1000, and it goes through each axis in order.
 *
 * Samples mix frequencies that differ by one a sample. Of Gaussians of s, m and again s samples, S together,
 * the three leave at most 2 exp(-2 (pi s)^2 (1 - (s / S)^2)) of what is mixed in: 3e-6 for the s of
 * gaussian.c, 0.93, and S = 2, and less for more. With what is cut off, at 5 s, results are within 5e-6 of
 * full scale of the sampled Gaussian that nothing is cut off from. */
#ifndef CLIMG_FILTERS_GAUSSIAN_H
#define CLIMG_FILTERS_GAUSSIAN_H

#include "filters/product.h"

/* The parameters of a stage that smooths by a Gaussian begin with this. */
struct gaussian {
    double sigma;
    double truncate;  /* it ends at floor(truncate * sigma + 0.5), the convention of
                       * scipy.ndimage.gaussian_filter; 0: what is cut off weighs less than 2.1e-6, or nothing
                       * is */
    int across, down; /* pixels that sigma counts for one along x and y, as video's colour has it; 0: 1 */
    int taps, y_taps; /* along x, along y */
    float *weights, *y_weights; /* of the filter, then of its derivative; NULL: it runs on a coarser grid */
};

/* The row of truncate= in the stage's table. */
#define GAUSSIAN_TRUNCATE                                                                                    \
    {                                                                                                        \
        .name = "truncate", .type = OPTION_REAL, .offset = offsetof(struct gaussian, truncate),              \
        .fallback = "0", .max = 20, .value = "N",                                                            \
        .help = "cut the filter off at N standard deviations; 0: nowhere"                                    \
    }

/* `check`, `release`, `rows` of such a stage. */
enum status gaussian_make(void *params, struct error *error);
void gaussian_free(void *params);
struct rows gaussian_rows(const void *params, const struct shape *in, struct rows out);

/* And `coarsen`. */
enum status gaussian_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error);

/* A stage's output, by the Gaussian and a last step. */
enum status gaussian_blur(struct run *run, const struct gaussian *gaussian, const struct epilogue *epilogue,
                          const struct value *in, struct value *out, struct error *error);

/* The length of its gradient; a coarse one is that of the interpolation. */
enum status gaussian_gradient(struct run *run, const struct gaussian *gaussian, const struct value *in,
                              struct value *out, struct error *error);

#endif
