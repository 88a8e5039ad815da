/* Which programs a page needs is not listed anywhere: its first slice goes over a device that is only
 * imagined. */
#include "chain/foresee.h"

#include "chain/moving.h"
#include "chain/stages.h"
#include "device/profile.h"
#include "device/program.h"

#include <stdlib.h>

/* As run_slice in flow.c. */
static enum status rehearse(const struct page *page, struct run *run, const struct rows *rows,
                            const struct ends *ends, struct error *error)
{
    const struct plan *plan = page->plan;
    struct raster in = conversion_imagined(&page->from, &plan->shapes[0]),
                  out = conversion_imagined(&page->to, plan_output(plan));
    struct value value = {.shape = plan->shapes[plan->moved], .rows = rows[plan->moved]};
    struct planes room = {.object = NULL};
    enum status status = STATUS_OK;
    if (ends->moves)
        return move_samples(plan, run, rows, &in, &out, error);
    if (plan->moved > 0)
        status = move_aside(plan, run, &page->from, rows, &in, &room, error);
    value.raster = ends->reads ? &in : NULL;
    if (status == STATUS_OK && !ends->reads)
        status = run_output(run, &value, error);
    if (status == STATUS_OK && !ends->reads)
        status = unpack_planes(run, &page->from, &in, &value.planes[0], error);
    if (status == STATUS_OK)
        status = run_stages(plan, run, rows, &value, ends->writes ? &out : NULL, error);
    if (status == STATUS_OK && !ends->writes && value.shape.kind == KIND_IMAGE)
        status = pack_planes(run, &page->to, &value.planes[0], &out, error);
    value_release(run, &value);
    planes_release(&run->pool, &room);
    return status;
}

enum status foresee_programs(const struct page *page, const struct ends *ends, struct error *error)
{
    const struct plan *plan = page->plan;
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
    enum status status = rehearse(page, &run, rows, ends, error);
    run_free(&run);
    free(rows);
    if (status == STATUS_OK)
        programs_build(page->run->device, &recipes);
    return status;
}
