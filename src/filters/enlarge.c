#include "filters/enlarge.h"

#include <stdlib.h>

const struct tunable tunable_enlarge = {.kernel = "enlarge",
                                        .wide_images = {8, {16, 1}},
                                        .grouped = {8, {32, 4}},
                                        .grouped_images = {8, {1, 64}}};
const struct tunable tunable_enlarge_rows = {.kernel = "enlarge_rows"},
                     tunable_enlarge_columns = {.kernel = "enlarge_columns"};

/* Runs of LANES outputs that a work-item of enlarge_rows has: kernels/enlarge_wide.h. */
enum { ROW_RUNS = 4 };

/* As kernels know it: struct enlargement of kernels/enlarge.h. */
struct steps {
    cl_int shift, halfway, window;
};

/* Where the samples of output o begin, up to a constant. */
static int first_sample(const struct steps *steps, int o)
{
    return (o + steps->halfway) >> steps->shift;
}

/* Matrices for runs of `outputs`: as many as runs have phases. */
static int count_matrices(const struct steps *steps, int outputs)
{
    int factor = 1 << steps->shift;
    return factor > outputs ? factor / outputs : 1;
}

static struct steps find_steps(const struct enlargement *by, int outputs)
{
    int halfway = by->taps % 2 == 0 ? 1 << by->exponent >> 1 : 0, longest = 0;
    struct steps steps = {by->exponent, halfway, 0};
    for (int i = 0; i < count_matrices(&steps, outputs); i++) {
        int length = first_sample(&steps, (i + 1) * outputs - 1) - first_sample(&steps, i * outputs);
        longest = length > longest ? length : longest;
    }
    steps.window = longest + by->taps;
    return steps;
}

/* The weights of runs of `outputs`, as kernels/enlarge.h describes them, of `window` samples each. */
static enum status run_matrices(struct run *run, const struct enlargement *by, int outputs, int window,
                                struct weights *weights, struct error *error)
{
    struct steps steps = find_steps(by, outputs);
    int matrices = count_matrices(&steps, outputs), factor = 1 << by->exponent;
    size_t count = (size_t)matrices * (size_t)window * (size_t)outputs;
    float *values = allocate_zeroed(count, sizeof *values, "filter weights", error);
    if (!values)
        return STATUS_FAILED;
    for (int o = 0; o < matrices * outputs; o++) {
        int i = o / outputs, sample = first_sample(&steps, o) - first_sample(&steps, i * outputs);
        for (int k = 0; k < by->taps; k++)
            values[(i * window + sample + k) * outputs + o % outputs] =
                by->weights[o % factor * by->taps + k];
    }
    enum status status = run_weights(run, values, count, weights, error);
    free(values);
    return status;
}

/* The grid's y counts source rows from *first, those whose outputs `out` has. */
static int source_rows(const struct enlargement *by, const struct value *out, cl_int *first)
{
    *first = out->rows.begin >> by->exponent;
    return ((out->rows.end - 1) >> by->exponent) - *first + 1;
}

static enum status repeat(struct run *run, const struct enlargement *by, const struct value *in,
                          struct value *out, struct error *error)
{
    const struct raster *raster = out->raster;
    const struct planes *src = &in->planes[0], dst = value_planes(out);
    struct geometry at = planes_geometry(&dst);
    cl_int shift = by->exponent, first;
    struct work work = raster ? run_work(run, "nearest_samples", "enlarge_nearest_pack", &dst)
                              : run_work(run, "nearest", "enlarge_nearest", &dst);
    work.height = source_rows(by, out, &first);
    if (!raster)
        return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&dst), ARG(shift), ARG(first));
    define_all(&work.defines, &raster->defines);
    work.depth = 1;
    work.bytes = raster_bytes(raster, dst.rows);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARGS_RASTER(raster), ARG(at), ARG(shift),
                  ARG(first));
}

