/* Affine maps of the plane, for coordinates in pixels. x points to the right and y down.
 *
 * Pure functions on values; any thread may call. */
#ifndef CLIMG_BASE_AFFINE_H
#define CLIMG_BASE_AFFINE_H

#include <stdbool.h>

/* Maps (x, y) to (xx x + xy y + x, yx x + yy y + y). */
struct affine {
    double xx, xy, x, yx, yy, y;
};

/* Returns the map (x * column, y * row) of a position (column, row). */
static inline struct affine affine_scaling(double x, double y)
{
    return (struct affine){.xx = x, .yy = y};
}

/* Returns the map that applies `first`, then `second`: the product of the matrices second * first. */
static inline struct affine affine_through(const struct affine *first, const struct affine *second)
{
    const struct affine a = *second, b = *first;
    return (struct affine){a.xx * b.xx + a.xy * b.yx,     a.xx * b.xy + a.xy * b.yy,
                           a.xx * b.x + a.xy * b.y + a.x, a.yx * b.xx + a.yy * b.yx,
                           a.yx * b.xy + a.yy * b.yy,     a.yx * b.x + a.yy * b.y + a.y};
}

/* Returns the same map for coordinates whose origin is `before` pixels further left and up, in source and
 * destination. 0.5 converts from an origin at the centre of the first pixel to its top left corner. */
static inline struct affine affine_counted(const struct affine *map, double before)
{
    struct affine counted = *map;
    counted.x += before - (map->xx + map->xy) * before;
    counted.y += before - (map->yx + map->yy) * before;
    return counted;
}

/* True if the map only scales and shifts: no rotation, shear or reflection. */
static inline bool affine_is_upright(const struct affine *map)
{
    return map->xy == 0 && map->yx == 0 && map->xx > 0 && map->yy > 0;
}

/* True if the map exchanges rows and columns, as a rotation by 90 degrees does. */
static inline bool affine_is_on_side(const struct affine *map)
{
    return map->xx == 0 && map->yy == 0;
}

#endif
