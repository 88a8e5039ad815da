/* Rank filters on the device: see kernels/rank*.cl. */
#ifndef CLIMG_FILTERS_RANK_H
#define CLIMG_FILTERS_RANK_H

#include "engine/run.h"
#include "engine/stage.h"

enum { RANK_MAX_RADIUS = 127 };

enum rank_shape { RANK_SQUARE, RANK_DISC };

/* The sample of a window that n * percent / 100 of its n samples, rounded down, stand before, or the last
 * one: the rule of scipy.ndimage.percentile_filter. A square has 2 * radius + 1 samples a side, a disc all
 * that are not further than the radius from its middle. */
struct rank {
    int radius; /* 1 to RANK_MAX_RADIUS */
    int shape;  /* enum rank_shape */
    double percent;
};

/* Rows of the option table of a stage whose params are a struct rank. */
#define RANK_RADIUS                                                                                          \
    {                                                                                                        \
        .type = OPTION_INTEGER, .offset = offsetof(struct rank, radius), .min = 1, .max = RANK_MAX_RADIUS,   \
        .value = "RADIUS", .help = "reach of the window, 2 * RADIUS + 1 pixels wide and high"                \
    }
#define RANK_SHAPE                                                                                           \
    {                                                                                                        \
        .name = "shape", .type = OPTION_CHOICE, .offset = offsetof(struct rank, shape),                      \
        .fallback = "square", .choices = "square|disc",                                                      \
        .help = "of the window; a disc has the pixels at most RADIUS from its centre"                        \
    }

/* As `rows` and `traits` of a stage whose params are a struct rank. */
struct rows rank_rows(const void *params, const struct shape *in, struct rows out);
struct stage_caps rank_traits(const void *params);

/* The radius becomes that along the axis where video's colour is the smallest, rounded up. */
enum status rank_coarsen(void *params, const struct chroma *chroma, struct error *error);

/* As `run` of such a stage. Allocates out's planes, unless it is samples; then `in` is samples, too. Alpha
 * stays. */
enum status rank_image(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error);

#endif
