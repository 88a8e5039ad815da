/* One level of the dual-tree transform, for wavelet/dtcwt.c, by the two shapes of kernels. */
#ifndef CLIMG_WAVELET_DTCWT_LEVEL_H
#define CLIMG_WAVELET_DTCWT_LEVEL_H

#include "engine/run.h"
#include "wavelet/dtcwt_design.h"

/* src, the image or the lowpass of the level before, to this level's lowpass and subbands. */
struct dtcwt_analysis {
    int level;
    bool at_end; /* of the shape */
    const struct planes *src, *lowpass, *subbands;
    int places; /* of struct dtcwt_rows */
};

/* The lowpass, which may be larger than the level by a sample a side, and subbands to rows of dst: the
 * lowpass of the level before, or the image. */
struct synthesis {
    int level;
    bool at_end; /* of the shape */
    const struct planes *lowpass, *subbands, *dst;
    struct rows rows;
};

/* For GPUs, and for images anywhere: one kernel. */
enum status forward_gpu(struct run *run, const struct bank *bank, const struct dtcwt_analysis *level,
                        struct error *error);
enum status inverse_gpu(struct run *run, const struct bank *bank, const struct synthesis *level,
                        struct error *error);

/* For buffers on CPUs: columns, then rows, strip by strip in the caches. */
enum status forward_cpu(struct run *run, const struct bank *bank, const struct dtcwt_analysis *level,
                        struct error *error);
enum status inverse_cpu(struct run *run, const struct bank *bank, const struct synthesis *level,
                        struct error *error);

/* Rows of a strip of planes. */
int wide_strip(const struct planes *planes);

#endif
