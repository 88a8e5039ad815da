/* The noise of an image, for each channel and level of its pyramid.
 *
 * Noise is not white any more once a camera has interpolated its colours, or JPEG has rounded its
 * coefficients: it is weaker at the finest levels than at the coarse ones, and differs between brightness and
 * colour. For each plane and level climg measures the mean of |z|^2 over the 7x7 neighbours of a coefficient.
 * Places without detail have the smallest one. So a low quantile bounds the noise, and the median
 * separates noise, whose energy is nearly the same everywhere, from texture: if their ratio is that of white
 * noise, there is no texture. Elsewhere a linear model of these quantiles' logarithms, on all levels and in
 * the other colours, gives the logarithm of the noise. tests/bench/noise_model.py fits it to pictures with
 * known noise. An image of twice the contrast has twice the noise.
 *
 * Places that are clipped, transparent or of one colour have no noise and say nothing of it: they are left
 * out (kernels/live.cl). Colours whose noise is very different are denoised each by itself. */
#ifndef CLIMG_WAVELET_NOISE_H
#define CLIMG_WAVELET_NOISE_H

#include "engine/run.h"

/* On the device: the standard deviation that white noise of the image would have to have, full scale being 1,
 * to be as strong as the noise is in a plane of a level. 0 where the plane is to stay as it is. */
struct noise {
    cl_mem sigma; /* of the planes of level 1, then of level 2 */
    cl_int pitch; /* from level to level; 0: all levels have the same */
    cl_int above; /* from a level's noise to its parents': 0 takes it for as strong */
};

/* Returns the index in `sigma` of a level's first plane; levels count from 1. */
cl_int noise_at(const struct noise *noise, int level);

/* Copies the noise of the images of `shape`, times `strength`, to the device. */
enum status noise_set(struct run *run, const struct shape *shape, const struct image_noise *images,
                      double strength, struct noise *noise, struct error *error);

/* Sets white noise of standard deviation sigma, full scale being 1, in all channels but alpha, as it is on
 * each level. */
void noise_white(const struct shape *shape, double sigma, struct image_noise *images);

/* Finding the noise of a pyramid takes three steps: counters, `noise_words` of them, all zero; the subbands
 * of each level, counted, perhaps some rows after others; the noise from the counts. */
size_t noise_words(const struct shape *shape);

/* Places along each axis of a level at which energies are counted (all samples of smaller levels). More would
 * not help: the error of the quantiles is below that of the model. */
enum { NOISE_PLACES = 64 };

/* Counts rows `own` of a level, whose noise_neighbours are there, too, of `height` rows. `live` has the live
 * cells of the level; NULL: coefficients that are not 0 count. `opponent`: three colours are brightness and
 * two differences. */
struct rows noise_neighbours(int height, struct rows own);
enum status noise_count(struct run *run, const struct shape *shape, cl_mem words, int level,
                        const struct planes *subbands, bool opponent, const struct planes *live,
                        struct rows own, struct error *error);

/* Waits for the counts, and finds the noise of each image, which becomes run->results.noise. */
enum status noise_find(struct run *run, const struct shape *shape, cl_mem words, struct image_noise *images,
                       struct error *error);

/* If the noise of three colours is known, colours that are constant nearly everywhere must be found
 * nevertheless. Counters as above; rows of the planes of the image, or of a layer of its finest subbands, of
 * width x height; then white noise of standard deviation `sigma` but for colours that are constant, of which
 * there are some if images are separate. */
enum status noise_count_constant(struct run *run, const struct shape *shape, cl_mem words,
                                 const struct planes *planes, bool opponent, struct rows own,
                                 struct error *error);
enum status noise_find_constant(struct run *run, const struct shape *shape, cl_mem words, int width,
                                int height, double sigma, struct image_noise *images, struct error *error);

/* Finds rows of the live cells of a level: of level 1 from an image, of others from the level before, which
 * has their children. `live`, if zeroed, becomes planes of these rows, to be released; else it has the rows
 * already. */
struct rows noise_live_rows(int height, struct rows own);
enum status noise_live(struct run *run, const struct value *image, const struct planes *finer, int level,
                       struct rows rows, struct planes *live, struct error *error);

#endif
