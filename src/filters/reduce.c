#include "filters/reduce.h"

#include "filters/tile.h"

/* As in kernels/reduce_wide.cl: outputs of a work-item of the pass along x. */
enum { SEGMENT = 64 };

const struct tunable tunable_reduce = {.kernel = "reduce", TILE_FORMS(4, 64)};
static const struct tunable reduce_columns = {.kernel = "reduce_columns", .wide = {4, {16, 1}}};

/* As kernels know them: struct reduction of kernels/reduce.h, struct block of kernels/reduce_grouped.cl. */
struct steps {
    cl_int start, taps, stride;
};

struct block {
    cl_int columns, across;
};

struct rows reduce_source_rows(const struct reduction *by, struct rows out)
{
    return (struct rows){out.begin * by->stride + by->start,
                         (out.end - 1) * by->stride + by->start + by->taps};
}

/* Along y first: the other pass, which gathers with a stride, then has less to do. */
static enum status reduce_twice(struct run *run, const struct reduction *by, const struct weights *weights,
                                const struct value *in, struct value *out, struct error *error)
{
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    struct steps steps = {by->start, by->taps, by->stride};
    struct planes half;
    if (run_scratch(run, in->shape.width, out->shape.height, out->rows, 1, src->channels, &half, error) !=
        STATUS_OK)
        return STATUS_FAILED;
    struct work columns = run_tuned(run, "reduce_wide", &reduce_columns, &half);
    int outputs = columns.form.outputs;
    columns.height = divided(half.rows, outputs);
    columns.apart = true;
    define(&columns.defines, "OUTPUTS", outputs);
    struct work rows = run_work(run, "reduce_wide", "reduce_rows", dst);
    rows.width = divided(dst->width, SEGMENT) * WIDE_LANES;
    rows.apart = true;
    define(&rows.defines, "OUTPUTS", outputs); /* the two share a program */
    if (LAUNCH(run->device, &columns, error, ARG_PLANES(src), ARG_PLANES(&half), ARG_WEIGHTS(*weights),
               ARG(steps)) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &rows, error, ARG_PLANES(&half), ARG_PLANES(dst), ARG_WEIGHTS(*weights),
                  ARG(steps));
}

/* The columns of a group: one for each work-item, more where the window leaves less than half of them to the
 * outputs. */
static struct block find_block(const struct run *run, const struct reduction *by, int group)
{
    int width = launch_lanes(run->device, run->memory, GRAIN_VECTOR), skew = by->start & (width - 1);
    struct block block = {0, 0};
    do {
        block.columns += group;
        int samples = block.columns * width - skew - by->taps;
        block.across = samples < 0 ? 0 : samples / by->stride + 1;
        block.across -= block.across % width; /* groups begin where vectors do */
    } while (block.across < 1 || 2 * block.across * by->stride < block.columns * width);
    return block;
}

static enum status reduce_at_once(struct run *run, const struct reduction *by, const struct weights *weights,
                                  const struct planes *src, const struct planes *dst, struct error *error)
{
    struct work work = run_tuned(run, "reduce_grouped", &tunable_reduce, dst);
    int group = work.form.group[0] * work.form.group[1];
    struct steps steps = {by->start, by->taps, by->stride};
    struct block block = find_block(run, by, group);
    int lanes = launch_lanes(run->device, run->memory, GRAIN_VECTOR);
    size_t pitch = (size_t)block.columns | 1, pixel = 4 * sizeof(float); /* four neighbours, or a texel */
    int outputs = run_fitting_outputs(run, work.form.outputs, pitch * pixel);
    if (outputs > group) /* a row has a work-item at least */
        outputs = group;
    work.form.group[0] = group;
    work.form.group[1] = 1;
    work.width = divided(dst->width, block.across) * group * lanes;
    work.height = divided(dst->rows, outputs);
    define(&work.defines, "GROUP", group);
    define(&work.defines, "OUTPUTS", outputs);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(*weights),
                  ARG(steps), ARG(block), ARG_LOCAL(pitch * (size_t)outputs * pixel));
}

enum status reduce_image(struct run *run, const struct reduction *by, const struct value *in,
                         struct value *out, struct error *error)
{
    struct weights weights;
    if (run_output(run, out, error) != STATUS_OK ||
        run_weights(run, by->weights, (size_t)by->taps, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    if (run_is_wide(run))
        return reduce_twice(run, by, &weights, in, out, error);
    return reduce_at_once(run, by, &weights, &in->planes[0], &out->planes[0], error);
}
