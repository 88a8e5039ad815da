#include "chain/stages.h"

#include "device/profile.h"

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
