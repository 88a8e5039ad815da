/* The stage --denoise: dual-tree transform, noise estimate, shrinkage, inverse. An image is denoised as a
 * whole or in slices, with the same bits.
 *
 * With six levels of the transform a row depends on up to 818 rows above and below, with three on 90. So
 * slices transform only the fine levels, after an analysis pass over all slices:
 *
 *     add (a slice)   transform the fine levels; count energies; keep the lowpass, 1/16 of the image or less
 *     end             estimate the noise; transform the coarse levels from the lowpass, shrink, invert
 *     run (a slice)   transform the fine levels; replace their lowpass by the denoised one; shrink, invert
 *
 * The analysis result contains the denoised lowpass of the last fine level, and the noisy subbands of the
 * next level, which are the parents of the last fine one. */
#ifndef CLIMG_WAVELET_DENOISE_H
#define CLIMG_WAVELET_DENOISE_H

#include "wavelet/shrink.h"

/* The stage's parameters. */
struct denoise {
    double sigma;    /* standard deviation of the noise, in 8-bit counts; NAN: estimate it */
    int levels;      /* of the transform, 1 to MAX_LEVELS */
    double strength; /* factor of the noise */
    int high;        /* 1: quality=high, a second step in cosine blocks (wavelet/cosines.h) */
};

/* The callbacks `rows`, `run` and `analysis` of the stage (engine/stage.h). */
struct interval denoise_rows(const void *params, const struct shape *image, struct interval out);
enum status denoise_run(struct run *run, const void *params, const struct value *in, struct value *out,
                        struct error *error);
extern const struct analysis denoise_analysis;

#endif
