/* The memory of the stages' planes is not estimated: the stages run on an imagined device, which counts it.
 */
#include "chain/plan.h"

#include "chain/coefficients.h"
#include "chain/columns.h"
#include "chain/stages.h"
#include "chain/transfer.h"
#include "device/profile.h"
#include "image/writer.h"

#include <stdlib.h>

enum { REHEARSALS = 32 };

/* The ends of a chain that are sure to be samples, as flow.c has them: of a group all images are unpacked. */
static struct ends find_ends(const struct plan *plan, const struct run *run)
{
    const struct shape *in = &plan->shapes[0], *out = plan_output(plan);
    bool plain = run->plain && in->images == 1;
    return stages_ends(plan, run, plain && samples_are_plain(run, plan->in, in->alpha),
                       plain && samples_are_plain(run, plan->out, out->alpha));
}

static enum status count_slice(const struct plan *plan, int slice, struct run *run, struct rows *rows,
                               int *most, struct error *error)
{
    const struct ends ends = find_ends(plan, run);
    const struct conversion from = {.type = plan->in, .channels = plan->shapes[0].channels},
                            to = {.type = plan->out, .channels = plan_output(plan)->channels};
    plan_rows(plan, plan_slice(plan, slice), rows);
    if (plan_outgrows(plan, rows, most))
        pool_clear(&run->pool);
    return rehearse_slice(plan, run, plan_slice(plan, slice), rows, &ends, &from, &to, error);
}

/* The largest need of all slices. Where there are many, only some are rehearsed. */
static enum status rehearse_slices(const struct plan *plan, struct run *run, struct rows *rows,
                                   struct error *error)
{
    int most = 0, last = plan->slices - 1, steps = last < REHEARSALS ? last : REHEARSALS;
    run->pool.headroom = plan->headroom;
    enum status status = count_slice(plan, 0, run, rows, &most, error);
    for (int i = 1; status == STATUS_OK && i <= steps; i++)
        status = count_slice(plan, (int)((long long)last * i / steps), run, rows, &most, error);
    return status;
}

/* Frees what is not in use, as a survey does. */
static void note_planes(struct run *run, struct need *need)
{
    need->planes = run->pool.allocated > need->planes ? run->pool.allocated : need->planes;
    need->largest = run->pool.largest > need->largest ? run->pool.largest : need->largest;
    pool_clear(&run->pool);
}

static enum status rehearse_survey(const struct plan *plan, size_t step, struct run *run, struct rows *rows,
                                   struct need *need, struct error *error)
{
    struct chain before;
    struct plan survey;
    plan_survey(plan, step, &before, &survey);
    enum status status = begin_survey(&survey, run, error);
    if (status == STATUS_OK)
        status = rehearse_slices(&survey, run, rows, error);
    note_planes(run, need);
    run->pool.headroom = 1;
    if (status == STATUS_OK)
        status = end_survey(&survey, run, error);
    note_planes(run, need);
    return status;
}

/* Bytes of planes, at the time when they are the most. */
static enum status count_planes(const struct plan *plan, const struct run *run, struct need *need,
                                struct error *error)
{
    struct device imaginary;
    struct profile profile = {0};
    struct run counting;
    struct rows *rows = allocate_zeroed(plan->chain->count + 1, sizeof *rows, "a plan", error);
    if (!rows)
        return STATUS_FAILED;
    device_imagine(run->device, &imaginary);
    imaginary.profile = &profile;
    run_init(&counting, &imaginary, run->memory, run->edge);
    counting.plain = run->plain;
    need->planes = need->largest = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < plan->chain->count; i++)
        if (plan_surveys(plan, i))
            status = rehearse_survey(plan, i, &counting, rows, need, error);
    if (status == STATUS_OK)
        status = rehearse_slices(plan, &counting, rows, error);
    note_planes(&counting, need);
    run_end_findings(&counting);
    run_free(&counting);
    free(rows);
    return status;
}

/* Samples of a value on its way from or to a file; of a pyramid its largest page at a time. */
static uint64_t count_samples(const struct shape *shape, enum sample_type type, int rows, int slices)
{
    if (shape->kind == KIND_IMAGE)
        return (uint64_t)transfer_pitch(shape->width, shape->channels, type) * (uint64_t)rows *
               (uint64_t)shape->images * (slices > 1 ? COLUMN_SLOTS : 1);
    int width, height;
    char name[PAGE_NAME_SIZE];
    coefficients_page(shape, 1, &width, &height, name);
    return (uint64_t)transfer_pitch(width, shape->channels, SAMPLE_COMPLEX) * (uint64_t)height;
}

/* Bytes that the writer takes to compress. */
static uint64_t count_written(const struct plan *plan, const struct run *run)
{
    const struct shape *out = plan_output(plan);
    struct image_info info = {.width = (uint32_t)out->width,
                              .height = (uint32_t)out->height,
                              .channels = out->channels,
                              .type = out->kind == KIND_PYRAMID ? SAMPLE_COMPLEX : plan->out,
                              .compression = run->compression};
    return run->writer.format ? writer_memory(&run->writer, &info) : 0;
}

enum status plan_need(const struct plan *plan, const struct run *run, struct need *need, struct error *error)
{
    const struct shape *in = &plan->shapes[0], *out = plan_output(plan);
    const uint64_t read = count_samples(in, plan->in, plan->input_rows, plan->moved > 0 ? 1 : plan->slices);
    need->held = plan->moved > 0 ? read : 0;
    need->samples = read + count_samples(out, plan->out, plan->slice, plan->slices) + run->reserved +
                    count_written(plan, run);
    if (in->kind == KIND_IMAGE)
        need->samples +=
            (uint64_t)transfer_pitch(in->width, in->channels, plan->in) * (uint64_t)plan->overlap_rows;
    return count_planes(plan, run, need, error);
}
