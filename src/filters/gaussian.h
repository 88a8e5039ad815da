/* Weights of Gaussian filters. */
#ifndef CLIMG_FILTERS_GAUSSIAN_H
#define CLIMG_FILTERS_GAUSSIAN_H

#include "base/error.h"

#include <stdbool.h>

/* floor(truncate * sigma + 0.5): the convention of scipy.ndimage.gaussian_filter. Where `truncate` is 0, what
 * lies beyond the radius weighs less than 2.1e-6. */
int gaussian_radius(double sigma, double truncate);

/* Whether the filter runs on a coarser grid (filters/coarse.h), where that is faster. */
bool gaussian_is_coarse(double sigma, double truncate);

/* 2 * radius + 1 weights exp(-i^2 / (2 sigma^2)), normalised to sum 1. */
void gaussian_weights(double sigma, int radius, float *weights);

/* The derivative of the same normalised Gaussian, -i / sigma^2 times it, in correlation order: positive to
 * the right, so that a rising edge gives a positive value. */
void gaussian_derivative_weights(double sigma, int radius, float *weights);

#endif
