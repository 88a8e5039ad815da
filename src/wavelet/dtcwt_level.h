/* One level of the dual-tree transform and of its inverse, for wavelet/dtcwt.c. Two variants compute the same
 * bits: for buffers on CPUs, and for GPUs and images. The caller allocates the planes of both structs. */
#ifndef CLIMG_WAVELET_DTCWT_LEVEL_H
#define CLIMG_WAVELET_DTCWT_LEVEL_H

#include "engine/run.h"
#include "wavelet/dtcwt_design.h"

/* A step of the transform. */
struct dtcwt_analysis {
    int level;
    bool pad_at_end;                         /* padding, see struct shape */
    const struct planes *src;                /* image or finer lowpass */
    const struct planes *lowpass, *subbands; /* results; their rows are computed */
    int places;                              /* see struct dtcwt_rows; GPUs compute all rows */
};

/* A step of the inverse. */
struct dtcwt_synthesis {
    int level;
    bool pad_at_end;                         /* padding, see struct shape */
    const struct planes *lowpass, *subbands; /* the lowpass may have a padding sample on each side */
    const struct planes *dst;                /* the finer lowpass with its padding, or the image */
    struct interval rows;                    /* of dst, to be computed; GPUs compute all rows of dst */
};

/* Enqueue a level on GPUs, or in images on any device: one kernel, both axes in local memory. */
enum status dtcwt_forward_gpu(struct run *run, const struct bank *bank, const struct dtcwt_analysis *level,
                              struct error *error);
enum status dtcwt_inverse_gpu(struct run *run, const struct bank *bank, const struct dtcwt_synthesis *level,
                              struct error *error);

/* Enqueue a level in buffers on CPUs, strip by strip: a kernel for columns, then one for rows. */
enum status dtcwt_forward_cpu(struct run *run, const struct bank *bank, const struct dtcwt_analysis *level,
                              struct error *error);
enum status dtcwt_inverse_cpu(struct run *run, const struct bank *bank, const struct dtcwt_synthesis *level,
                              struct error *error);

/* Returns the number of rows of a strip on CPUs, a multiple of 4. */
int dtcwt_strip_rows(const struct planes *planes);

#endif
