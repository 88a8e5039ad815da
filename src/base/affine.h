/* Affine maps of the plane. */
#ifndef CLIMG_BASE_AFFINE_H
#define CLIMG_BASE_AFFINE_H

#include <stdbool.h>

/* Maps (x, y) to (xx x + xy y + x, yx x + yy y + y). */
struct affine {
    double xx, xy, x, yx, yy, y;
};

static inline struct affine affine_scaling(double x, double y)
{
    return (struct affine){.xx = x, .yy = y};
}

/* Returns the map that applies `first`, then `second`. */
static inline struct affine affine_through(const struct affine *first, const struct affine *second)
{
    const struct affine a = *second, b = *first;
    return (struct affine){a.xx * b.xx + a.xy * b.yx,     a.xx * b.xy + a.xy * b.yy,
                           a.xx * b.x + a.xy * b.y + a.x, a.yx * b.xx + a.yy * b.yx,
                           a.yx * b.xy + a.yy * b.yy,     a.yx * b.x + a.yy * b.y + a.y};
}

/* Returns the map in coordinates whose origin is moved left and up by `before` on both sides. 0.5 converts
 * from positions that count from the centre of the first pixel to positions that count from its corner. */
static inline struct affine affine_counted(const struct affine *map, double before)
{
    struct affine counted = *map;
    counted.x += before - (map->xx + map->xy) * before;
    counted.y += before - (map->yx + map->yy) * before;
    return counted;
}

/* True if the map neither rotates nor mirrors; true if it exchanges x and y. */
static inline bool affine_is_upright(const struct affine *map)
{
    return map->xy == 0 && map->yx == 0 && map->xx > 0 && map->yy > 0;
}

static inline bool affine_is_on_side(const struct affine *map)
{
    return map->xx == 0 && map->yy == 0;
}

#endif
