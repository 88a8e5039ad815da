/* Decides the number of images in a group, and processes a group as one slice (slice.h), whose samples are in
 * two staging buffers.
 *
 * The channels of all images are planes of one allocation, and planes are the grid's z. So stages and kernels
 * need no loop over images: the grid is deeper. */
#include "chain/group.h"

#include "chain/slice.h"
#include "device/event_log.h"

#include <math.h>
#include <string.h>

/* Limits of a group, from measurements (docs/performance.md): time of a group over the time of its images one
 * by one.
 *
 *     H200           128x128: 0.4 to 0.6; 512x512: 0.8 for chains of many launches (large halo), 1.25 for few
 *     CPU devices    128x128: 0.75; 512x512: 1; more than 1 if the group exceeds the caches */
static const struct {
    int pixels;            /* maximum of an image */
    int large_halo_pixels; /* maximum of an image if a stage has a large halo */
    double floats;         /* maximum of the group's largest value in the chain: 4 MB, 16 MB */
} limits[] = {[VARIANT_CPU] = {1 << 16, 1 << 16, 1 << 20}, [VARIANT_GPU] = {1 << 16, 1 << 18, 4 << 20}};

bool group_accepts(const struct chain *chain, const struct shape *image, const struct run *run)
{
    if (run->memory == MEMORY_IMAGE || image->kind != KIND_IMAGE || image->alpha ||
        chain_output(chain, KIND_IMAGE) != KIND_IMAGE)
        return false;
    for (size_t i = 0; i < chain->count; i++)
        if (!step_caps(&chain->steps[i]).groups)
            return false;
    const int max_pixels = chain_caps(chain).large_halo ? limits[run->device->variant].large_halo_pixels
                                                        : limits[run->device->variant].pixels;
    return (double)image->width * image->height <= max_pixels;
}

int group_max_images(const struct plan *plan, const struct run *run)
{
    /* Find the floats of the largest value. The wavelet transforms of stages with a large halo have five
     * times the floats of the image: 12/4 on level 1, a quarter of that on each further level, and the
     * lowpass. */
    double largest = 0;
    for (size_t i = 0; i <= plan->chain->count; i++) {
        const struct shape *shape = &plan->shapes[i];
        const bool is_large = (i > 0 && step_caps(&plan->chain->steps[i - 1]).large_halo) ||
                              (i < plan->chain->count && step_caps(&plan->chain->steps[i]).large_halo);
        largest = fmax(largest, (is_large ? 5.0 : 1.0) * shape->width * shape->height * shape->channels);
    }
    const int images = (int)(limits[run->device->variant].floats / largest);
    if (plan->slices > 1 || images < 1)
        return 1;
    return images < GROUP_IMAGES ? images : GROUP_IMAGES;
}

/* Allocates rasters for `capacity` images. */
static enum status open_rasters(struct rasters *rasters, struct run *run, const struct shape *shape,
                                enum sample_type type, int capacity, struct error *error)
{
    rasters->rows = shape->height;
    rasters->pitch = transfer_pitch(shape->width, shape->channels, type);
    rasters->size = rasters->pitch * (size_t)shape->height;
    rasters->staging = staging_acquire(&run->stagings, rasters->size * (size_t)capacity, error);
    return rasters->staging ? STATUS_OK : STATUS_FAILED;
}

enum status group_open(struct group *group, struct run *run, const struct plan *plan, int capacity,
                       struct error *error)
{
    *group = (struct group){.run = run, .capacity = capacity};
    enum status status = open_rasters(&group->in, run, &plan->shapes[0], plan->in, capacity, error);
    if (status == STATUS_OK)
        status = open_rasters(&group->out, run, plan_output(plan), plan->out, capacity, error);
    return status;
}

void *group_input(const struct group *group, int i)
{
    return (unsigned char *)group->in.staging->host + (size_t)i * group->in.size;
}

const void *group_output(const struct group *group, int i)
{
    return (const unsigned char *)group->out.staging->host + (size_t)i * group->out.size;
}

/* Returns all rasters as one, for kernels. */
static struct raster joined_raster(const struct rasters *rasters, const struct conversion *conversion)
{
    struct raster raster = conversion_raster(conversion, rasters->staging->object, rasters->pitch, 0);
    raster.rows = rasters->rows;
    return raster;
}

enum status group_run(struct group *group, const struct plan *plan, const struct conversion *from,
                      const struct conversion *to, struct error *error)
{
    struct run *run = group->run;
    struct event_log *event_log = run->device->event_log;
    struct staging *input = group->in.staging, *output = group->out.staging;
    const int images = plan->shapes[0].images;
    struct slice slice = slice_begin(plan, run, from, to);
    memset(group->clipping, 0, sizeof group->clipping);
    run_begin_page(run);
    event_log->slice = 0;
    const struct raster in = joined_raster(&group->in, from);
    struct raster out = joined_raster(&group->out, to);
    struct value no_pyramid = {.raster = NULL}; /* input and output are images */
    out.width = plan_output(plan)->width;

    /* Unmap the staging buffers, enqueue the chain, map the buffers again, and wait. */
    enum status status = clipping_begin(run, to, images, &out.clipped, error);
    if (status == STATUS_OK)
        status = staging_unmap(input, group->in.size * (size_t)images, error);
    if (status == STATUS_OK)
        status = staging_unmap(output, 0, error);
    if (status == STATUS_OK)
        status = slice_run(&slice, &in, &out, &no_pyramid, error);
    if (status == STATUS_OK)
        status = staging_map(input, 0, error);
    if (status == STATUS_OK)
        status = staging_map(output, group->out.size * (size_t)images, error);
    if (status == STATUS_OK)
        status = staging_wait(output, error);
    if (status == STATUS_OK)
        status = clipping_read(run, out.clipped, images, group->clipping, error);
    memory_release(out.clipped);
    if (status == STATUS_OK)
        return event_log_collect(event_log, event_log_mark(event_log), error);
    device_finish(run->device); /* enqueued commands use memory that the caller frees */
    event_log_discard(event_log);
    return status;
}

void group_close(struct group *group)
{
    if (group->capacity == 0)
        return;
    staging_release(&group->run->stagings, group->in.staging);
    staging_release(&group->run->stagings, group->out.staging);
    *group = (struct group){0};
}
