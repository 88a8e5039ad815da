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

/* The same map in coordinates whose origin, on both sides, lies `before` further left and further up: 0.5
 * leads from those that count from the first pixel's centre to those that count from its corner. */
struct affine affine_counted(const struct affine *map, double before);

/* Whether nothing is turned or mirrored; whether x and y change places. */
bool affine_is_upright(const struct affine *map);
bool affine_is_on_side(const struct affine *map);

#endif
