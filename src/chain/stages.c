#include "chain/stages.h"

#include "device/profile.h"

static bool says(bool (*question)(const void *params), const struct step *step)
{
    return question && question(step->params);
}

struct ends stages_ends(const struct plan *plan, bool plain_in, bool plain_out)
{
    const struct chain *chain = plan->chain;
    const size_t moved = (size_t)plan->moved;
    if (chain->count == moved)
        return (struct ends){.reads = false};
    const struct step *first = &chain->steps[moved], *last = &chain->steps[chain->count - 1];
    bool maps = first == last && plan->in == plan->out && plain_in && plain_out &&
                says(first->stage->maps_samples, first);
    return (struct ends){.reads = maps || (plain_in && says(first->stage->reads_samples, first)),
                         .writes = maps || (plain_out && says(last->stage->writes_samples, last))};
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
