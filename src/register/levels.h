/* Pyramids of a picture's brightness, on the host.
 *
 *     level 0    the picture of brightness.c, normalized, and smoothed after level 1 was computed
 *     level i    half the width and height of level i - 1, rounded up
 *     detail     the coarsest level minus its local mean, times the weight; search.c correlates it
 *
 * Every pixel has a weight: 0 if it is missing (transparent, NaN, infinite, at the border), else up to 1.
 * Filters compute weighted means, so missing pixels do not affect others.
 *
 * The caller owns each struct and frees it. Functions with `workers` divide rows among threads; their results
 * do not depend on the number of threads. */
#ifndef CLIMG_REGISTER_LEVELS_H
#define CLIMG_REGISTER_LEVELS_H

#include "base/affine.h"
#include "base/error.h"
#include "base/threads.h"
#include "filters/warp.h"

/* Number of floats after the last row that may be read, so that loops over 8 pixels have no remainder. */
enum { GRAY_PADDING = 7 };

/* Brightness and weight of each pixel, row by row without gaps. */
struct gray_plane {
    int width, height; /* pixels */
    float *values;     /* brightness, as in the picture or normalized by levels_make; owned */
    float *weights;    /* 0 to 1; in the allocation of `values` */
};

/* Allocates a plane of zeros. */
enum status gray_plane_make(struct gray_plane *gray, int width, int height, struct error *error);

/* Frees the memory. The plane may be zeroed or freed already, as for all functions below that free. */
void gray_plane_free(struct gray_plane *gray);

/* Return the number of blocks of rows that are divided among threads, and the rows of a block. Blocks depend
 * on the plane's size only, so sums by block are equal for any number of threads. */
int gray_plane_blocks(const struct gray_plane *gray);
struct interval gray_plane_block(const struct gray_plane *gray, int index);

/* The filter that halves the size: taps 1 3 3 1, a triangle two output pixels wide. */
extern const struct line_filter gray_halving;

/* One level of a pyramid. */
struct level {
    struct gray_plane gray;
    float *across, *down; /* derivatives of a reference along x and y, 0 at the border; NULL for a picture */
    double factor;        /* pixels of the whole picture per pixel of this level, along an axis */
};

enum { MAX_LEVEL_COUNT = 24 };

/* A pyramid. level[0] is the finest one. */
struct levels {
    struct level level[MAX_LEVEL_COUNT];
    int count;                /* number of levels */
    struct gray_plane detail; /* the coarsest level minus its local mean; weights are 0 or 1 */
};

/* Makes the pyramid of a picture that was reduced by `reduction`. Limits single bright or dark pixels, and
 * scales values to a mean of 0 and a standard deviation of 1 before level 0 is smoothed. If `reference` is
 * NULL the picture is a reference: its coarsest level is at most 64 pixels wide and high, unless it is
 * elongated, and its levels have derivatives. Otherwise the pyramid has as many levels as `reference`,
 * without derivatives. */
enum status levels_make(struct thread_pool *workers, struct levels *levels, const struct gray_plane *picture,
                        int reduction, const struct levels *reference, struct error *error);

/* Frees all memory. */
void levels_free(struct levels *levels);

/* Convert a map between whole pictures to one between pixels of a level, and back. Both pictures have the
 * level's factor. */
struct affine level_from_whole(const struct level *level, struct affine whole);
struct affine level_to_whole(const struct level *level, struct affine affine);

/* Resamples a picture at the pixels of `sampled` in `rows`, by cubic interpolation; `affine` maps these
 * pixels to the picture. Values and weights are 0 outside the picture and in its outermost pixels. Other rows
 * of `sampled` are unchanged. */
void sample_rows(const struct gray_plane *picture, const struct affine *affine, struct interval rows,
                 struct gray_plane *sampled);

/* ---------------------------------------------------------------- filters of rows
 *
 * A separable filter of a plane whose rows arrive one after the other:
 *
 *     row_filter_add      filters a source row along x and stores it, in a ring of as many rows as taps
 *     row_filter_output   sums the rows of the ring along y, and divides by the sum of weights
 *
 * So a file is halved while it is decoded, and never completely in memory. */

/* A filter along a line: output i = sum over k of taps[k] * sample[step * i + start + k]. Samples beyond the
 * ends have weight 0. */
struct line_filter {
    const float *taps;
    int count, start, step; /* step: 1 or 2 */
};

/* The state of a filter: the source rows of the next output row, filtered along x. */
struct row_filter {
    struct line_filter line; /* for both axes */
    int width, height;       /* of the source */
    int outputs;             /* width of the result */
    float *rows;    /* ring of line.count rows, each values and weights; row y is at y % line.count; owned */
    float *product; /* one source row between zeros: values times weights, or weights */
};

/* Starts a filter of a source of width x height. The taps must outlive it. Free it also after a failure. */
enum status row_filter_make(struct row_filter *filter, const struct line_filter *line, int width, int height,
                            struct error *error);

/* Frees the memory. */
void row_filter_free(struct row_filter *filter);

/* Returns the end of the source rows that output row y needs. */
int row_filter_end(const struct row_filter *filter, int y);

/* Adds source row y. Call it in the order of rows; rows that no output needs may be left out. */
void row_filter_add(struct row_filter *filter, int y, const float *values, const float *weights);

/* Computes output row y, after the source rows before row_filter_end(filter, y) were added, and no others. */
void row_filter_output(const struct row_filter *filter, int y, float *values, float *weights);

#endif
