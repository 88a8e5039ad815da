/* The angle of the lines of a page. */
#ifndef CLIMG_REGISTER_SKEW_H
#define CLIMG_REGISTER_SKEW_H

#include "base/error.h"

#include <stdbool.h>

struct skew {
    double degrees; /* angle of the lines; positive if they fall to the right (clockwise) */
    bool is_clear;  /* the angle can be trusted */
};

/* Finds the angle, from -most to `most` degrees. `gray` has rows of `width` finite values without padding, of
 * any scale, and is overwritten. 1000 to 2000 pixels a side are enough. Text may be dark or light. Fails only
 * if out of memory. Thread-safe. */
enum status skew_find(float *gray, int width, int height, double most, struct skew *skew,
                      struct error *error);

#endif
