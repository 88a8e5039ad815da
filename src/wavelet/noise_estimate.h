/* Counts of energies, and the estimate of an image's noise from them (noise_estimate.c).
 *
 * Thread safety: no state. */
#ifndef CLIMG_WAVELET_NOISE_ESTIMATE_H
#define CLIMG_WAVELET_NOISE_ESTIMATE_H

#include "engine/run.h"

enum {               /* the same in kernels/noise.cl */
       CLASSES = 2,  /* of positions: upper class and lower class, by their live neighbours */
       BINS = 768,   /* of a histogram */
       QUANTILES = 3 /* of a histogram: 5%, 50%, 85% */
};

/* Index of the quantiles of a plane and level, or of a tone. */
enum { UPPER_CLASS, BOTH_CLASSES };

/* Quantiles of energies. Written by the kernel noise_quantiles. */
struct energy_quantiles {
    cl_uint total; /* number of energies: up to six per position, one for each subband */
    struct {
        cl_uint bin;   /* index of the bin that contains the quantile */
        cl_uint below; /* number of energies in lower bins */
        cl_uint own;   /* number of energies in this bin */
    } quantile[QUANTILES];
};

/* Positions along an axis of a level at which energies are counted; smaller levels are counted completely.
 * More would not help, as the model has a larger error than the quantiles. */
enum { NOISE_POSITIONS = 64 };

/* Return the number of counted planes of an image, which for three colours is six (noise.c), and of counted
 * levels. */
int counted_planes(const struct shape *shape);
int counted_levels(const struct shape *shape);

/* Returns the number of positions along an axis of n coefficients. */
int noise_positions(int n);

/* True if a float image has such large or small values that its noise is not measured: an energy is beyond
 * the bins, or the first plane's noise and coarsest detail are less than some tenths of an 8-bit count. */
bool noise_is_off_scale(const struct shape *shape, const struct energy_quantiles *counts);

/* Estimates the noise of an image. Three colours are measured as opponent colours; or as red, green and blue
 * (is_separate) if their noise differs too much or one or two of them are constant. `counts` points to the
 * image's first plane on level 1, `tones` to its first tone. Each plane and tone has two structs, UPPER_CLASS
 * and BOTH_CLASSES. `tones` is not read unless there are three colours. */
struct image_noise noise_estimate(const struct shape *shape, const struct energy_quantiles *counts,
                                  const struct energy_quantiles *tones);

#endif
