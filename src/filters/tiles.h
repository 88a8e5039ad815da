/* Slices of wide images in tiles: runs of columns that go through a stage one after the other, so that its
 * memory does not follow the width. A tile is to the stage an image by itself, whose borders are wrong. So it
 * has so many columns beside its own that these do not notice. */
#ifndef CLIMG_FILTERS_TILES_H
#define CLIMG_FILTERS_TILES_H

#include "engine/run.h"

struct tile {
    const struct shape *image; /* of which it is a tile */
    struct rows own, held;     /* columns of the image; held.begin is a multiple of TILE_UNIT */
};

enum { TILE_UNIT = 64 };

/* What a stage does with a tile `in`, whose shape has the columns held, to `out`. */
struct tiling {
    const void *params;
    /* Columns of the image that columns `out` need, before clipping to it. */
    struct rows (*columns)(const void *params, const struct shape *image, struct rows out);
    enum status (*run)(struct run *run, const void *params, const struct tile *tile, const struct value *in,
                       struct value *out, struct error *error);
};

/* Does so with all tiles; on other devices than CPUs, of groups, and where `whole` says that a stage must see
 * all columns, that is one. Takes rasters on CPU devices. */
enum status tiles_run(struct run *run, const struct tiling *tiling, bool whole, const struct value *in,
                      struct value *out, struct error *error);

/* Copies rows and columns of planes to planes that hold them among others. */
enum status tiles_copy(struct run *run, const struct planes *src, struct rows rows, struct columns columns,
                       const struct planes *dst, struct error *error);

#endif
