/* Runs one slice through the chain, for real or as a dry run.
 *
 * A dry run finds the memory of the planes: the stages themselves run on a device that only counts
 * allocations (device_init_dry_run), so no formula has to follow a stage's scratch memory. A dry run of one
 * slice takes 10 to 50 µs a stage. The planner runs 33 slices of a tall image, as the others have the same
 * halos. */
#include "chain/slice.h"

#include "chain/coefficients.h"
#include "device/event_log.h"

#include <string.h>

bool slice_only_moves_samples(const struct plan *plan, const struct conversion *from,
                              const struct conversion *to)
{
    return plan->raster_steps > 0 && plan->chain->count == plan->raster_steps && !plan->analysis &&
           conversion_keeps_samples(from, to);
}

struct slice slice_begin(const struct plan *plan, struct run *run, const struct conversion *from,
                         const struct conversion *to)
{
    const struct chain *chain = plan->chain;
    const size_t moved = plan->raster_steps;
    run->pool.headroom = plan->headroom;
    struct slice slice = {.run = run,
                          .plan = plan,
                          .from = from,
                          .to = to,
                          .only_moves_samples = slice_only_moves_samples(plan, from, to),
                          .out = rows_full(plan_output(plan)->height)};
    /* Stages at the ends may read or write samples instead of planes, but not for a group. */
    if (chain->count == moved || plan->shapes[0].images > 1)
        return slice;
    const bool raw_in = conversion_allows_raw_samples(run, from),
               raw_out = conversion_allows_raw_samples(run, to);
    const struct stage_caps first = step_caps(&chain->steps[moved]);
    slice.first_reads_samples = (run_is_cpu(run) && first.tiles) || (raw_in && first.reads_samples);
    if (plan->analysis)
        return slice;
    const struct stage_caps last = step_caps(&chain->steps[chain->count - 1]);
    slice.last_writes_samples = (run_is_cpu(run) && last.tiles) || (raw_out && last.writes_samples);
    /* A single stage that maps samples to samples needs no planes at all. */
    if (chain->count == moved + 1 && plan->in == plan->out && raw_in && raw_out && first.maps_samples)
        slice.first_reads_samples = slice.last_writes_samples = true;
    return slice;
}

/* ---------------------------------------------------------------- the steps of a slice */

/* Ends a step: releases its scratch planes, and names the stage in a failure. Returns `status`. */
static enum status end_step(struct run *run, const struct step *step, enum status status, struct error *error)
{
    if (status != STATUS_OK)
        error->stage = step->stage->name;
    run_end_stage(run);
    return status;
}

/* Enqueues step `index` on samples, from `in` to `out`. */
static enum status move_samples(const struct slice *slice, size_t index, const struct interval *rows,
                                const struct raster *in, const struct raster *out, struct error *error)
{
    const struct plan *plan = slice->plan;
    struct run *run = slice->run;
    const struct step *step = &plan->chain->steps[index];
    const struct value before = {.shape = plan->shapes[index], .rows = rows[index], .raster = in};
    struct value after = {.shape = plan->shapes[index + 1], .rows = rows[index + 1], .raster = out};
    run->device->event_log->owner = (struct event_owner){(int)index, step->stage->name};
    return end_step(run, step, step->stage->run(run, step->params, &before, &after, error), error);
}

/* Enqueues step `index` from *raster into memory of the pool, and releases *moved, which has that raster, or
 * no memory. *moved becomes the new memory, which the caller releases, and *raster the moved samples. */
static enum status move_aside(const struct slice *slice, size_t index, const struct interval *rows,
                              struct raster *raster, struct planes *moved, struct error *error)
{
    const struct shape *shape = &slice->plan->shapes[index + 1];
    const struct interval out = rows[index + 1];
    const size_t pitch = transfer_pitch(shape->width, shape->channels, slice->from->type);
    const int height = (out.end - out.begin) * shape->images;
    struct planes source = *moved;
    *moved = (struct planes){.memory = MEMORY_BUFFER,
                             .width = (int)(pitch / sizeof(float)),
                             .height = height,
                             .rows = height,
                             .layers = 1,
                             .channels = 1};
    enum status status = planes_acquire(&slice->run->pool, moved, error);
    struct raster aside = conversion_raster(slice->from, moved->object, pitch, out.begin);
    aside.rows = out.end - out.begin;
    if (status == STATUS_OK)
        status = move_samples(slice, index, rows, raster, &aside, error);
    planes_release(&slice->run->pool, &source);
    *raster = aside;
    return status;
}

