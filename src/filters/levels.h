/* The brightness of a picture on the host, from coarse to fine: what registration works on. */
#ifndef CLIMG_FILTERS_LEVELS_H
#define CLIMG_FILTERS_LEVELS_H

#include "base/error.h"
#include "base/workers.h"
#include "filters/row_filter.h"
#include "filters/warp.h"

/* Brightness, and how much each pixel counts, from 0 to 1. */
struct grey {
    int width, height;
    float *values, *weights;
};

enum status grey_make(struct grey *grey, int width, int height, struct error *error);
void grey_free(struct grey *grey);

/* What threads share a picture out by. */
int grey_blocks(const struct grey *grey);
struct rows grey_block(const struct grey *grey, int index);

/* Half the size: two pixels become one, under weights 1 3 3 1. */
extern const struct line grey_halving;

/* Replaces the values by their weighted mean under a Gaussian, of what lies within. */
enum status grey_smooth(struct workers *workers, struct grey *grey, double sigma, struct error *error);

/* What of the values is finer than that Gaussian, times the weights, as new values of all weights 1 or 0. */
enum status grey_detail(struct workers *workers, const struct grey *grey, double sigma, struct grey *detail,
                        struct error *error);

struct level {
    struct grey grey;
    float *across, *down; /* of a reference: the slopes of the values, 0 at the border */
    double factor;        /* pixels of the whole picture along an axis that one of these stands for */
};

enum { MOST_REDUCTIONS = 24 };

/* The finest level first. */
struct levels {
    struct level level[MOST_REDUCTIONS];
    int count;
    struct grey detail; /* of the coarsest one */
};

/* The levels of a picture that was reduced so. They take the picture, also on failure. Those of a reference
 * go down to a side of 64 pixels and have slopes; those of a picture are as many as `reference` has. The
 * values become free of their mean and of a standard deviation of 1. */
enum status levels_make(struct workers *workers, struct levels *levels, struct grey *picture, int reduction,
                        const struct levels *reference, struct error *error);

/* Safe on zeroed ones, and twice. */
void levels_free(struct levels *levels);

/* A map of whole pictures as one of a level's pixels, and back. */
struct affine level_from_whole(const struct level *level, struct affine whole);
struct affine level_to_whole(const struct level *level, struct affine affine);

#endif
