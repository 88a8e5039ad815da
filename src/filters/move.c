#include "filters/move.h"

#include "filters/warp.h"

/* On CPU devices a work-item has a square of pixels, of which both the rows that it writes and those that it
 * crosses in the source stay in the cache. */
static const struct tunable tunable_move = {
    .kernel = "move_samples", .wide = {1, {1, 1}}, .grouped = {1, {16, 16}}};

enum { TILE = 64, LARGEST_UNIT = 16 };

/* As kernels/move_samples.cl knows it. */
struct move {
    cl_int xx, xy, x, yx, yy, y, width, first_row, rows;
};

/* They are moved in the largest units that a pixel has. */
enum status move_pixels(struct run *run, const struct affine *affine, const struct value *in,
                        const struct value *out, struct error *error)
{
    const struct planes dst = value_planes(out);
    const struct move by = {(cl_int)affine->xx, (cl_int)affine->xy, (cl_int)affine->x,
                            (cl_int)affine->yx, (cl_int)affine->yy, (cl_int)affine->y,
                            dst.width,          dst.first_row,      dst.rows};
    int pixel = (int)out->raster->pixel, unit = pixel & -pixel;
    int tile = run->device->class == DEVICE_WIDE ? TILE : 1;
    unit = unit < LARGEST_UNIT ? unit : LARGEST_UNIT;
    struct work work = run_work(run, "move_samples", "move_samples", &dst);
    work.memory = MEMORY_BUFFER;
    work.form = device_form(run->device, MEMORY_BUFFER, &tunable_move);
    work.grain = GRAIN_SINGLE;
    work.width = divided(dst.width, tile);
    work.height = divided(dst.rows, tile);
    work.depth = out->shape.images;
    work.bytes = 2 * raster_bytes(out->raster, dst.rows);
    define(&work.defines, "UNIT", unit);
    define(&work.defines, "UNITS", pixel / unit);
    define(&work.defines, "TILE", tile);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(in->raster), ARGS_RASTER(out->raster), ARG(by));
}

enum status move_image(struct run *run, const struct affine *affine, const struct value *in,
                       struct value *out, struct error *error)
{
    static const struct warp_options copying = {.copies = true};
    return out->raster ? move_pixels(run, affine, in, out, error)
                       : warp_image(run, affine, &copying, in, out, error);
}

struct traits move_traits(const void *params)
{
    (void)params;
    return (struct traits){.moves_samples = true, .groups = true};
}
