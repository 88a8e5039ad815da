/* One level of the dual-tree transform, for filters/dtcwt.c: the weights its kernels take, and the two shapes
 * of kernels. */
#ifndef CLIMG_FILTERS_DTCWT_LEVEL_H
#define CLIMG_FILTERS_DTCWT_LEVEL_H

#include "engine/run.h"
#include "filters/dtcwt_banks.h"
#include "filters/dtcwt_rows.h"

enum { MAX_WEIGHTS = 4 * MAX_QSHIFT_TAPS };

/* The filters of a level in reading order (reversed), those of the lowpass before those of the highpass.
 * Level 1: taps weights of each, taps odd. From level 2 on, taps / 2 being odd: forward, taps pairs of
 * weights of the trees a and b; inverse, taps / 2 fours, of output 4n of tree a, 4n + 1 of b, 4n + 2 of a, 4n
 * + 3 of b. */
struct bank {
    bool qshift;
    int taps;
    float weights[MAX_WEIGHTS];
    size_t count;
};

void bank_forward(const struct shape *shape, int level, struct bank *bank);
void bank_inverse(const struct shape *shape, int level, struct bank *bank);

/* src, the image or the lowpass of the level before, to this level's lowpass and subbands. */
struct analysis {
    int level;
    const struct planes *src, *lowpass, *subbands;
};

/* The lowpass, which may be larger than the level by a sample a side, and subbands to dst: the lowpass of the
 * level before, or the image. */
struct synthesis {
    int level;
    const struct planes *lowpass, *subbands, *dst;
};

/* For GPUs, and for images anywhere: one kernel. */
enum status forward_grouped(struct run *run, const struct bank *bank, const struct analysis *level,
                            struct error *error);
enum status inverse_grouped(struct run *run, const struct bank *bank, const struct synthesis *level,
                            struct error *error);

/* For buffers on CPUs: columns, then rows, slice by slice in the caches. */
enum status forward_wide(struct run *run, const struct bank *bank, const struct analysis *level,
                         struct error *error);
enum status inverse_wide(struct run *run, const struct bank *bank, const struct synthesis *level,
                         struct error *error);

#endif
