/* Affine maps of the plane, for coordinates in pixels. x points to the right and y down.
 *
 * Pure functions on values; any thread may call. */
#ifndef CLIMG_BASE_AFFINE_H
#define CLIMG_BASE_AFFINE_H

#include <math.h>
#include <stdbool.h>

/* Maps (x, y) to (xx x + xy y + x, yx x + yy y + y). */
struct affine {
    double xx, xy, x, yx, yy, y;
};

/* Returns the map that multiplies columns by x and rows by y. */
static inline struct affine affine_scaling(double x, double y)
{
    return (struct affine){.xx = x, .yy = y};
}

/* Returns the map that applies `first`, then `second`: the matrix product second * first. */
static inline struct affine affine_then(const struct affine *first, const struct affine *second)
{
    const struct affine a = *second, b = *first;
    return (struct affine){a.xx * b.xx + a.xy * b.yx,     a.xx * b.xy + a.xy * b.yy,
                           a.xx * b.x + a.xy * b.y + a.x, a.yx * b.xx + a.yy * b.yx,
                           a.yx * b.xy + a.yy * b.yy,     a.yx * b.x + a.yy * b.y + a.y};
}

/* Returns the map for coordinates whose origin is `distance` pixels further left and up, both before and
 * after mapping. 0.5 moves the origin from the centre of the first pixel to its top left corner. */
static inline struct affine affine_move_origin(const struct affine *map, double distance)
{
    struct affine moved = *map;
    moved.x += distance - (map->xx + map->xy) * distance;
    moved.y += distance - (map->yx + map->yy) * distance;
    return moved;
}

/* True if the map only scales and shifts: no rotation, shear or reflection. */
static inline bool affine_is_upright(const struct affine *map)
{
    return map->xy == 0 && map->yx == 0 && map->xx > 0 && map->yy > 0;
}

/* True if the map exchanges rows and columns, as a rotation by 90 degrees does. */
static inline bool affine_swaps_axes(const struct affine *map)
{
    return map->xx == 0 && map->yy == 0;
}

/* Returns the density (pixels per unit of length) along an axis of the output. A step of one pixel along this
 * axis is a step of (dx, dy) pixels in the input, whose densities are x_density and y_density. If dx or dy is
 * 0, the result is one correctly rounded division, without hypot. */
static inline double affine_density(double dx, double dy, double x_density, double y_density)
{
    return dy == 0   ? x_density / fabs(dx)
           : dx == 0 ? y_density / fabs(dy)
                     : 1 / hypot(dx / x_density, dy / y_density);
}

/* Replaces the densities of the input along x and y by the output's densities. The map leads from output to
 * input positions. */
static inline void affine_densities(const struct affine *map, double *x, double *y)
{
    const double x_density = affine_density(map->xx, map->yx, *x, *y);
    *y = affine_density(map->xy, map->yy, *x, *y);
    *x = x_density;
}

/* True if the orientation exchanges rows and columns. Orientations are numbered as in TIFF 6.0: 2 to 4 mirror
 * the picture, 5 to 8 exchange rows and columns and then mirror it. */
static inline bool orientation_swaps_axes(int orientation)
{
    return orientation >= 5;
}

/* Returns the map from the upright picture to the stored one, which is width x height pixels. The origin of
 * both is the top left corner. */
static inline struct affine orientation_map(int orientation, double width, double height)
{
    /* The stored column is x, or width - x if `right` is 1; the stored row is y, or height - y if `bottom`
     * is 1. For orientations 5 to 8 x and y are exchanged. */
    const int right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const int bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const struct affine mirror = {1 - 2 * right, 0, right * width, 0, 1 - 2 * bottom, bottom * height};
    const struct affine transposed = {0, mirror.xx, mirror.x, mirror.yy, 0, mirror.y};
    return orientation_swaps_axes(orientation) ? transposed : mirror;
}

#endif
