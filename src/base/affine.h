/* Affine maps of the plane. */
#ifndef CLIMG_BASE_AFFINE_H
#define CLIMG_BASE_AFFINE_H

#include <stdbool.h>

/* (x, y) goes to (xx x + xy y + x, yx x + yy y + y). */
struct affine {
    double xx, xy, x, yx, yy, y;
};

struct affine affine_scaling(double x, double y);

/* Goes through `first`, then through `second`. */
struct affine affine_through(const struct affine *first, const struct affine *second);

/* The same map where places are counted from one that lies so far before, on both sides: by 0.5 from the
 * corner of a pixel that was counted from its centre. */
struct affine affine_counted(const struct affine *map, double before);

/* Where (x, y) comes from; false where the map leaves no plane of it. */
bool affine_back(const struct affine *map, double *x, double *y);

/* Whether nothing is turned or mirrored; whether x and y change places. */
bool affine_is_upright(const struct affine *map);
bool affine_is_on_side(const struct affine *map);

#endif