/* Enqueues every stage after the moved ones. *value is the input and becomes the output; planes of values in
 * between are released after each stage. The last stage writes samples to `out` if that is not NULL. */
static enum status run_stages(const struct slice *slice, const struct interval *rows, struct value *value,
                              const struct raster *out, struct error *error)
{
    const struct plan *plan = slice->plan;
    struct run *run = slice->run;
    enum status status = STATUS_OK;
    value->opponent = plan->opponent_in;
    for (size_t i = plan->raster_steps; status == STATUS_OK && i < plan->chain->count; i++) {
        const struct step *step = &plan->chain->steps[i];
        const bool last = i + 1 == plan->chain->count;
        struct value next = {.shape = plan->shapes[i + 1],
                             .rows = rows[i + 1],
                             .raster = last ? out : NULL,
                             .opponent = last && plan->opponent_out};
        run->device->event_log->owner = (struct event_owner){(int)i, step->stage->name};
        status = end_step(run, step, step->stage->run(run, step->params, value, &next, error), error);
        value_release_except(run, value, &next);
        *value = next;
    }
    return status;
}

/* Returns the step that an analysis pass is for, and makes it the owner of new event records. */
static const struct step *analysis_owner(const struct plan *analysis, struct run *run)
{
    run->device->event_log->owner =
        (struct event_owner){(int)analysis->chain->count, analysis->analysis->stage->name};
    return analysis->analysis;
}

enum status analysis_begin(const struct plan *analysis, struct run *run, struct error *error)
{
    const struct step *step = analysis_owner(analysis, run);
    return end_step(run, step,
                    step->stage->analysis->begin(run, step->params, plan_output(analysis),
                                                 run_add_analysis_result(run, step->params), error),
                    error);
}

enum status analysis_end(const struct plan *analysis, struct run *run, struct error *error)
{
    const struct step *step = analysis_owner(analysis, run);
    run->pool.headroom = 1; /* no slices follow: the stage computes the whole at once */
    return end_step(run, step,
                    step->stage->analysis->end(run, step->params, plan_output(analysis),
                                               run_analysis_result(run, step->params), error),
                    error);
}

enum status slice_run(struct slice *slice, const struct raster *in, const struct raster *out,
                      struct value *pyramid, struct error *error)
{
    const struct plan *plan = slice->plan;
    struct run *run = slice->run;
    struct interval rows[MAX_CHAIN + 1] = {{0, 0}};
    plan_rows(plan, slice->out, rows);
    if (plan_outgrows(plan, rows, &slice->most_rows))
        pool_free_unused(&run->pool, true); /* the allocations of earlier slices are too small */

    /* Move the samples. */
    const size_t aside =
        plan->raster_steps - slice->only_moves_samples; /* the last step may write to `out` */
    struct planes moved = {.object = NULL};
    struct raster samples = *in;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < aside; i++)
        status = move_aside(slice, i, rows, &samples, &moved, error);
    if (slice->only_moves_samples) {
        if (status == STATUS_OK)
            status = move_samples(slice, aside, rows, &samples, out, error);
        planes_release(&run->pool, &moved);
        return status;
    }

    /* The input of the stages: a pyramid, samples, or planes. */
    struct value value = {.shape = plan->shapes[plan->raster_steps], .rows = rows[plan->raster_steps]};
    if (value.shape.kind == KIND_PYRAMID) {
        memcpy(value.planes, pyramid->planes, sizeof value.planes);
        memset(pyramid->planes, 0, sizeof pyramid->planes);
    } else if (slice->first_reads_samples) {
        value.raster = &samples;
    } else {
        if (status == STATUS_OK)
            status = run_output(run, &value, error);
        if (status == STATUS_OK)
            status = unpack_columns(run, &samples, 0, &value.planes[0], error);
    }

    /* The stages, and their output: the counts of an analysis pass, a pyramid, or samples. */
    if (status == STATUS_OK)
        status = run_stages(slice, rows, &value, slice->last_writes_samples ? out : NULL, error);
    if (status == STATUS_OK && plan->analysis) {
        const struct step *step = analysis_owner(plan, run);
        void *result = run_analysis_result(run, step->params);
        status = step->stage->analysis->add(run, step->params, &value, slice->out, result, error);
        status = end_step(run, step, status, error);
    } else if (status == STATUS_OK && value.shape.kind == KIND_PYRAMID) {
        *pyramid = value;
        memset(value.planes, 0, sizeof value.planes);
    } else if (status == STATUS_OK && !slice->last_writes_samples) {
        status =
            pack_columns(run, &value.planes[0], (struct columns){.count = value.planes[0].width}, out, error);
    }
    value_release(run, &value);
    planes_release(&run->pool, &moved);
    return status;
}

