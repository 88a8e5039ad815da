/* What is known of a value before it exists, and which of its rows are meant. */
#ifndef CLIMG_ENGINE_SHAPE_H
#define CLIMG_ENGINE_SHAPE_H

#include <stdbool.h>

enum kind { KIND_IMAGE, KIND_PYRAMID };

enum { MAX_LEVELS = 16, ORIENTATIONS = 6, SUBBAND_LAYERS = 2 * ORIENTATIONS };

enum edge { EDGE_CLAMP, EDGE_MIRROR, EDGE_WRAP, EDGE_ZERO };

/* Rows [begin, end) of an image. */
struct rows {
    int begin, end;
};

/* How many runs of `by` hold `n`. */
static inline int divided(int n, int by)
{
    return (n + by - 1) / by;
}

/* What is known of a value before it exists. */
struct shape {
    enum kind kind;
    int width, height; /* pixels; of a pyramid: the image that it came from */
    int channels;      /* 1 to 4 */
    int images;        /* of a group: they share all of this; else 1 */
    bool alpha;        /* the last channel is alpha; colour is premultiplied */
    int levels;        /* pyramid: 1 to MAX_LEVELS */
    int biort, qshift; /* pyramid: its filters (filters/dtcwt.h) */
};

/* The planes of a layer: the channels of all images. */
int shape_planes(const struct shape *shape);

/* Whether there are three colours. */
bool shape_is_colour(const struct shape *shape);

/* The alpha channel's index, or -1: what kernels call `keep`. */
int shape_alpha(const struct shape *shape);

/* Those of an image of that height; of a window wholly beside it the border row that stands for it. */
struct rows rows_clip(struct rows rows, int height);
struct rows rows_whole(int height);

/* What stages give as `rows`: of an image of the same height the rows themselves, and all that there are. */
struct rows rows_same(const void *params, const struct shape *in, struct rows out);
struct rows rows_all(const void *params, const struct shape *in, struct rows out);

#endif
