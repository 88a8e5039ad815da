/* Estimates the noise of an image, for each channel and level of its pyramid.
 *
 * The noise of a camera is not white: interpolation of colours and JPEG make it weaker on the finest levels
 * than on coarse ones, and it differs between brightness and colour. So there is a number for each plane and
 * level.
 *
 *     live cells ─▶ energies at up to 64 x 64 positions ─▶ histograms ─▶ three quantiles ─▶ model ─▶ sigma
 *     noise_live    noise_count                                          noise_find
 *
 * Pixels that are clipped, transparent or in areas of one colour show no noise: they are dead, and do not
 * count. A cell is the 2^l x 2^l pixels of one coefficient of level l. Its liveness is the share of its
 * pixels that are live, as far as they are tested (kernels/live.cl).
 *
 * 1. The energy of a position and subband is the mean of |z|^2 / 2 over the live ones of its 7x7
 *    coefficients. Noise has nearly the same energy everywhere; detail adds to it. So the 5% quantile belongs
 *    to smooth areas. The other quantiles are the median and the 85% quantile.
 * 2. If the median and the 5% quantile have the ratio of white noise, the level has no texture, and the
 *    median is the energy of the noise.
 * 3. Otherwise a linear model predicts the logarithm of the noise from the logarithms of the three quantiles,
 *    on all levels, of the plane itself and of the other colours. tests/bench/noise_model.py fits it to
 *    pictures with known noise. It uses only ratios: twice the contrast gives twice the noise.
 * 4. The energies of brightness on level 1 are also counted by the brightness of their position, in eight
 *    ranges (tones). Their 5% quantiles give a curve, by which the noise of all planes is multiplied.
 *
 * Red, green and blue are denoised separately if their noise differs by more than a factor of 4.
 * docs/denoising.md has the results.
 *
 * Sources: S. Olsen, "Estimation of noise in images: an evaluation", CVGIP 55 (1993), for quantiles; M.
 * Lebrun, M. Colom, J.-M. Morel, "The noise clinic", IPOL 5 (2015), for noise by level. */
#ifndef CLIMG_WAVELET_NOISE_H
#define CLIMG_WAVELET_NOISE_H

#include "wavelet/dtcwt_design.h"
#include "wavelet/noise_estimate.h"

/* Noise on the device, for the kernels of shrinkage. */
struct noise {
    cl_mem levels;    /* for each level NOISE_ROWS rows, which have a float for each plane (noise.c) */
    cl_mem variances; /* for each plane eight floats: 0.8 times the variance of the noise at the frequencies 0
                         to 7 of a block of 8 x 8 cosines (kernels/cosines.cl); 0.8, as the first
                         denoising has lost some of the signal */
    cl_mem tones;     /* the curve of each image (kernels/tones.h): its first value, then differences to the
                         next ones */
    cl_int by_tone;   /* 0: no image has a curve */
    cl_int channels;  /* planes of an image */
    cl_int pitch;     /* floats from row to row, in levels */
};

/* Returns the offset in noise->levels, in floats, of a level's first row. Levels count from 1. */
cl_int noise_level_offset(const struct noise *noise, int level);

/* Copies the noise of all images of `shape`, times `strength`, to the device. The memory objects of *noise
 * belong to the run. `images` has shape->images elements, here and below. */
enum status noise_set(struct run *run, const struct shape *shape, const struct image_noise *images,
                      double strength, struct noise *noise, struct error *error);

/* Sets all images to white noise of standard deviation `sigma` (full scale is 1) in all channels but alpha.
 * On each level it is multiplied by the gain of the transform's filters. */
void noise_white(const struct shape *shape, double sigma, struct image_noise *images);

/* ---------------------------------------------------------------- estimate
 *
 * The caller allocates noise_counters(shape) counters of 32 bits, all zero, calls noise_count for the
 * subbands of each level, in any ranges of rows, and then noise_find. */

/* Returns the number of counters for a pyramid of this shape. */
size_t noise_counters(const struct shape *shape);

/* Returns the rows of a pyramid to compute for rows `part` of the image: the rows of the coarsest lowpass
 * that belong to the part, and all finer rows that they need. `counts`: also the rows of subbands that
 * counting the part's energies takes; otherwise subbands have one row, as planes cannot be empty. */
struct dtcwt_rows noise_part_rows(const struct shape *pyramid, struct interval part, bool counts);

/* Counts the energies at the positions in rows `own` of a level. `subbands` has at least these rows and three
 * more on each side, `live` the live cells of noise_live_rows(); NULL: all coefficients that are not 0 are
 * live. `opponent`: three colours are brightness and two differences, not red, green and blue. `image` has
 * the pixels of the rows, for the brightness of positions on level 1; it is used only if `opponent`. NULL:
 * energies are not counted by brightness. Does nothing for levels above NOISE_LEVELS. */
enum status noise_count(struct run *run, const struct shape *shape, cl_mem counters, int level,
                        const struct planes *subbands, bool opponent, const struct planes *live,
                        const struct planes *image, struct interval own, struct error *error);

/* Waits for the counts, and estimates the noise of each image. Also stores it in run->results.noise, unless
 * an earlier stage has stored its noise. */
enum status noise_find(struct run *run, const struct shape *shape, cl_mem counters,
                       struct image_noise *images, struct error *error);

/* ---------------------------------------------------------------- constant colours
 *
 * For a noise that the user gives. A colour that is constant in more than nine tenths of the picture, as in
 * an RGB file of one fluorescent dye, is not changed even then. The caller calls noise_count_constant for all
 * rows of the image, in any ranges, then noise_find_constant with the image's size. */

/* Counts the positions in rows `own` at which red, green or blue is constant: three neighbours along x are
 * equal, up to rounding. `counters` has three per image, all zero at first; colour c of image i has counter 3
 * i + c. `opponent`: the planes have opponent colours. */
enum status noise_count_constant(struct run *run, const struct shape *shape, cl_mem counters,
                                 const struct planes *planes, bool opponent, struct interval own,
                                 struct error *error);

/* Waits for the counts, and sets all images to white noise of standard deviation `sigma` (full scale is 1).
 * If one or two colours of an image are constant, it becomes separate, and the noise of these colours 0. */
enum status noise_find_constant(struct run *run, const struct shape *shape, cl_mem counters, int width,
                                int height, double sigma, struct image_noise *images, struct error *error);

/* ---------------------------------------------------------------- live cells */

/* Returns the rows of live cells that counting rows `own` of a level of `height` rows reads. */
struct interval noise_live_rows(int height, struct interval own);

/* Computes `rows` of a level's live cells: for level 1 from the image, for others from the cells of the next
 * finer level, `finer`. If *live is zeroed, allocates planes with these rows, which the caller releases;
 * otherwise *live has planes that include these rows. */
enum status noise_live(struct run *run, const struct value *image, const struct planes *finer, int level,
                       struct interval rows, struct planes *live, struct error *error);

#endif
