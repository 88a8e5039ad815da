#include "filters/separable.h"

#include "filters/tile.h"

/* As in kernels/separable_samples.cl: work-items along x. */
enum { STRIP = 64 };

/* On an H200 row passes like low groups and column passes narrow ones (each by 3 to 6%). A row pass in images
 * has a work-item walk along x, so its neighbours in the group lie along y, which is as good: textures are
 * stored in tiles. */
const struct tunable tunable_filter_rows = {.kernel = "filter_rows", FILTER_ROWS_FORMS};
const struct tunable tunable_filter_columns = {.kernel = "filter_columns", FILTER_COLUMNS_FORMS};
const struct tunable tunable_filter_both = {.kernel = "filter_both", TILE_FORMS(8, 128)};

/* From samples and into them: on CPU devices. */
static const struct tunable unpack_rows = {.kernel = "unpack_filter_rows"};
static const struct tunable columns_pack = {.kernel = "filter_columns_pack", .wide = {4, {16, 1}}};

static const struct filter_passes on_planes = {"separable", &tunable_filter_rows, &tunable_filter_columns},
                                  on_samples = {"separable_samples", &unpack_rows, &columns_pack};

/* From samples, where there are any. */
static enum status pass_rows(struct run *run, const struct filter *filter, cl_int keep,
                             const struct planes *src, const struct raster *raster, const struct planes *dst,
                             struct error *error)
{
    struct window window = filter_window(filter);
    struct weights weights;
    struct work work = filter_rows_work(run, raster ? &on_samples : &on_planes, dst);
    if (run_weights(run, filter->weights, (size_t)filter->taps, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!raster)
        return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights),
                      ARG(window), ARG(keep));
    define_all(&work.defines, &raster->defines);
    work.depth = 1;
    work.bytes = raster_bytes(raster, dst->rows);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(raster), ARG_PLANES(dst), ARG_WEIGHTS(weights),
                  ARG(window));
}

/* Into samples, where there are any; `dst` then says which. */
static enum status pass_columns(struct run *run, const struct filter *filter, cl_int keep,
                                const struct planes *src, const struct planes *dst,
                                const struct raster *raster, struct error *error)
{
    struct geometry at = planes_geometry(dst);
    struct window window = filter_window(filter);
    struct weights weights;
    struct work work = filter_columns_work(run, raster ? &on_samples : &on_planes, dst);
    if (run_weights(run, filter->weights, (size_t)filter->taps, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!raster)
        return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights),
                      ARG(window), ARG(keep));
    define_all(&work.defines, &raster->defines);
    work.depth = divided(dst->width, STRIP * WIDE_LANES);
    work.width = STRIP * WIDE_LANES;
    work.bytes = raster_bytes(raster, dst->rows);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARGS_RASTER(raster), ARG(at),
                  ARG_WEIGHTS(weights), ARG(window));
}

static enum status filter_at_once(struct run *run, const struct filter *along_x, const struct filter *along_y,
                                  cl_int keep, const struct planes *src, const struct planes *dst,
                                  struct error *error)
{
    struct tile tile;
    if (tile_make(run, "separable_grouped", &tunable_filter_both, 1, along_x, along_y, dst, &tile, error) !=
        STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &tile.work, error, ARG_PLANES(src), ARG_PLANES(dst), ARGS_TILE(tile),
                  ARG(keep));
}

enum status filter_separable(struct run *run, const struct filter *along_x, const struct filter *along_y,
                             int keep, const struct value *in, struct value *out, struct error *error)
{
    const struct shape *shape = &out->shape;
    struct planes half;
    if (!out->raster && run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    if (tile_suits(run, &tunable_filter_both, along_x))
        return filter_at_once(run, along_x, along_y, keep, &in->planes[0], &out->planes[0], error);
    if (run_scratch(run, shape->width, in->shape.height, in->rows, 1, shape_planes(shape), &half, error) !=
            STATUS_OK ||
        pass_rows(run, along_x, keep, &in->planes[0], in->raster, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct planes dst = value_planes(out);
    return pass_columns(run, along_y, keep, &half, &dst, out->raster, error);
}
