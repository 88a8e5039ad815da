/* Slices of wide images in tiles: ranges of columns that pass through a stage one after the other, so that
 * its memory does not grow with the width.
 *
 * A stage treats a tile as an image and applies its border rule at the tile's edges. A tile therefore has a
 * halo: extra columns, which keep the border rule away from its own columns.
 *
 * The caller owns `in` and `out`; the planes of tiles are released before tiles_run() returns. */
#ifndef CLIMG_FILTERS_TILES_H
#define CLIMG_FILTERS_TILES_H

#include "engine/run.h"

struct tile {
    const struct shape *image;
    struct interval own;    /* range of columns of the image that this tile computes */
    struct interval padded; /* range of columns with the halo; padded.begin is a multiple of TILE_UNIT */
};

enum { TILE_UNIT = 64 }; /* columns */

/* The callbacks of a stage. */
struct tiling {
    const void *params;
    /* Returns the range of columns that columns `out` need, before clipping. */
    struct interval (*columns)(const void *params, const struct shape *image, struct interval out);
    /* Enqueues the work on one tile. `in` is as wide as tile->padded. */
    enum status (*run)(struct run *run, const void *params, const struct tile *tile, const struct value *in,
                       struct value *out, struct error *error);
};

/* Enqueues all tiles of a slice. On GPUs, for groups, and if the stage needs all columns (`whole`), one tile
 * has the whole width. On CPU devices `in` and `out` may be rasters. */
enum status tiles_run(struct run *run, const struct tiling *tiling, bool whole, const struct value *in,
                      struct value *out, struct error *error);

/* Copies a rectangle of `src` to `dst`. columns.from and columns.to are its first columns in each. */
enum status tiles_copy(struct run *run, const struct planes *src, struct interval rows,
                       struct columns columns, const struct planes *dst, struct error *error);

#endif
