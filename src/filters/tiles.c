/* Load -> stage -> store, tile by tile.
 *
 * Loading unpacks a raster directly into the tile, and storing packs it, so no planes of the full width are
 * needed. --denoise=10 of 8-bit RGB, 31623 pixels wide, takes 0.082 s a megapixel on two cores, without tiles
 * 0.111; at 16384 pixels 0.096 and 0.095. CLIMG_TILE sets the width for tests. */
#include "filters/tiles.h"

#include "engine/transfer.h"

/* Approximate width of a tile, in values: 4096 columns of three channels. */
enum { TILE_VALUES = 3 * 4096 };

enum status tiles_copy(struct run *run, const struct planes *src, struct interval rows,
                       struct columns columns, const struct planes *dst, struct error *error)
{
    struct kernel_launch work = run_work(run, "copy_rectangle", "copy_rectangle", src);
    const cl_int2 range = {{rows.begin, rows.end}};
    work.width = columns.count;
    work.height = rows.end - rows.begin;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(range), ARG(columns));
}

/* Returns an image without planes, as wide as a tile with its halo. */
static struct value tile_value(const struct value *image, const struct tile *tile)
{
    struct value value = {.shape = image->shape, .rows = image->rows, .opponent = image->opponent};
    value.shape.width = tile->padded.end - tile->padded.begin;
    return value;
}

enum status tiles_run(struct run *run, const struct tiling *tiling, bool whole, const struct value *in,
                      struct value *out, struct error *error)
{
    const struct shape *image = &in->shape;
    const int forced = run->device->environment->tile; /* columns; 0: not set */
    const double values = (double)image->width * image->channels;
    const int tiles = forced > 0 ? ceil_div(image->width, forced) : (int)(values / TILE_VALUES + 0.5);
    int width = image->width; /* of a tile, without its halo */
    if (!whole && tiles >= 2 && image->images == 1 && run_is_cpu(run))
        width = ceil_div(forced > 0 ? forced : ceil_div(width, tiles), TILE_UNIT) * TILE_UNIT;
    /* Several tiles copy their columns into one output. A single tile allocates it itself. */
    enum status status = width < image->width && !out->raster ? run_output(run, out, error) : STATUS_OK;
    for (int begin = 0; status == STATUS_OK && begin < image->width; begin += width) {
        const struct interval own = interval_clip((struct interval){begin, begin + width}, image->width);
        struct tile tile = {image, own, .padded = own}; /* a single tile has no halo */
        if (width < image->width) {
            const struct interval needed = tiling->columns(tiling->params, image, own);
            tile.padded = interval_clip(interval_align(needed, TILE_UNIT), image->width);
        }
        /* Load the tile from a raster or planes, process it, and store its own columns. With planes of the
         * full width nothing is copied: the stage reads and writes the planes of `in` and `out`. */
        const struct columns loaded = {.from = tile.padded.begin,
                                       .count = tile.padded.end - tile.padded.begin},
                             stored = {.from = tile.own.begin - tile.padded.begin,
                                       .to = tile.own.begin,
                                       .count = tile.own.end - tile.own.begin};
        const bool needs_load = in->raster || loaded.count < image->width,
                   needs_store = out->raster || stored.count < image->width;
        struct value source = tile_value(in, &tile), result = tile_value(out, &tile);
        if (needs_load)
            status = run_output(run, &source, error);
        if (status == STATUS_OK && needs_load)
            status = in->raster ? unpack_columns(run, in->raster, loaded.from, &source.planes[0], error)
                                : tiles_copy(run, &in->planes[0], in->rows, loaded, &source.planes[0], error);
        if (status == STATUS_OK)
            status = tiling->run(run, tiling->params, &tile, needs_load ? &source : in,
                                 needs_store ? &result : out, error);
        planes_release(&run->pool, &source.planes[0]);
        if (status == STATUS_OK && needs_store)
            status = out->raster
                         ? pack_columns(run, &result.planes[0], stored, out->raster, error)
                         : tiles_copy(run, &result.planes[0], out->rows, stored, &out->planes[0], error);
        planes_release(&run->pool, &result.planes[0]);
    }
    return status;
}
