/* Rank filters: medians, minima, maxima and any percentile of square and round windows.
 *
 * A result is one of the samples of the window, the same for every kernel (kernels/rank*.cl). NaN sorts last.
 * struct rank is plain data; functions only enqueue work. */
#ifndef CLIMG_FILTERS_RANK_H
#define CLIMG_FILTERS_RANK_H

#include "engine/run.h"
#include "engine/stage.h"

enum { RANK_MAX_RADIUS = 127 };

enum rank_shape { RANK_SQUARE, RANK_DISC };

/* The params of a stage with a rank filter. The result is the sample at index floor(n * percent / 100) of the
 * n sorted samples of the window, at most the last one, as in scipy.ndimage.percentile_filter. A square has 2
 * * radius + 1 samples a side; a disc has all samples at most radius away from its centre. */
struct rank {
    int radius; /* 1 to RANK_MAX_RADIUS */
    int shape;  /* enum rank_shape */
    double percent;
};

/* Rows of the option table. */
#define RANK_RADIUS                                                                                          \
    {                                                                                                        \
        .type = OPTION_INTEGER, .offset = offsetof(struct rank, radius), .min = 1, .max = RANK_MAX_RADIUS,   \
        .value = "RADIUS", .help = "reach of the window, 2 * RADIUS + 1 pixels wide and high",               \
        .hint = "a radius of 2 is a window of 5x5"                                                           \
    }
#define RANK_SHAPE                                                                                           \
    {                                                                                                        \
        .name = "shape", .type = OPTION_CHOICE, .offset = offsetof(struct rank, shape),                      \
        .fallback = "square", .choices = "square|disc",                                                      \
        .help = "shape of the window; disc: pixels at most RADIUS from its centre"                           \
    }

/* Callbacks `rows` and `caps`. */
struct interval rank_rows(const void *params, const struct shape *in, struct interval out);
struct stage_caps rank_caps(const void *params);

/* Callback `adapt_to_chroma`: divides the radius by the larger subsampling factor, rounded up. */
enum status rank_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error);

/* Callback `run`: enqueues the filter. Works from raster to raster, or from planes to planes that it
 * allocates. Alpha is copied. */
enum status rank_image(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error);

/* Enqueues a gray-scale opening, the maximum of the minimum of the window of 2 * radius + 1 samples a side,
 * which removes bright objects smaller than the window. If `closes`, a closing, the minimum of the maximum,
 * which removes dark ones. Of any radius, by the border rule of the run. `src` must have 2 * radius more rows
 * on each side. Allocates *dst as scratch planes with `rows`; others are released before it returns. */
enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src,
                         struct interval rows, struct planes *dst, struct error *error);

#endif
