/* Weights for resizing an axis to any size: --resize, --scale, the coarse grid of wide Gaussians.
 *
 * Pure functions, thread-safe, without allocations. Weights are computed in double with base/exact.h, so they
 * are the same on every system. */
#ifndef CLIMG_FILTERS_RESAMPLE_H
#define CLIMG_FILTERS_RESAMPLE_H

#include "engine/stage.h"

#include <stdbool.h>

/* Interpolation of --scale and of warps. */
enum resampler { RESAMPLE_BICUBIC, RESAMPLE_BILINEAR, RESAMPLE_BSPLINE, RESAMPLE_NEAREST, RESAMPLE_LANCZOS };

#define RESAMPLE_CHOICES "bicubic|bilinear|bspline|nearest|lanczos"

enum { MAX_FACTOR = 64 /* of --scale */ };

/* The choices of --resize, then two more of --scale, then two filters of filters/gaussian.c. The last two are
 * cut off at RESIZE_GAUSSIAN_CUT standard deviations; 6e-7 of the Gaussian's weight are further out. */
enum resize_filter {
    RESIZE_LANCZOS,  /* a = 3 (C. Duchon, J. Appl. Meteorology 18, 1979) */
    RESIZE_BICUBIC,  /* Keys' cubic, a = -0.5 */
    RESIZE_BILINEAR, /* triangle */
    RESIZE_BOX,      /* mean of the samples whose centres an output covers */
    RESIZE_BSPLINE,  /* cubic B-spline */
    RESIZE_NEAREST,  /* the sample that contains the output's centre */
    RESIZE_GAUSSIAN,
    RESIZE_SLOPE /* derivative of the Gaussian by the output's position, per output; only if from <= to */
};

#define RESIZE_CHOICES      "lanczos|bicubic|bilinear|box"
#define RESIZE_GAUSSIAN_CUT 5.0

/* Resizing of an axis of `from` samples to `to` outputs. Output i is at position (i + 0.5) * from / to - 0.5
 * + shift; sample j is at position j. If to < from, the filter is stretched by from / to, unless `aliases`.
 */
struct resize {
    enum resize_filter filter;
    double sigma;     /* of RESIZE_GAUSSIAN and RESIZE_SLOPE: in outputs if to < from, otherwise in samples */
    int from, to;     /* numbers of samples and outputs; the distance between outputs is from / to samples */
    int sample_count; /* number of samples if it is not `from`, as in chroma planes; 0 means `from` */
    bool aliases;     /* do not stretch the filter of a reduction */
    bool corners; /* interpolate samples at the pixel corners, then between these; from / to or to / from is
                   * at most MAX_FACTOR */
    int begin;    /* first output that is computed; negative: before the axis */
    int margin;   /* additional samples before and after the axis; 0 for RESIZE_BOX */
    double shift; /* added to the position of every output, in samples; 0 for RESIZE_BOX */
};

/* Returns the range of samples of output resize->begin + i, and stores their weights, whose sum is 1 (except
 * for RESIZE_SLOPE). Samples count from the first one of the margin. `weights` has room for
 * resize_max_taps(), or is NULL. With `ends_at_border` the range is clipped to the axis with its margins;
 * otherwise it may extend beyond. */
struct interval resize_weigh(const struct resize *resize, bool ends_at_border, int i, double *weights);

/* Returns the number of outputs after which the weights repeat, or 0 if they may all be different. */
int resize_period(const struct resize *by, bool ends_at_border);

/* Returns an upper bound of the number of samples of an output. */
int resize_max_taps(const struct resize *resize, bool ends_at_border);

#endif
