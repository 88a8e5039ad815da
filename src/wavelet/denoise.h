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

#include "filters/tiles.h"
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
extern const struct analysis denoise_analysis; /* denoise_analysis.c */

/* ---------------------------------------------------------------- steps that slices and analysis share */

/* Planes of the analysis result: the lowpass of the last fine level (noisy until the analysis ends), the
 * noisy subbands of the next level, and the live cells (wavelet/noise.h) of the last fine level. */
enum { LOWPASS, PARENTS, CELLS };

/* True if the noise is estimated. */
bool denoise_estimates(const struct denoise *denoise);

/* Return the shape of an image's pyramid, and of its fine levels, with the default filters of --wavelet. Odd
 * sizes are padded at the end, so that a parent covers exactly its children: 0.04 dB on BSD68 at sigma 25. */
struct shape denoise_pyramid(const struct denoise *denoise, const struct shape *image);
struct shape denoise_fine(const struct denoise *denoise, const struct shape *image);

/* Returns the rows of all levels and of the image that denoising rows `out` needs. */
struct dtcwt_rows denoise_needed_rows(const struct shape *pyramid, struct interval out);

/* Returns the rows of an image that are needed to replace missing values in `rows`. */
struct interval denoise_filled_rows(const struct shape *image, struct interval rows);

/* Replaces missing values of the image (*filled), then converts it to opponent colours, or to red, green and
 * blue if not `opponent` (*noisy). The caller initialises both as copies of *image. Unchanged, *filled shares
 * the planes of *image, and *noisy those of *filled. So the caller releases both with value_release_except,
 * also after a failure. */
enum status denoise_prepare(struct run *run, const struct value *image, bool has_missing, bool opponent,
                            struct value *filled, struct value *noisy, struct error *error);

/* True if something must be counted: energies, unless the noise is given or known from an earlier frame of
 * the video; or constant colours, if the noise of a colour picture is given. */
bool denoise_needs_counts(const struct run *run, const struct denoise *denoise, const struct shape *image);

/* Sets the noise if it is known before the image is transformed: by SIGMA, or from an earlier frame.
 * Otherwise returns false, and denoise_needs_counts is true. */
bool denoise_find_known_noise(struct run *run, const struct denoise *denoise, const struct shape *image,
                              struct image_noise *images);

/* Counts the energies of whole levels, from level `first` on. `cells` are the live cells of the next finer
 * level; they are released. If `first` is 1, `cells` is zeroed, and the image gives the cells of level 1. */
enum status denoise_count_levels(struct run *run, const struct value *image, int first,
                                 const struct value *pyramid, struct planes *cells, cl_mem counters,
                                 struct error *error);

/* Waits for the counts, and computes the noise of images. A frame of a video without an estimate, such as a
 * black one, gets the noise of earlier frames. */
enum status denoise_find_noise(struct run *run, const struct denoise *denoise, const struct shape *pyramid,
                               cl_mem counters, struct image_noise *images, struct error *error);

/* True if any colour image has is_separate == `separate`. */
bool denoise_has_separate(const struct shape *shape, const struct image_noise *images, bool separate);

/* Converts the levels after level `fine`, and the lowpass, to red, green and blue, for images whose colours
 * are separate. */
enum status denoise_separate_coarse(struct run *run, const struct image_noise *images, int fine,
                                    struct value *pyramid, struct error *error);

#endif
