#include "filters/separable.h"

/* Outputs of a work-item of a CPU device's rows' pass: four vectors, as in kernels/planes_filter.h and
 * separable.cl. */
enum { SEGMENT = 64 };

/* As in kernels/separable.cl: work-items along x. */
enum { STRIP = 64 };

/* On an H200 row passes like low groups and column passes narrow ones (each by 3 to 6%). A row pass in images
 * has a work-item walk along x, so its neighbours in the group lie along y, which is as good: textures are
 * stored in tiles. */
const struct tunable tunable_filter_rows = {.kernel = "filter_rows",
                                            .wide_images = {8, {16, 1}},
                                            .grouped = {1, {64, 2}},
                                            .grouped_images = {8, {1, 64}}};
const struct tunable tunable_filter_columns = {.kernel = "filter_columns",
                                               .wide = {4, {16, 1}},
                                               .wide_images = {8, {16, 1}},
                                               .grouped = {8, {32, 4}},
                                               .grouped_images = {8, {8, 16}}};
const struct tunable tunable_filter_both = {
    .kernel = "filter_both", .grouped = {4, {64, 2}}, .grouped_images = {8, {128, 1}}};

/* From samples and into them: on CPU devices. */
static const struct tunable unpack_rows = {.kernel = "unpack_filter_rows"};
static const struct tunable columns_pack = {.kernel = "filter_columns_pack", .wide = {4, {16, 1}}};

static int divided(int n, int by)
{
    return (n + by - 1) / by;
}

void filter_work(const struct run *run, const struct filter *filter, const struct filter_kernels *kernels,
                 bool along_x, const struct planes *dst, struct work *work)
{
    bool texels = along_x && run->memory == MEMORY_IMAGE;
    bool vectors = along_x && filter->stride == 1 && !texels && run->device->class == DEVICE_WIDE;
    /* In buffers the rows' pass does not care: the two kernels then share a program. */
    int n = device_form(run->device, run->memory, texels ? kernels->rows : kernels->columns).outputs;
    *work = run_tuned(run, kernels->file, along_x ? kernels->rows : kernels->columns, dst);
    if (texels)
        work->width = divided(dst->width, n);
    else if (vectors)
        work->width = divided(dst->width, SEGMENT) * WIDE_LANES;
    if (!along_x)
        work->height = divided(dst->rows, n);
    define(&work->defines, "TAPS", filter->taps);
    define(&work->defines, "START", filter->start);
    define(&work->defines, "STRIDE", filter->stride);
    define(&work->defines, "FILTERS", kernels->filters);
    define(&work->defines, "OUTPUTS", n);
    if (kernels->keep >= 0)
        define(&work->defines, "KEEP", kernels->keep);
}

/* Samples in place of src (along x) or of dst, whose size still counts. */
static void use_samples(const struct raster *raster, bool along_x, const struct planes *dst,
                        struct work *work)
{
    define_all(&work->defines, &raster->defines);
    work->depth = along_x ? 1 : divided(dst->width, STRIP * WIDE_LANES);
    work->width = along_x ? work->width : STRIP * WIDE_LANES;
    work->bytes = raster_bytes(raster, dst->rows);
}

static enum status filter_pass(struct run *run, const struct filter *filter, bool along_x, int keep,
                               const struct planes *src, const struct planes *dst,
                               const struct raster *raster, struct error *error)
{
    struct filter_kernels kernels = {"separable", &tunable_filter_rows, &tunable_filter_columns, 1, keep};
    struct geometry at = planes_geometry(dst);
    struct weights weights;
    struct work work;
    if (raster) {
        kernels.rows = &unpack_rows;
        kernels.columns = &columns_pack;
    }
    filter_work(run, filter, &kernels, along_x, dst, &work);
    if (raster)
        use_samples(raster, along_x, dst, &work);
    if (run_weights(run, filter->weights, (size_t)filter->taps, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!raster)
        return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights));
    if (along_x)
        return LAUNCH(run->device, &work, error, ARGS_RASTER(raster), ARG_PLANES(dst), ARG_WEIGHTS(weights));
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARGS_RASTER(raster), ARG(at),
                  ARG_WEIGHTS(weights));
}

enum status filter_rows(struct run *run, const struct filter *filter, int keep, const struct planes *src,
                        const struct planes *dst, struct error *error)
{
    return filter_pass(run, filter, true, keep, src, dst, NULL, error);
}

enum status filter_columns(struct run *run, const struct filter *filter, int keep, const struct planes *src,
                           const struct planes *dst, struct error *error)
{
    return filter_pass(run, filter, false, keep, src, dst, NULL, error);
}

/* Work-items of a group of filter_both in images. */
static int both_group(const struct form *form)
{
    return form->group[0] * form->group[1];
}

bool filter_both_wins(const struct run *run, const struct filter *filter)
{
    if (filter->stride != 2 || run->device->class != DEVICE_GROUPED)
        return false;
    if (run->memory == MEMORY_BUFFER)
        return true;
    struct form form = device_form(run->device, run->memory, &tunable_filter_both);
    size_t row = (size_t)(both_group(&form) + 1) * 4 * sizeof(float);
    return both_group(&form) >= 2 * filter->taps &&
           (size_t)(form.outputs + 1) * row <= run->device->local_memory;
}

/* In images a group computes a block of the output, as many columns as its work-items have source columns
 * for. */
static void both_work(const struct run *run, const struct filter *filter, const struct planes *dst,
                      struct work *work)
{
    struct form form = device_form(run->device, run->memory, &tunable_filter_both);
    int group = both_group(&form), across = (group - filter->taps) / filter->stride + 1;
    define(&work->defines, "GROUP", group);
    work->width = divided(dst->width, across) * form.group[0];
    work->height = divided(dst->rows, form.outputs) * form.group[1];
}

enum status filter_both(struct run *run, const struct filter *filter, const struct planes *src,
                        const struct planes *dst, struct error *error)
{
    struct filter_kernels kernels = {"separable_both", NULL, &tunable_filter_both, 1, -1};
    struct weights weights;
    struct work work;
    filter_work(run, filter, &kernels, false, dst, &work);
    if (run->memory == MEMORY_IMAGE)
        both_work(run, filter, dst, &work);
    if (run_weights(run, filter->weights, (size_t)filter->taps, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights));
}

struct rows filter_source_rows(const struct filter *filter, struct rows out)
{
    return (struct rows){out.begin * filter->stride + filter->start,
                         (out.end - 1) * filter->stride + filter->start + filter->taps};
}

enum status filter_separable(struct run *run, const struct filter *along_x, const struct filter *along_y,
                             int keep, const struct value *in, struct value *out, struct error *error)
{
    const struct shape *shape = &out->shape;
    struct planes half, dst;
    if (run_scratch(run, shape->width, in->shape.height, in->rows, 1, shape_planes(shape), &half, error) !=
            STATUS_OK ||
        (!out->raster && run_output(run, out, error) != STATUS_OK))
        return STATUS_FAILED;
    if (filter_pass(run, along_x, true, keep, &in->planes[0], &half, in->raster, error) != STATUS_OK)
        return STATUS_FAILED;
    dst = value_planes(out);
    return filter_pass(run, along_y, false, keep, &half, &dst, out->raster, error);
}
