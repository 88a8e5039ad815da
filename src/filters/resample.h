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
    const float *weights; /* period rows of taps weights; may be NULL */
    int taps, start, step, period;
    int lead; /* number of outputs by which the window advances earlier */
};

enum resampler { RESAMPLE_BICUBIC, RESAMPLE_BILINEAR, RESAMPLE_BSPLINE, RESAMPLE_NEAREST, RESAMPLE_LANCZOS };

#define RESAMPLE_CHOICES "bicubic|bilinear|bspline|nearest|lanczos"

/* The samples from which outputs are interpolated: those at the pixels' centres, or samples at the pixels'
 * corners, which are interpolated from the centres first. */
enum grid { GRID_CENTERS, GRID_CORNERS };

#define GRID_CHOICES "centers|corners"

enum {
    MAX_FACTOR = 64,
    MAX_RESAMPLE_TAPS = 6,
    MAX_RESAMPLE_WEIGHTS = (2 * MAX_RESAMPLE_TAPS - 1) * MAX_FACTOR
};

/* Computes the filter of an enlargement by `factor`. `weights` has room for MAX_RESAMPLE_WEIGHTS, and *filter
 * points to it. Each of the `factor` phases has its own weights. */
void enlarge_filter(enum resampler resampler, enum grid grid, int factor, float *weights,
                    struct filter *filter);

/* Computes the filter of a reduction by `factor`: the interpolation kernel, stretched by the factor if
 * `antialias`, normalised to sum 1. All outputs have the same weights. */
void reduce_filter(enum resampler resampler, enum grid grid, int factor, bool antialias, float *weights,
                   struct filter *filter);

/* ---------------------------------------------------------------- any size */

/* The choices of --resize, then two filters of filters/gaussian.c. These are cut off at RESIZE_GAUSSIAN_CUT
 * standard deviations, beyond which 6e-7 of the weight remain. */
enum resize_filter {
    RESIZE_LANCZOS,  /* a = 3 (C. Duchon, J. Appl. Meteorology 18, 1979) */
    RESIZE_BICUBIC,  /* Keys' cubic, a = -0.5 */
    RESIZE_BILINEAR, /* triangle */
    RESIZE_BOX,      /* mean of the samples whose centres an output covers */
    RESIZE_GAUSSIAN,
    RESIZE_SLOPE /* derivative of the Gaussian by the output's position; only if from <= to */
};

#define RESIZE_CHOICES      "lanczos|bicubic|bilinear|box"
#define RESIZE_GAUSSIAN_CUT 5.0

/* Resizing of an axis of `from` samples to `to` outputs. Output i is at (i + 0.5) * from / to - 0.5, in
 * samples whose centres are whole numbers. If to < from, the filter is stretched by from / to. */
struct resize {
    enum resize_filter filter;
    double sigma;     /* RESIZE_GAUSSIAN, RESIZE_SLOPE: in samples of the coarser side */
    int from, to;     /* the ratio is from / to */
    int sample_count; /* number of samples if it is not `from`, as in chroma planes; 0 means `from` */
    int begin;        /* first output that is computed; negative: before the axis */
    int margin;       /* additional samples before and after the axis; 0 for RESIZE_BOX */
    double shift;     /* added to the position of every output, in samples; 0 for RESIZE_BOX */
};

/* Returns the samples [begin, end) of output resize->begin + i, and stores their weights, whose sum is 1
 * (except for RESIZE_SLOPE). `weights` may be NULL. Without `ends_at_border` samples may be outside the axis.
 */
struct interval resize_weigh(const struct resize *resize, bool ends_at_border, int i, double *weights);

/* Returns an upper bound of the taps of an output. */
int resize_max_taps(const struct resize *resize, bool ends_at_border);

#endif
