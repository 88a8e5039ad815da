/* Weights for scaling by powers of two, and for antialiased resizing to any size.
 *
 * Pure functions, thread-safe, without allocations. Weights are computed in double with base/exact.h, so they
 * are the same on every system. */
#ifndef CLIMG_FILTERS_RESAMPLE_H
#define CLIMG_FILTERS_RESAMPLE_H

#include "engine/stage.h"

#include <stdbool.h>

/* Weights that repeat every `period` outputs, while the window advances by `step` samples:
 *
 *     dst[o] = sum over k < taps of weights[o % period][k] * src[first + k]
 *     first  = floor((o + lead) / period) * step + start
 *
 * A filter that keeps the size has period 1 and step 1, a reduction by n has step n, an enlargement by n has
 * period n. */
struct filter {
    const float *weights; /* `period` rows of `taps` weights, not owned. NULL: no filter */
    int taps, start, step, period;
    int lead; /* 0 to period - 1: the window moves on this many outputs before a multiple of the period */
};

enum resampler { RESAMPLE_BICUBIC, RESAMPLE_BILINEAR, RESAMPLE_BSPLINE, RESAMPLE_NEAREST, RESAMPLE_LANCZOS };

#define RESAMPLE_CHOICES "bicubic|bilinear|bspline|nearest|lanczos"

/* Samples from which --scale interpolates. CENTERS: the picture's samples, which are at pixel centres.
 * CORNERS: samples at pixel corners, which are first interpolated from the picture's samples. */
enum grid { GRID_CENTERS, GRID_CORNERS };

#define GRID_CHOICES "centers|corners"

enum {
    MAX_FACTOR = 64,       /* of --scale */
    MAX_RESAMPLE_TAPS = 6, /* of an interpolation kernel: Lanczos */
    /* Weights of an enlargement by MAX_FACTOR on the grid of corners, which has the most: a row for each
       phase. */
    MAX_RESAMPLE_WEIGHTS = (2 * MAX_RESAMPLE_TAPS - 1) * MAX_FACTOR
};

/* Computes the filter of an enlargement by `factor`, 2 to MAX_FACTOR. `weights` has room for
 * MAX_RESAMPLE_WEIGHTS; *filter points to it. Each of the `factor` phases has its own weights. */
void enlarge_filter(enum resampler resampler, enum grid grid, int factor, float *weights,
                    struct filter *filter);

/* Computes the filter of a reduction by `factor`, in the same way. It is the interpolation kernel, stretched
 * by the factor if `antialias`, with a sum of 1. All outputs have the same weights. */
void reduce_filter(enum resampler resampler, enum grid grid, int factor, bool antialias, float *weights,
                   struct filter *filter);

/* ---------------------------------------------------------------- any size */

/* The choices of --resize, then two filters of filters/gaussian.c. These two are cut off at
 * RESIZE_GAUSSIAN_CUT standard deviations; 6e-7 of the Gaussian's weight are further out. */
enum resize_filter {
    RESIZE_LANCZOS,  /* a = 3 (C. Duchon, J. Appl. Meteorology 18, 1979) */
    RESIZE_BICUBIC,  /* Keys' cubic, a = -0.5 */
    RESIZE_BILINEAR, /* triangle */
    RESIZE_BOX,      /* mean of the samples whose centres an output covers */
    RESIZE_GAUSSIAN,
    RESIZE_SLOPE /* derivative of the Gaussian by the output's position, per output; only if from <= to */
};

#define RESIZE_CHOICES      "lanczos|bicubic|bilinear|box"
#define RESIZE_GAUSSIAN_CUT 5.0

/* Resizing of an axis of `from` samples to `to` outputs. Output i is at position (i + 0.5) * from / to - 0.5
 * + shift; sample j is at position j. If to < from, the filter is stretched by from / to. */
struct resize {
    enum resize_filter filter;
    double sigma;     /* of RESIZE_GAUSSIAN and RESIZE_SLOPE: in outputs if to < from, otherwise in samples */
    int from, to;     /* numbers of samples and outputs; the distance between outputs is from / to samples */
    int sample_count; /* number of samples if it is not `from`, as in chroma planes; 0 means `from` */
    int begin;        /* first output that is computed; negative: before the axis */
    int margin;       /* additional samples before and after the axis; 0 for RESIZE_BOX */
    double shift;     /* added to the position of every output, in samples; 0 for RESIZE_BOX */
};

/* Returns the range of samples of output resize->begin + i, and stores their weights, whose sum is 1 (except
 * for RESIZE_SLOPE). Samples count from the first one of the margin. `weights` has room for
 * resize_max_taps(), or is NULL. With `ends_at_border` the range is clipped to the axis with its margins;
 * otherwise it may extend beyond. */
struct interval resize_weigh(const struct resize *resize, bool ends_at_border, int i, double *weights);

/* Returns an upper bound of the number of samples of an output. */
int resize_max_taps(const struct resize *resize, bool ends_at_border);

#endif
