/* Weights for scaling by powers of two, and for antialiased resizing to any size. */
#ifndef CLIMG_FILTERS_RESAMPLE_H
#define CLIMG_FILTERS_RESAMPLE_H

#include "engine/stage.h"

#include <stdbool.h>

/* Weights that repeat after `period` outputs, for which the window moves on by `step` samples:
 *
 *     output o = sum over k < taps of weights[o % period][k] * sample floor((o + lead) / period) * step +
 * start + k
 *
 * A plain filter has period 1 and step 1, a reduction by n has step n, an enlargement by n has period n. */
struct filter {
    const float *weights; /* period * taps; NULL: there is none */
    int taps, start, step, period, lead;
};

enum resampler { RESAMPLE_BICUBIC, RESAMPLE_BILINEAR, RESAMPLE_BSPLINE, RESAMPLE_NEAREST, RESAMPLE_LANCZOS };

#define RESAMPLE_CHOICES "bicubic|bilinear|bspline|nearest|lanczos"

/* Where the samples lie that are interpolated: at the pixels' centres, as they are given, or at the corners
 * between the pixels, interpolated there first. */
enum grid { GRID_CENTERS, GRID_CORNERS };

#define GRID_CHOICES "centers|corners"

enum {
    MAX_FACTOR = 64,
    MAX_RESAMPLE_TAPS = 6,
    MAX_RESAMPLE_WEIGHTS = (2 * MAX_RESAMPLE_TAPS - 1) * MAX_FACTOR
};

/* An enlargement by `factor`: each of `factor` phases has weights of its own. */
void enlarge_filter(enum resampler resampler, enum grid grid, int factor, float *weights,
                    struct filter *filter);

/* A reduction by `factor`, with the same weights for every output: the kernel stretched by the factor
 * (antialias) or not; normalised to sum 1. */
void reduce_filter(enum resampler resampler, enum grid grid, int factor, bool antialias, float *weights,
                   struct filter *filter);

/* ---------------------------------------------------------------- to any size */

/* The last two, of the standard deviation `sigma` in samples of the coarser side, are not among the words of
 * --resize: filters/gaussian.h. They are cut off at RESIZE_GAUSSIAN_CUT times that: 6e-7 are beyond. */
enum resize_filter {
    RESIZE_LANCZOS,
    RESIZE_BICUBIC,
    RESIZE_BILINEAR,
    RESIZE_BOX,
    RESIZE_GAUSSIAN,
    RESIZE_SLOPE /* the derivative of the Gaussian, by the outputs' positions */
};

#define RESIZE_CHOICES      "lanczos|bicubic|bilinear|box"
#define RESIZE_GAUSSIAN_CUT 5.0

/* An axis of `from` samples becomes one of `to`, of which outputs from `begin` on are wanted. Output i lies
 * at (i + 0.5) * from / to - 0.5 of the samples' centres. Where there are fewer outputs than samples, the
 * filter is stretched by from / to. There may be more samples, and wanted outputs, than those of the axis
 * itself. */
struct resize {
    enum resize_filter filter;
    double sigma;
    int from, to;
    int held; /* samples, where they are not as many as `from`: video's colour; 0: from */
    int begin;
    int margin; /* samples before the first and behind the last one of the axis */
};

/* Samples [begin, end) of which output i of those wanted is made, and their weights, unless NULL. Where
 * `cut`, the filter ends at the border, and the weights that are left are normalised to sum 1; else the
 * samples may lie beside the axis. Lanczos with a = 3 (C. Duchon, J. Appl. Meteorology 18, 1979), Keys' cubic
 * with a = -0.5, the triangle, and the mean of the samples whose centres an output covers. */
struct rows resize_weigh(const struct resize *resize, bool cut, int i, double *weights);

/* At least the taps of each output. */
int resize_max_taps(const struct resize *resize, bool cut);

#endif
