/* Weights for scaling by powers of two. */
#ifndef CLIMG_FILTERS_RESAMPLE_H
#define CLIMG_FILTERS_RESAMPLE_H

#include <stdbool.h>

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

/* Taps of an enlargement: 4 or 2; 0 for nearest (a copy). On the grid of corners, 7 or 3. */
int enlarge_taps(enum resampler resampler, enum grid grid);

/* factor * taps weights, phase after phase, as struct enlargement has them. */
void enlarge_weights(enum resampler resampler, enum grid grid, int factor, float *weights);

/* Weights of a reduction by `factor`, the same for every output: the kernel stretched by the factor
 * (antialias) or not; normalised to sum 1. Gives their number, and in *start the position of the first one
 * relative to factor * output. */
int reduce_weights(enum resampler resampler, enum grid grid, int factor, bool antialias, float *weights,
                   int *start);

#endif
