#include "chain/stack.h"

#include "chain/stages.h"
#include "device/profile.h"

#include <math.h>
#include <stdlib.h>

/* On CPU devices images of 128x128 pixels gain a quarter, those of 512x512 nothing, and a stack that outgrows
 * the caches loses. An H200 takes 0.4 to 0.6 of the time for 128x128, and for 512x512 0.8 where a chain has
 * many launches, 1.25 where it has few (docs/performance.md). Of the largest value between two steps a deep
 * chain has a dozen at once, for each of several workers. */
static const struct {
    int pixels, deep; /* of an image that may be stacked, and where a stage is deep */
    double floats;    /* of a stack's largest value: 4 MB, 16 MB */
} limits[] = {[DEVICE_WIDE] = {1 << 16, 1 << 16, 1 << 20}, [DEVICE_GROUPED] = {1 << 16, 1 << 18, 4 << 20}};

/* A pyramid has twelve quarters of its image on level 1, a quarter of that on each further one, and the
 * lowpass; stages that make one inside are deep, too. */
static double step_floats(const struct plan *plan, size_t i)
{
    const struct shape *in = &plan->shapes[i], *out = in + 1;
    double before = (double)in->width * in->height * in->channels;
    double after = (double)out->width * out->height * out->channels, most = before > after ? before : after;
    return plan->chain->steps[i].stage->deep ? 5 * most : most;
}

bool stack_takes(const struct chain *chain, const struct shape *image, const struct run *run)
{
    if (run->memory == MEMORY_IMAGE || image->kind != KIND_IMAGE || image->alpha ||
        chain_output(chain, KIND_IMAGE) != KIND_IMAGE)
        return false;
    bool deep = false;
    for (size_t i = 0; i < chain->count; i++) {
        if (!chain->steps[i].stage->stacks)
            return false;
        deep = deep || chain->steps[i].stage->deep;
    }
    int most = deep ? limits[run->device->class].deep : limits[run->device->class].pixels;
    return (double)image->width * image->height <= most;
}

int stack_most(const struct plan *plan, const struct run *run)
{
    const struct shape *in = &plan->shapes[0];
    double largest = (double)in->width * in->height * in->channels;
    for (size_t i = 0; i < plan->chain->count; i++)
        largest = fmax(largest, step_floats(plan, i));
    int most = (int)(limits[run->device->class].floats / largest);
    return plan->bands > 1 || most < 1 ? 1 : most < STACK_IMAGES ? most : STACK_IMAGES;
}

static enum status open_rasters(struct rasters *rasters, struct run *run, const struct shape *shape,
                                enum sample_type type, int room, struct error *error)
{
    rasters->rows = shape->height;
    rasters->pitch = transfer_pitch(shape->width, shape->channels, type);
    rasters->size = rasters->pitch * (size_t)shape->height;
    rasters->staging = staging_acquire(&run->stagings, rasters->size * (size_t)room, error);
    return rasters->staging ? STATUS_OK : STATUS_FAILED;
}

enum status stack_open(struct stack *stack, struct run *run, const struct plan *plan, int room,
                       struct error *error)
{
    *stack = (struct stack){.run = run, .room = room};
    enum status status = open_rasters(&stack->in, run, &plan->shapes[0], plan->in, room, error);
    if (status == STATUS_OK)
        status = open_rasters(&stack->out, run, plan_output(plan), plan->out, room, error);
    return status;
}

void *stack_input(const struct stack *stack, int i)
{
    return (unsigned char *)stack->in.staging->host + (size_t)i * stack->in.size;
}

const void *stack_output(const struct stack *stack, int i)
{
    return (const unsigned char *)stack->out.staging->host + (size_t)i * stack->out.size;
}

static struct raster rasters_raster(const struct rasters *rasters, const struct conversion *conversion,
                                    const char *options)
{
    struct raster raster =
        conversion_raster(conversion, options, rasters->staging->object, rasters->pitch, 0);
    raster.rows = rasters->rows;
    return raster;
}

static enum status unpack(struct stack *stack, const struct conversion *from, struct value *value,
                          struct error *error)
{
    struct run *run = stack->run;
    char options[RASTER_OPTIONS_SIZE];
    conversion_options(options, from);
    struct raster raster = rasters_raster(&stack->in, from, options);
    size_t size = stack->in.size * (size_t)value->shape.images;
    run->device->profile->owner = UNPACKING;
    enum status status = run_output(run, value, error);
    if (status == STATUS_OK)
        status = staging_give(stack->in.staging, size, error);
    if (status == STATUS_OK)
        status = unpack_planes(run, from, &raster, &value->planes[0], error);
    return status == STATUS_OK ? staging_take(stack->in.staging, 0, error) : status;
}

static enum status pack(struct stack *stack, const struct conversion *to, const struct value *value,
                        struct error *error)
{
    struct run *run = stack->run;
    char options[RASTER_OPTIONS_SIZE];
    conversion_options(options, to);
    struct raster raster = rasters_raster(&stack->out, to, options);
    size_t size = stack->out.size * (size_t)value->shape.images;
    run->device->profile->owner = PACKING;
    enum status status = staging_give(stack->out.staging, 0, error);
    if (status == STATUS_OK)
        status = pack_planes(run, to, &value->planes[0], &raster, error);
    return status == STATUS_OK ? staging_take(stack->out.staging, size, error) : status;
}

static enum status enqueue(struct stack *stack, const struct plan *plan, const struct conversion *from,
                           const struct conversion *to, struct error *error)
{
    struct run *run = stack->run;
    struct rows *rows = allocate_zeroed(plan->chain->count + 1, sizeof *rows, "a plan", error);
    if (!rows)
        return STATUS_FAILED;
    plan_rows(plan, rows_all(plan_output(plan)->height), rows);
    run->pool.headroom = plan->headroom;
    run->device->profile->band = 0;
    struct value value = {.shape = plan->shapes[0], .rows = rows[0]};
    enum status status = unpack(stack, from, &value, error);
    if (status == STATUS_OK)
        status = run_stages(plan, run, rows, &value, NULL, error);
    if (status == STATUS_OK)
        status = pack(stack, to, &value, error);
    value_release(run, &value);
    free(rows);
    return status;
}

enum status stack_run(struct stack *stack, const struct plan *plan, const struct conversion *from,
                      const struct conversion *to, struct error *error)
{
    struct device *device = stack->run->device;
    enum status status = enqueue(stack, plan, from, to, error);
    if (status == STATUS_OK)
        status = staging_wait(stack->out.staging, error);
    if (status == STATUS_OK)
        return profile_collect(device->profile, profile_mark(device->profile), error);
    device_finish(device); /* what was enqueued uses memory that is about to go */
    profile_discard(device->profile);
    return status;
}

void stack_close(struct stack *stack)
{
    if (stack->room == 0)
        return;
    staging_release(&stack->run->stagings, stack->in.staging);
    staging_release(&stack->run->stagings, stack->out.staging);
    *stack = (struct stack){0};
}
