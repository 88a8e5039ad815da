#include "filters/separable.h"

#include "device/tuning.h"

static int divided(int n, int by)
{
    return (n + by - 1) / by;
}

void filter_work(const struct run *run, const struct filter *filter, const struct filter_kernels *kernels,
                 bool along_x, const struct planes *dst, struct work *work)
{
    bool texels = along_x && run->memory == MEMORY_IMAGE;
    /* In buffers the rows' pass does not care: the two kernels then share a program. */
    int n = device_form(run->device, run->memory, texels ? kernels->rows : kernels->columns).outputs;
    *work = (struct work){.file = kernels->file,
                          .kernel = along_x ? kernels->rows : kernels->columns,
                          .memory = run->memory,
                          .width = texels ? divided(dst->width, n) : dst->width,
                          .height = along_x ? dst->rows : divided(dst->rows, n),
                          .depth = planes_depth(dst)};
    char keep[24] = "";
    if (kernels->keep >= 0)
        snprintf(keep, sizeof keep, " -DKEEP=%d", kernels->keep);
    snprintf(kernels->options, FILTER_OPTIONS_SIZE,
             "-DEDGE=%d -DTAPS=%d -DSTART=%d -DSTRIDE=%d -DFILTERS=%d -DOUTPUTS=%d%s", run->edge,
             filter->taps, filter->start, filter->stride, kernels->filters, n, keep);
    work->options = kernels->options;
}

static enum status filter_pass(struct run *run, const struct filter *filter, bool along_x, int keep,
                               const struct planes *src, const struct planes *dst, struct error *error)
{
    char options[FILTER_OPTIONS_SIZE] = "";
    struct filter_kernels kernels = {"separable", "filter_rows", "filter_columns", 1, keep, options};
    struct weights weights;
    struct work work;
    filter_work(run, filter, &kernels, along_x, dst, &work);
    if (run_weights(run, filter->weights, (size_t)filter->taps, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights));
}

enum status filter_rows(struct run *run, const struct filter *filter, int keep, const struct planes *src,
                        const struct planes *dst, struct error *error)
{
    return filter_pass(run, filter, true, keep, src, dst, error);
}

enum status filter_columns(struct run *run, const struct filter *filter, int keep, const struct planes *src,
                           const struct planes *dst, struct error *error)
{
    return filter_pass(run, filter, false, keep, src, dst, error);
}

bool filter_both_wins(const struct run *run, const struct filter *filter)
{
    return filter->stride == 2 && launch_lanes(run->device, run->memory, GRAIN_VECTOR) == GROUPED_LANES;
}

enum status filter_both(struct run *run, const struct filter *filter, const struct planes *src,
                        const struct planes *dst, struct error *error)
{
    char options[FILTER_OPTIONS_SIZE] = "";
    struct filter_kernels kernels = {"separable", NULL, "filter_both", 1, -1, options};
    struct weights weights;
    struct work work;
    filter_work(run, filter, &kernels, false, dst, &work);
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
    const struct planes *src = &in->planes[0];
    struct rows held = {src->first_row, src->first_row + src->rows};
    struct planes half;
    if (run_scratch(run, out->shape.width, in->shape.height, held, 1, src->channels, &half, error) !=
            STATUS_OK ||
        run_output(run, out, error) != STATUS_OK ||
        filter_rows(run, along_x, keep, src, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    return filter_columns(run, along_y, keep, &half, &out->planes[0], error);
}
