/* Weights for scaling by powers of two. */
#ifndef CLIMG_FILTERS_RESAMPLE_H
#define CLIMG_FILTERS_RESAMPLE_H

#include <stdbool.h>

/* Weights that come again after `period` outputs, which are `step` samples further on:
 *
 *     output o = sum over k < taps of weights[o % period][k] * sample floor((o + lead) / period) * step +
 * start + k
 *
 * A plain filter has a period and a step of 1, a reduction by n a step of n, an enlargement by n a period of
 * n. */
struct filter {
    const float *weights; /* period * taps; NULL: there is none */
    int taps, start, step, period, lead;
};

enum resampler { RESAMPLE_BICUBIC, RESAMPLE_BILINEAR, RESAMPLE_BSPLINE, RESAMPLE_NEAREST };

#define RESAMPLE_CHOICES "bicubic|bilinear|bspline|nearest"

/* Where the samples lie that are interpolated: at the pixels' centres, as they are given, or at the corners
 * between the pixels, interpolated there first. */
enum grid { GRID_CENTERS, GRID_CORNERS };

#define GRID_CHOICES "centers|corners"

enum { MAX_FACTOR = 64, MAX_RESAMPLE_WEIGHTS = 7 * MAX_FACTOR };

/* The kernel at distance x: Keys' cubic with a = -0.5 (R. Keys, IEEE TASSP 29, 1981), the triangle, the cubic
 * B-spline (without prefilter: it smooths). */
double resample_kernel(enum resampler resampler, double x);

/* An enlargement by `factor`: each of `factor` phases has weights of its own. */
void enlarge_filter(enum resampler resampler, enum grid grid, int factor, float *weights,
                    struct filter *filter);

/* A reduction by `factor`, with the same weights for every output: the kernel stretched by the factor
 * (antialias) or not; normalised to sum 1. */
void reduce_filter(enum resampler resampler, enum grid grid, int factor, bool antialias, float *weights,
                   struct filter *filter);

#endif
