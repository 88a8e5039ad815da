#include "chain/plan.h"

#include "chain/coefficients.h"
#include "chain/page.h"
#include "chain/slice.h"
#include "chain/transfer.h"
#include "image/writer.h"

/* Slices that a dry run takes of many. */
enum { DRY_SLICES = 32 };

/* Samples of a value on its way from or to a file; of a pyramid its largest page at a time. */
static uint64_t count_samples(const struct shape *shape, enum sample_type type, int rows, int slices)
{
    if (shape->kind == KIND_IMAGE)
        return (uint64_t)transfer_pitch(shape->width, shape->channels, type) * (uint64_t)rows *
               (uint64_t)shape->images * (slices > 1 ? PAGE_SLOTS : 1);
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
    const struct conversion
        from = {.type = plan->in, .channels = in->channels, .alpha = in->alpha, .ranged = !run->plain},
        to = {.type = plan->out, .channels = out->channels, .alpha = out->alpha, .ranged = !run->plain};
    struct dry_run dry;
    enum status status = slice_dry_run(plan, run, &from, &to, DRY_SLICES, NULL, &dry, error);
    need->planes = dry.planes;
    need->largest = dry.largest;
    return status;
}
