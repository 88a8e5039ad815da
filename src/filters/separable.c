#include "filters/separable.h"

enum { OUT_ROWS = 4, OPTIONS_SIZE = 128 }; /* OUT_ROWS as in kernels/separable.cl */

static enum status filter_pass(struct run *run, const char *kernel, const struct filter *filter, int height,
                               int keep, const struct planes *src, const struct planes *dst,
                               struct error *error)
{
    char options[OPTIONS_SIZE];
    cl_mem weights;
    cl_int start = filter->start, kept = keep;
    bool fits = (size_t)filter->taps * sizeof *filter->weights <= run->device->constant_memory;
    snprintf(options, sizeof options, "-DEDGE=%d -DTAPS=%d -DSTRIDE=%d%s", run->edge, filter->taps,
             filter->stride, fits ? "" : " -DWEIGHTS=__global");
    if (run_constants(run, filter->weights, (size_t)filter->taps, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = {.file = "separable",
                        .kernel = kernel,
                        .options = options,
                        .memory = dst->memory,
                        .width = dst->width,
                        .height = height,
                        .depth = planes_depth(dst)};
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_MEMORY(weights),
                  ARG(start), ARG(kept));
}

enum status filter_rows(struct run *run, const struct filter *filter, int keep, const struct planes *src,
                        const struct planes *dst, struct error *error)
{
    return filter_pass(run, "filter_rows", filter, dst->rows, keep, src, dst, error);
}

enum status filter_columns(struct run *run, const struct filter *filter, int keep, const struct planes *src,
                           const struct planes *dst, struct error *error)
{
    int items = (dst->rows + OUT_ROWS - 1) / OUT_ROWS;
    return filter_pass(run, "filter_columns", filter, items, keep, src, dst, error);
}

struct rows filter_source_rows(const struct filter *filter, struct rows out)
{
    return (struct rows){out.begin * filter->stride + filter->start,
                         (out.end - 1) * filter->stride + filter->start + filter->taps};
}

enum status filter_separable(struct run *run, const struct filter *along_x, const struct filter *along_y,
                             int keep, const struct value *in, struct value *out, struct error *error)
{
    const struct planes *src = &in->planes[0];
    struct rows held = {src->first_row, src->first_row + src->rows};
    struct planes half;
    if (run_scratch(run, out->shape.width, in->shape.height, held, 1, in->shape.channels, &half, error) !=
            STATUS_OK ||
        run_output(run, out, error) != STATUS_OK ||
        filter_rows(run, along_x, keep, src, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    return filter_columns(run, along_y, keep, &half, &out->planes[0], error);
}
