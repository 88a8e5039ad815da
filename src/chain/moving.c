#include "chain/moving.h"

#include "device/profile.h"

bool moving_is_all(const struct plan *plan, const struct conversion *from, const struct conversion *to)
{
    return plan->moved > 0 && plan->chain->count == (size_t)plan->moved && conversion_keeps_samples(from, to);
}

enum status moving_room(const struct plan *plan, struct run *run, enum sample_type type, struct rows rows,
                        struct planes *room, struct error *error)
{
    const struct shape *shape = &plan->shapes[1];
    size_t pitch = transfer_pitch(shape->width, shape->channels, type);
    int height = (rows.end - rows.begin) * shape->images;
    *room = (struct planes){.memory = MEMORY_BUFFER,
                            .width = (int)(pitch / sizeof(float)),
                            .height = height,
                            .rows = height,
                            .layers = 1,
                            .channels = 1};
    return planes_acquire(&run->pool, room, error);
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
    enum status status = moving_room(plan, run, from->type, rows[1], room, error);
    if (status != STATUS_OK)
        return status;
    size_t pitch = transfer_pitch(shape->width, shape->channels, from->type);
    struct raster aside = conversion_raster(from, room->object, pitch, rows[1].begin);
    aside.rows = rows[1].end - rows[1].begin;
    status = move_samples(plan, run, rows, raster, &aside, error);
    *raster = aside;
    return status;
}
