/* A ball that rolls below a picture: S. Sternberg, Biomedical image processing, IEEE Computer 16 (1983), in
 * the form of ImageJ's "Subtract Background". Brightness is height; what the ball reaches is the background.
 *
 * A large ball rolls below a smaller picture, of the least values of blocks of s x s pixels, with a radius of
 * as many times less; and only its top rolls, a square from which so much is cut off:
 *
 *     radius up to   10    30   100   more
 *     s               1     2     4      8
 *     cut off        24%   24%   32%    40%
 *
 * Between the small pixels' middles the background is linear. */
#ifndef CLIMG_FILTERS_BALL_H
#define CLIMG_FILTERS_BALL_H

#include "engine/run.h"

enum { BALL_MOST_RADIUS = 1000 };

struct ball {
    double radius; /* pixels */
    double counts; /* as high as this many pixels is full scale */
    bool light;    /* it rolls above the picture instead: the background is light */
};

/* The rows of a picture of that height that rows `out` need. */
struct rows ball_source_rows(const struct ball *ball, int height, struct rows out);

/* Takes the background away: planes of in->rows to out's, which are there. Alpha stays. With `light` the
 * background becomes white. */
enum status subtract_background(struct run *run, const struct ball *ball, const struct value *in,
                                const struct value *out, struct error *error);

#endif
