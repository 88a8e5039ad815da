/* Sizes of the levels of the dual-tree transform, and which rows of each a part of the image needs. */
#ifndef CLIMG_FILTERS_DTCWT_ROWS_H
#define CLIMG_FILTERS_DTCWT_ROWS_H

#include "engine/stage.h"

/* Size along one axis, of n samples, of the lowpass that level `level` gives: S1 = n made even,
 * Sl = 2 * ceil(S(l-1) / 4). The complex subbands of that level have half of it. */
int dtcwt_lowpass_size(int n, int level);

/* The largest number of levels for an image: where the lowpass is two samples wide, but at least 6. */
int dtcwt_max_levels(int width, int height);

/* How an axis of n samples is padded before level `level`: an odd one at its end, and from level 2 on one
 * that 4 does not divide at both ends. */
void dtcwt_padding(int n, int level, int *pad, int *length);

/* Rows of each level, in coordinates of the level; indices are levels. Those of a lowpass are even numbers.
 */
struct dtcwt_rows {
    struct rows image;                    /* forward: that the transform reads */
    struct rows lowpass[1 + MAX_LEVELS];  /* of Sl */
    struct rows subbands[1 + MAX_LEVELS]; /* of Sl / 2 */
};

/* Samples that the transform pads axis S(level - 1) of an image of n with at each end: 0 or 1. */
int dtcwt_crop(int n, int level);

/* The rows of the lowpass (on levels that the inverse makes: of its own) and of the subbands that rows
 * `image` of the reconstruction need. A pyramid that goes through in subbands holds these for its value's
 * rows. */
void dtcwt_inverse_rows(const struct shape *shape, struct rows image, struct dtcwt_rows *rows);

/* Those of a level's subbands that rows `made` of what the inverse makes of it need: of the finer lowpass
 * before it is cropped, or of the image. */
struct rows dtcwt_subband_rows(const struct shape *shape, int level, struct rows made);

/* From the rows of the subbands and of the coarsest lowpass that are wanted, those of the other lowpasses and
 * of the image; the coarsest lowpass has more of them afterwards where the subbands want more. */
void dtcwt_forward_rows(const struct shape *shape, struct dtcwt_rows *rows);

/* Rounded outwards. */
struct rows rows_aligned(struct rows rows, int unit);

#endif
