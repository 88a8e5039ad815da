/* The noise of an image, for each plane and level of its pyramid.
 *
 * Noise is not white any more once a camera has interpolated its colours, or JPEG has rounded its
 * coefficients: it is weaker at the finest levels than at the coarse ones, and differs between luminance and
 * colour. What is measured of each plane and level is the mean of |z|^2 over the 7x7 neighbours of a
 * coefficient. Places without detail have the smallest; so a low quantile bounds the
 * noise, and the median tells noise, whose energy is nearly the same everywhere, from texture: where it is as
 * near as white noise has it, there is nothing else. Elsewhere a linear model of these quantiles' logarithms,
 * on all levels and in the other colours, gives the logarithm of the noise. tests/bench/noise_model.py fits
 * it to pictures with known noise. An image of twice the contrast has twice the noise. */
#ifndef CLIMG_FILTERS_NOISE_H
#define CLIMG_FILTERS_NOISE_H

#include "engine/run.h"

/* On the device: the standard deviation that white noise of the image would have to have, full scale being 1,
 * to be as strong as the noise is in a plane of a level. 0 where the plane is to stay as it is. */
struct noise {
    cl_mem sigma;
    cl_int at;                  /* of plane 0 of level 1 */
    cl_int pitch;               /* from level to level; 0: all levels have the same */
    cl_int above;               /* from a level's noise to its parents': 0 takes it for as strong */
    float strength;             /* a factor of all noise, set before it is found or given */
    cl_int planes, features_at; /* while it is found: noise.c */
};

/* The index of the noise of a level's first plane; levels count from 1. */
cl_int noise_at(const struct noise *noise, int level);

/* The words that counts and noise of a pyramid take, and the noise where they are elsewhere than noise_begin
 * has them. */
size_t noise_words(const struct shape *shape);
struct noise noise_in(const struct shape *shape, cl_mem words);

/* White noise of standard deviation sigma, full scale being 1, in all planes but alpha, as it is on each
 * level. */
enum status noise_give(struct run *run, double sigma, const struct shape *shape, struct noise *noise,
                       struct error *error);

/* The noise of a pyramid, in three steps: room for counts; the subbands of each level, counted, perhaps some
 * rows after others; the noise from the counts. Three colours must be luminance and two differences
 * (opponent_colours).
 */
enum status noise_begin(struct run *run, const struct shape *shape, struct noise *noise, struct error *error);

/* Energies are counted at so many places along each axis of a level, or at all samples of fewer: their
 * quantiles err by less than the model. */
enum { NOISE_PLACES = 64 };

/* Rows `own` of a level; their noise_neighbours, of `height` rows, are there, too. */
struct rows noise_neighbours(int height, struct rows own);
enum status noise_count(struct run *run, const struct noise *noise, int level, const struct planes *subbands,
                        struct rows own, struct error *error);
enum status noise_end(struct run *run, const struct shape *shape, const struct noise *noise,
                      struct error *error);

#endif
