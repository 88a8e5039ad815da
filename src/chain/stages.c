#include "chain/stages.h"

#include "chain/coefficients.h"
#include "device/profile.h"
#include "device/program.h"

#include <stdlib.h>

/* Whether a stage with such a value at its end has it in tiles. */
static bool has_tiles(const struct run *run, const struct traits *traits, const struct shape *shape)
{
    return traits->tiles && shape->images == 1 && run_is_wide(run);
}

struct ends stages_ends(const struct plan *plan, const struct run *run, bool plain_in, bool plain_out)
{
    const struct chain *chain = plan->chain;
    const size_t moved = (size_t)plan->moved;
    if (chain->count == moved)
        return (struct ends){.reads = false};
    const struct traits first = step_traits(&chain->steps[moved]);
    const bool loads = has_tiles(run, &first, &plan->shapes[moved]);
    if (plan->survey)
        return (struct ends){.reads = loads || (plain_in && first.reads_samples)};
    const struct traits last = step_traits(&chain->steps[chain->count - 1]);
    bool maps =
        chain->count == moved + 1 && plan->in == plan->out && plain_in && plain_out && first.maps_samples;
    return (struct ends){.reads = maps || loads || (plain_in && first.reads_samples),
                         .writes = maps || has_tiles(run, &last, plan_output(plan)) ||
                                   (plain_out && last.writes_samples)};
}

struct ends page_ends(const struct page *page)
{
    struct ends ends = stages_ends(page->plan, page->run, conversion_is_plain(page->run, &page->from),
                                   conversion_is_plain(page->run, &page->to));
    ends.moves = moving_is_all(page->plan, &page->from, &page->to);
    return ends;
}

enum status run_stages(const struct plan *plan, struct run *run, const struct rows *rows, struct value *value,
                       const struct raster *raster, struct error *error)
{
    enum status status = STATUS_OK;
    value->opponent = plan->opponent_in;
    for (size_t i = (size_t)plan->moved; status == STATUS_OK && i < plan->chain->count; i++) {
        const struct step *step = &plan->chain->steps[i];
        struct value next = {.shape = plan->shapes[i + 1], .rows = rows[i + 1]};
        next.raster = i + 1 == plan->chain->count ? raster : NULL;
        next.opponent = i + 1 == plan->chain->count && plan->opponent_out;
        run->device->profile->owner = (struct profile_owner){(int)i, step->stage->name};
        status = step->stage->run(run, step->params, value, &next, error);
        run_end_stage(run);
        value_release_except(run, value, &next);
        *value = next;
    }
    return status;
}

/* ---------------------------------------------------------------- surveys */

static void own_survey(const struct plan *survey, struct run *run)
{
    run->device->profile->owner =
        (struct profile_owner){(int)survey->chain->count, survey->survey->stage->name};
}

enum status begin_survey(const struct plan *survey, struct run *run, struct error *error)
{
    const struct step *step = survey->survey;
    own_survey(survey, run);
    return step->stage->survey->begin(run, step->params, plan_output(survey),
                                      run_begin_finding(run, step->params), error);
}

enum status take_part(const struct plan *survey, struct run *run, const struct value *value, struct rows part,
                      struct error *error)
{
    const struct step *step = survey->survey;
    own_survey(survey, run);
    enum status status =
        step->stage->survey->take(run, step->params, value, part, run_finding(run, step->params), error);
    run_end_stage(run);
    return status;
}

enum status end_survey(const struct plan *survey, struct run *run, struct error *error)
{
    const struct step *step = survey->survey;
    own_survey(survey, run);
    enum status status = step->stage->survey->end(run, step->params, plan_output(survey),
                                                  run_finding(run, step->params), error);
    run_end_stage(run);
    return status;
}

/* ---------------------------------------------------------------- moving */

bool moving_is_all(const struct plan *plan, const struct conversion *from, const struct conversion *to)
{
    return plan->moved > 0 && plan->chain->count == (size_t)plan->moved && !plan->survey &&
           conversion_keeps_samples(from, to);
}

enum status move_samples(const struct plan *plan, struct run *run, const struct rows *rows,
                         const struct raster *in, const struct raster *out, struct error *error)
{
    const struct step *step = &plan->chain->steps[0];
    const struct value before = {.shape = plan->shapes[0], .rows = rows[0], .raster = in};
    struct value after = {.shape = plan->shapes[1], .rows = rows[1], .raster = out};
    run->device->profile->owner = (struct profile_owner){0, step->stage->name};
    enum status status = step->stage->run(run, step->params, &before, &after, error);
    run_end_stage(run);
    return status;
}