/* ---------------------------------------------------------------- dry runs */

/* Runs the first slice and at most `slices` others, which are evenly spread and end with the last slice. */
static enum status dry_run_slices(const struct plan *plan, struct run *run, const struct conversion *from,
                                  const struct conversion *to, int slices, struct error *error)
{
    const struct shape *first = &plan->shapes[0], *last_shape = plan_output(plan);
    const struct raster in = conversion_raster(from, NULL,
                                               transfer_pitch(first->width, first->channels, from->type), 0),
                        out = conversion_raster(
                            to, NULL, transfer_pitch(last_shape->width, last_shape->channels, to->type), 0);
    struct slice slice = slice_begin(plan, run, from, to);
    const int last = plan->slices - 1, others = last < slices ? last : slices;
    const bool reads_pyramid = first->kind == KIND_PYRAMID;
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i <= others; i++) {
        struct value pyramid = {.shape = plan->shapes[0]};
        slice.out = plan_slice(plan, others > 0 ? (int)((long long)last * i / others) : 0);
        /* Allocate the planes of a pyramid that a file would fill. */
        for (int level = 0; status == STATUS_OK && reads_pyramid && level <= pyramid.shape.levels; level++) {
            const struct coefficient_page page =
                coefficients_page(&pyramid.shape, level == 0 ? 0 : 1 + (level - 1) * ORIENTATIONS);
            status = run_planes(run, page.width, page.height, rows_full(page.height),
                                level == 0 ? 1 : SUBBAND_LAYERS, pyramid.shape.channels,
                                &pyramid.planes[level], error);
        }
        if (status == STATUS_OK)
            status = slice_run(&slice, &in, &out, &pyramid, error);
        value_release(run, &pyramid);
    }
    return status;
}

enum status slice_dry_run(const struct plan *plan, const struct run *run, const struct conversion *from,
                          const struct conversion *to, int slices, bool adds_programs,
                          struct dry_run_memory *result, struct error *error)
{
    struct device imaginary;
    struct event_log event_log = {0};
    struct run dry;
    device_init_dry_run(run->device, &imaginary);
    imaginary.event_log = &event_log;
    imaginary.program_store = adds_programs ? run->device->program_store : NULL;
    run_init(&dry, &imaginary, run->memory, run->edge);
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < plan->chain->count; i++) {
        if (!plan_needs_analysis(plan, i))
            continue;
        /* The parts of an analysis pass, and its end. The memory of each is freed before the next, as in real
         * runs. */
        struct chain before;
        struct plan analysis;
        plan_analysis(plan, i, &before, &analysis);
        status = analysis_begin(&analysis, &dry, error);
        if (status == STATUS_OK)
            status = dry_run_slices(&analysis, &dry, from, to, slices, error);
        pool_free_unused(&dry.pool, true);
        if (status == STATUS_OK)
            status = analysis_end(&analysis, &dry, error);
        pool_free_unused(&dry.pool, true);
    }
    if (status == STATUS_OK)
        status = dry_run_slices(plan, &dry, from, to, slices, error);
    *result = (struct dry_run_memory){dry.pool.peak, dry.pool.largest};
    run_free_analysis_results(&dry);
    run_free(&dry);
    return status;
}
