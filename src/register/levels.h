/* Pyramids of a picture's brightness on the host. */
#ifndef CLIMG_REGISTER_LEVELS_H
#define CLIMG_REGISTER_LEVELS_H

#include "base/error.h"
#include "base/threads.h"
#include "filters/warp.h"

/* Number of floats after the last row that may be read. */
enum { GRAY_PADDING = 7 };

/* Brightness, and the weight of each pixel, from 0 to 1. */
struct gray_plane {
    int width, height;
    float *values, *weights;
};

enum status gray_plane_make(struct gray_plane *gray, int width, int height, struct error *error);
void gray_plane_free(struct gray_plane *gray);

/* Blocks of rows that threads work on; they depend on the size alone. */
int gray_plane_blocks(const struct gray_plane *gray);
struct rows gray_plane_block(const struct gray_plane *gray, int index);

/* Halves the size, with taps 1 3 3 1. */
extern const struct line gray_halving;

struct level {
    struct gray_plane gray;
    float *across, *down; /* slopes of a reference's values, 0 at the border; NULL for a picture */
    double factor;        /* pixels of the whole picture per pixel, along an axis */
};

enum { MOST_REDUCTIONS = 24 };

/* The finest level first. */
struct levels {
    struct level level[MOST_REDUCTIONS];
    int count;
    struct gray_plane detail; /* of the coarsest level: its values less their local mean */
};

/* Makes the levels of a picture that was reduced by `reduction`. Takes over its memory, also on failure. A
 * reference
 * (`reference` is NULL) has levels down to a side of 64 pixels, and slopes; a picture has as many as its
 * reference. Single bright or dark pixels are limited, and values scaled to a mean of 0 and a standard
 * deviation of 1. */
enum status levels_make(struct workers *workers, struct levels *levels, struct gray_plane *picture,
                        int reduction, const struct levels *reference, struct error *error);

/* Frees all memory; may be called on zeroed levels, and twice. */
void levels_free(struct levels *levels);

/* Convert a map of whole pictures to a map of a level's pixels, and back. */
struct affine level_from_whole(const struct level *level, struct affine whole);
struct affine level_to_whole(const struct level *level, struct affine affine);

/* ---------------------------------------------------------------- filters of rows
 *
 * Weighted means along both axes of rows that are given one by one. */

/* A 1-D filter: output i = sum over k of taps[k] * sample[step * i + start + k]. */
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

/* The taps must outlive the filter. May be freed also after a failure. */
enum status row_filter_make(struct row_filter *filter, const struct line *line, int width, int height,
                            struct error *error);
void row_filter_free(struct row_filter *filter);

/* Returns the source row after the last one that output row y needs. */
int row_filter_end(const struct row_filter *filter, int y);

/* Adds row y of the source. */
void row_filter_add(struct row_filter *filter, int y, const float *values, const float *weights);

/* Computes output row y, after all source rows that it needs were added, and no later ones. */
void row_filter_output(const struct row_filter *filter, int y, float *values, float *weights);

#endif