static enum status enlarge_columns(struct run *run, const struct enlargement *by, const struct planes *half,
                                   struct value *out, struct error *error)
{
    const struct raster *raster = out->raster;
    const struct planes dst = value_planes(out);
    struct geometry at = planes_geometry(&dst);
    struct steps steps = find_steps(by, 1);
    struct weights weights;
    cl_int first;
    struct work work = raster ? run_work(run, "enlarge_samples", "enlarge_columns_pack", &dst)
                              : run_tuned(run, "enlarge_wide", &tunable_enlarge_columns, &dst);
    work.height = source_rows(by, out, &first);
    work.apart = true;
    define(&work.defines, "TAPS", by->taps);
    if (run_matrices(run, by, 1, steps.window, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!raster)
        return LAUNCH(run->device, &work, error, ARG_PLANES(half), ARG_PLANES(&dst), ARG_WEIGHTS(weights),
                      ARG(steps), ARG(first));
    define_all(&work.defines, &raster->defines);
    work.depth = 1;
    work.bytes = raster_bytes(raster, dst.rows);
    return LAUNCH(run->device, &work, error, ARG_PLANES(half), ARGS_RASTER(raster), ARG(at),
                  ARG_WEIGHTS(weights), ARG(steps), ARG(first));
}

/* Rows first: the columns' pass, which writes the whole result, then stores whole vectors. */
static enum status enlarge_twice(struct run *run, const struct enlargement *by, const struct value *in,
                                 struct value *out, struct error *error)
{
    const struct planes *src = &in->planes[0];
    struct rows held = {src->first_row, src->first_row + src->rows};
    struct steps steps = find_steps(by, WIDE_LANES);
    struct planes half;
    struct weights weights;
    if (run_scratch(run, out->shape.width, src->height, held, 1, src->channels, &half, error) != STATUS_OK ||
        run_matrices(run, by, WIDE_LANES, steps.window, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    /* Both passes are one program. */
    struct work work =
        run_tuned(run, out->raster ? "enlarge_samples" : "enlarge_wide", &tunable_enlarge_rows, &half);
    int runs = count_matrices(&steps, WIDE_LANES) * ROW_RUNS;
    work.width = divided(half.width, runs * WIDE_LANES) * runs / ROW_RUNS * WIDE_LANES;
    work.apart = true;
    define(&work.defines, "TAPS", by->taps);
    if (out->raster)
        define_all(&work.defines, &out->raster->defines);
    if (LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&half), ARG_MEMORY(weights.memory),
               ARG(steps)) != STATUS_OK)
        return STATUS_FAILED;
    return enlarge_columns(run, by, &half, out, error);
}

/* In one pass: in buffers a work-item has four neighbours in several rows, in images several texels of one.
 * Across that, a run is four outputs, or one texel. */
static enum status enlarge_at_once(struct run *run, const struct enlargement *by, const struct planes *src,
                                   struct value *out, struct error *error)
{
    struct planes *dst = &out->planes[0];
    struct work work = run_tuned(run, "enlarge_grouped", &tunable_enlarge, dst);
    int outputs = work.form.outputs;
    struct steps steps = find_steps(by, outputs);
    struct weights weights, across;
    cl_int first = out->rows.begin / outputs * outputs;
    bool images = run->memory == MEMORY_IMAGE;
    int across_window = images ? by->taps : by->taps + 2; /* as in the kernel */
    define(&work.defines, "TAPS", by->taps);
    define(&work.defines, "OUTPUTS", outputs);
    if (run_matrices(run, by, outputs, steps.window, &weights, error) != STATUS_OK ||
        run_matrices(run, by, images ? 1 : GROUPED_LANES, across_window, &across, error) != STATUS_OK)
        return STATUS_FAILED;
    if (images) {
        work.width = divided(dst->width, outputs);
        return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights),
                      ARG_WEIGHTS(across), ARG(steps));
    }
    work.height = divided(out->rows.end - first, outputs);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(across),
                  ARG_WEIGHTS(weights), ARG(steps), ARG(first));
}

enum status enlarge_image(struct run *run, const struct enlargement *by, const struct value *in,
                          struct value *out, struct error *error)
{
    if (!out->raster && run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    if (by->taps == 0)
        return repeat(run, by, in, out, error);
    if (run_is_wide(run))
        return enlarge_twice(run, by, in, out, error);
    return enlarge_at_once(run, by, &in->planes[0], out, error);
}