enum status move_aside(const struct plan *plan, struct run *run, const struct conversion *from,
                       const struct rows *rows, struct raster *raster, struct planes *room,
                       struct error *error)
{
    const struct shape *shape = &plan->shapes[1];
    const size_t pitch = transfer_pitch(shape->width, shape->channels, from->type);
    const int height = (rows[1].end - rows[1].begin) * shape->images;
    *room = (struct planes){.memory = MEMORY_BUFFER,
                            .width = (int)(pitch / sizeof(float)),
                            .height = height,
                            .rows = height,
                            .layers = 1,
                            .channels = 1};
    enum status status = planes_acquire(&run->pool, room, error);
    if (status != STATUS_OK)
        return status;
    struct raster aside = conversion_raster(from, room->object, pitch, rows[1].begin);
    aside.rows = rows[1].end - rows[1].begin;
    status = move_samples(plan, run, rows, raster, &aside, error);
    *raster = aside;
    return status;
}

/* ---------------------------------------------------------------- rehearsal */

/* The planes of a pyramid that is read from a file. */
static enum status acquire_pyramid(struct run *run, struct value *pyramid, struct error *error)
{
    enum status status = STATUS_OK;
    for (int level = 0; status == STATUS_OK && level <= pyramid->shape.levels; level++) {
        int width, height;
        char name[PAGE_NAME_SIZE];
        coefficients_page(&pyramid->shape, level == 0 ? 0 : 1 + (level - 1) * ORIENTATIONS, &width, &height,
                          name);
        status = run_planes(run, width, height, rows_whole(height), level == 0 ? 1 : SUBBAND_LAYERS,
                            pyramid->shape.channels, &pyramid->planes[level], error);
    }
    return status;
}

static enum status acquire_input(struct run *run, const struct conversion *from, const struct raster *in,
                                 struct value *value, struct error *error)
{
    if (value->shape.kind == KIND_PYRAMID)
        return acquire_pyramid(run, value, error);
    enum status status = run_output(run, value, error);
    return status == STATUS_OK ? unpack_planes(run, from, in, &value->planes[0], error) : status;
}

enum status rehearse_slice(const struct plan *plan, struct run *run, struct rows out, const struct rows *rows,
                           const struct ends *ends, const struct conversion *from,
                           const struct conversion *to, struct error *error)
{
    struct raster source = conversion_imagined(from, &plan->shapes[0]),
                  target = conversion_imagined(to, plan_output(plan));
    struct value value = {.shape = plan->shapes[plan->moved], .rows = rows[plan->moved]};
    struct planes room = {.object = NULL};
    enum status status = STATUS_OK;
    if (ends->moves)
        return move_samples(plan, run, rows, &source, &target, error);
    if (plan->moved > 0)
        status = move_aside(plan, run, from, rows, &source, &room, error);
    value.raster = ends->reads ? &source : NULL;
    if (status == STATUS_OK && !ends->reads)
        status = acquire_input(run, from, &source, &value, error);
    if (status == STATUS_OK)
        status = run_stages(plan, run, rows, &value, ends->writes ? &target : NULL, error);
    if (status == STATUS_OK && plan->survey)
        status = take_part(plan, run, &value, out, error);
    else if (status == STATUS_OK && !ends->writes && value.shape.kind == KIND_IMAGE)
        status = pack_planes(run, to, &value.planes[0], &target, error);
    value_release(run, &value);
    planes_release(&run->pool, &room);
    return status;
}

/* ---------------------------------------------------------------- foresee
 *
 * Which programs a page needs is not listed anywhere: its first slice goes over a device that is only
 * imagined. */

/* All of what goes into the stage at once. */
static enum status rehearse_survey(const struct plan *plan, size_t step, struct run *run, struct error *error)
{
    struct chain before;
    struct plan survey;
    plan_survey(plan, step, &before, &survey);
    const struct rows all = survey.made;
    struct value value = {.shape = *plan_output(&survey),
                          .rows = all,
                          .opponent = plan->opponent_in && step == (size_t)plan->moved};
    enum status status = begin_survey(&survey, run, error);
    if (status == STATUS_OK)
        status = run_output(run, &value, error);
    if (status == STATUS_OK)
        status = take_part(&survey, run, &value, all, error);
    value_release(run, &value);
    return status == STATUS_OK ? end_survey(&survey, run, error) : status;
}

enum status foresee_programs(const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    const struct ends ends = page_ends(page);
    struct device imaginary;
    struct profile profile = {0};
    struct recipes recipes = {.count = 0};
    struct run run;
    if (plan->shapes[0].kind == KIND_PYRAMID)
        return STATUS_OK;
    struct rows *rows = allocate_zeroed(plan->chain->count + 1, sizeof *rows, "a plan", error);
    if (!rows)
        return STATUS_FAILED;
    device_imagine(page->run->device, &imaginary);
    imaginary.profile = &profile;
    imaginary.foreseen = &recipes;
    run_init(&run, &imaginary, page->run->memory, page->run->edge);
    plan_rows(plan, plan_slice(plan, 0), rows);
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < plan->chain->count; i++)
        if (plan_surveys(plan, i))
            status = rehearse_survey(plan, i, &run, error);
    if (status == STATUS_OK)
        status = rehearse_slice(plan, &run, plan_slice(plan, 0), rows, &ends, &page->from, &page->to, error);
    run_end_findings(&run);
    run_free(&run);
    free(rows);
    if (status == STATUS_OK)
        programs_build(page->run->device, &recipes);
    return status;
}
