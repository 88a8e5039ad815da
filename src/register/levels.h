/* The brightness of a picture on the host, from coarse to fine: what registration works on. */
#ifndef CLIMG_REGISTER_LEVELS_H
#define CLIMG_REGISTER_LEVELS_H

#include "base/error.h"
#include "base/threads.h"
#include "filters/warp.h"

/* Floats behind the last row that may be read. */
enum { GRAY_PADDING = 7 };

/* Brightness, and how much each pixel counts, from 0 to 1. */
struct gray_plane {
    int width, height;
    float *values, *weights;
};

enum status gray_plane_make(struct gray_plane *gray, int width, int height, struct error *error);
void gray_plane_free(struct gray_plane *gray);

/* What threads share a picture out by. */
int gray_plane_blocks(const struct gray_plane *gray);
struct rows gray_plane_block(const struct gray_plane *gray, int index);

/* Half the size: two pixels become one, under weights 1 3 3 1. */
extern const struct line gray_halving;

struct level {
    struct gray_plane gray;
    float *across, *down; /* of a reference: the slopes of the values, 0 at the border */
    double factor;        /* pixels of the whole picture along an axis that one of these stands for */
};

enum { MOST_REDUCTIONS = 24 };

/* The finest level first. */
struct levels {
    struct level level[MOST_REDUCTIONS];
    int count;
    struct gray_plane detail; /* of the coarsest one */
};

/* The levels of a picture that was reduced so. They take the picture, also on failure. Those of a reference
 * go down to a side of 64 pixels and have slopes; those of a picture are as many as `reference` has. The
 * values become free of their mean and of a standard deviation of 1. */
enum status levels_make(struct workers *workers, struct levels *levels, struct gray_plane *picture,
                        int reduction, const struct levels *reference, struct error *error);

/* Safe on zeroed ones, and twice. */
void levels_free(struct levels *levels);

/* A map of whole pictures as one of a level's pixels, and back. */
struct affine level_from_whole(const struct level *level, struct affine whole);
struct affine level_to_whole(const struct level *level, struct affine affine);

/* ---------------------------------------------------------------- means of rows
 *
 * Weighted means of rows that come one by one, along both axes. */

/* Output i of a line is a sum over taps, of which the first lies at sample step * i + start. */
struct line {
    const float *taps;
    int count, start, step; /* step: 1 or 2 */
};

/* The rows of a source that the next output rows are made of, summed up along x. */
struct row_filter {
    struct line line;           /* of both axes */
    int width, height, outputs; /* of the source, and the width of the result */
    float *product;             /* a row of the source */
    float *rows;                /* line.count of values and as many of weights; row y is y % line.count */
};

/* The taps must live as long. Safe to be freed also on failure. */
enum status row_filter_make(struct row_filter *filter, const struct line *line, int width, int height,
                            struct error *error);
void row_filter_free(struct row_filter *filter);

/* The row behind those of the source that output row y is made of. */
int row_filter_end(const struct row_filter *filter, int y);

/* Takes row y of the source, which is a mean of what counts. */
void row_filter_take(struct row_filter *filter, int y, const float *values, const float *weights);

/* Makes output row y, a mean of what counts, too, once the rows that it is made of were taken, and none
 * behind them. */
void row_filter_give(const struct row_filter *filter, int y, float *values, float *weights);

#endif
