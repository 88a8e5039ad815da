/* Memory, launches and results of a run.
 *
 * Small functions that stages call between kernels. The few objects of a page are in arrays of fixed size.
 * Too many scratch planes are an error; noise that does not fit is not held; analysis results always fit, as
 * the planner limits the passes. */
#include "engine/run.h"

#include "device/event_log.h"

#include <string.h>
#include <sys/random.h>

void run_init(struct run *run, struct device *device, enum memory memory, enum edge edge)
{
    *run = (struct run){
        .device = device, .memory = memory, .edge = edge, .pool.device = device, .stagings.device = device};
    run->limits.device = device->memory;
    run->jobs = 1;
    run->pool.poison = device->environment->poison;
}

struct timing *run_timing(const struct run *run)
{
    return run->device->event_log->timing;
}

void run_add_host_time(struct run *run, enum phase phase, const char *what, double since)
{
    if (run_timing(run))
        timing_add(run_timing(run), phase, what, -1, since);
}

void run_free(struct run *run)
{
    constants_free(&run->constants);
    staging_free_idle(&run->stagings, true);
    pool_free(&run->pool);
}

void run_trim(struct run *run)
{
    for (; run; run = run->second) {
        staging_free_idle(&run->stagings, false);
        pool_free_unused(&run->pool, false);
    }
}

void run_clear(struct run *run)
{
    for (; run; run = run->second) {
        staging_free_idle(&run->stagings, true);
        pool_free_unused(&run->pool, true);
    }
}

enum status run_planes(struct run *run, int width, int height, struct interval rows, int layers, int channels,
                       struct planes *planes, struct error *error)
{
    *planes = (struct planes){.memory = run->memory,
                              .width = width,
                              .height = height,
                              .first_row = rows.begin,
                              .rows = rows.end - rows.begin,
                              .layers = layers,
                              .channels = channels};
    return planes_acquire(&run->pool, planes, error);
}

enum status run_output(struct run *run, struct value *out, struct error *error)
{
    return run_planes(run, out->shape.width, out->shape.height, out->rows, 1, shape_planes(&out->shape),
                      &out->planes[0], error);
}

enum status run_scratch(struct run *run, int width, int height, struct interval rows, int layers,
                        int channels, struct planes *planes, struct error *error)
{
    if (run->scratch.count == MAX_SCRATCH)
        return fail(error, STATUS_FAILED, "the stage needs more than %d scratch planes", MAX_SCRATCH);
    if (run_planes(run, width, height, rows, layers, channels, planes, error) != STATUS_OK)
        return STATUS_FAILED;
    run->scratch.planes[run->scratch.count++] = *planes;
    return STATUS_OK;
}

void run_scratch_keep(struct run *run, const struct planes *planes)
{
    for (int i = 0; i < run->scratch.count; i++)
        if (run->scratch.planes[i].object == planes->object) {
            run->scratch.planes[i] = run->scratch.planes[--run->scratch.count];
            return;
        }
}

enum status run_scratch_like(struct run *run, const struct planes *like, struct interval rows,
                             struct planes *planes, struct error *error)
{
    return run_scratch(run, like->width, like->height, rows, like->layers, like->channels, planes, error);
}

void run_scratch_release(struct run *run, struct planes *planes)
{
    run_scratch_keep(run, planes);
    planes_release(&run->pool, planes);
}

struct kernel_launch run_work(const struct run *run, const char *file, const char *kernel,
                              const struct planes *planes)
{
    return (struct kernel_launch){.file = file,
                                  .kernel = kernel,
                                  .memory = run->memory,
                                  .edge = (int)run->edge,
                                  .width = planes->width,
                                  .height = planes->rows,
                                  .depth = planes_depth(planes)};
}

struct kernel_launch run_configured(const struct run *run, const char *file,
                                    const struct kernel_configs *kernel_configs, const struct planes *planes)
{
    struct kernel_launch work = run_work(run, file, kernel_configs->kernel, planes);
    work.config = device_launch_config(run->device, run->memory, kernel_configs);
    return work;
}

bool run_is_cpu(const struct run *run)
{
    return run->device->variant == VARIANT_CPU && run->memory == MEMORY_BUFFER;
}

/* True if local memory has room for `bytes` and for the kernel's own tables. */
static bool fits_local_memory(const struct run *run, size_t bytes)
{
    /* Bytes, at least the size of `rows` in dtcwt_forward_gpu.cl, dtcwt_inverse_gpu.cl and shrink_gpu.cl. */
    enum { TABLES = 1024 };
    return bytes + TABLES <= run->device->local_memory;
}

int run_fitting_outputs(const struct run *run, int outputs, size_t bytes)
{
    while (outputs > 1 && !fits_local_memory(run, (size_t)outputs * bytes))
        outputs /= 2;
    return outputs;
}

void work_groups(const struct run *run, int halo, int positions, int rows, size_t output_bytes,
                 struct kernel_launch *work)
{
    /* Choose a group that is larger than both halos together. If it exceeds the device's maximum, the launch
     * fails with a message. */
    int lanes = launch_lanes(run->device, run->memory, work->vector_width);
    int group = work->config.group[0];
    while (group <= 2 * halo)
        group *= 2;

    /* Halve outputs, then the group, until the outputs fit into local memory. */
    int outputs = run_fitting_outputs(run, work->config.outputs, (size_t)group * output_bytes);
    while (group / 2 > 2 * halo && !fits_local_memory(run, (size_t)(group * outputs) * output_bytes))
        group /= 2;

    /* Set the grid. The launch divides the width by `lanes`, so multiply: each position has one work-item. */
    int inner = group - 2 * halo;
    work->config.group[0] = group;
    work->config.outputs = outputs;
    define(&work->defines, "OUTPUTS", outputs);
    define(&work->defines, "GROUP", group);
    work->width = ceil_div(positions, inner) * group * lanes;
    work->height = ceil_div(rows, outputs);
}

enum status run_counters(struct run *run, size_t count, cl_mem *memory, struct error *error)
{
    if (run->scratch.counters)
        return fail(error, STATUS_FAILED, "a stage asks for counters twice");
    enum status status = counters_create(run->device, count, &run->scratch.counters, error);
    *memory = run->scratch.counters;
    return status;
}

void run_report_noise(struct run *run, const struct shape *shape, const struct image_noise *images)
{
    struct noise_estimates *noise = &run->results.noise;
    if (noise->levels > 0)
        return;
    noise->shape = *shape;
    noise->levels = shape->levels < NOISE_LEVELS ? shape->levels : NOISE_LEVELS;
    memcpy(noise->images, images, (size_t)shape->images * sizeof *images);
}

const struct held_noise *run_held_noise(const struct run *run, const void *params)
{
    for (int i = 0; i < run->frames.count; i++)
        if (run->frames.noises[i].params == params)
            return &run->frames.noises[i];
    return NULL;
}

void run_hold_noise(struct run *run, const void *params, const struct image_noise *noise)
{
    int i = 0;
    if (!run->frames.hold || !noise->is_found)
        return;
    while (i < run->frames.count && run->frames.noises[i].params != params)
        i++;
    if (i == MAX_HELD)
        return;
    run->frames.noises[i] = (struct held_noise){.params = params, .noise = *noise};
    run->frames.count += i == run->frames.count;
}

void run_expire_noise(struct run *run)
{
    for (int i = 0; i < run->frames.count; i++)
        run->frames.noises[i].is_old = true;
}

void run_count_missing(struct run *run, const void *params, int image, uint64_t count)
{
    if (count == 0 || (run->results.missing_params && run->results.missing_params != params))
        return;
    run->results.missing_params = params;
    run->results.nonfinite[image] += count;
}

int run_uncounted_row(struct run *run, const void *params, struct interval rows, bool begins_slice)
{
    struct page_results *results = &run->results;
    if (!results->missing_params) { /* earlier rows have no missing values */
        results->counted = rows.begin;
        results->counting = rows.end;
    } else if (results->missing_params == params && begins_slice) {
        results->counted = results->counting > results->counted ? results->counting : results->counted;
        results->counting = rows.end;
    }
    return results->counted;
}

void run_warn(struct run *run, int image, const char *text)
{
    if (run->results.warning && run->results.warning != text)
        return;
    run->results.warning = text;
    run->results.warned_images |= UINT64_C(1) << image;
}

void run_report(struct run *run, const char *text)
{
    text_add_item(run->results.text, sizeof run->results.text, "; ", text);
}

void run_begin_page(struct run *run)
{
    run->results = (struct page_results){.warning = NULL};
    if (!run->second)
        return;
    run->second->is_merged = run->is_merged;
    run->second->input = run->input;
    run_begin_page(run->second);
    if (getrandom(run->random, sizeof run->random, 0) != sizeof run->random)
        run->random[0] = run->random[1] = 0;
}

struct analysis_result *run_analysis_result(struct run *run, const void *params)
{
    for (int i = 0; i < run->analysis_results.count; i++)
        if (run->analysis_results.items[i].params == params)
            return &run->analysis_results.items[i];
    return NULL;
}

struct analysis_result *run_add_analysis_result(struct run *run, const void *params)
{
    struct analysis_result *analysis_result = &run->analysis_results.items[run->analysis_results.count++];
    *analysis_result = (struct analysis_result){.params = params};
    return analysis_result;
}

void run_free_analysis_results(struct run *run)
{
    while (run->analysis_results.count > 0) {
        struct analysis_result *analysis_result = &run->analysis_results.items[--run->analysis_results.count];
        memory_release(analysis_result->words);
        for (size_t i = 0; i < sizeof analysis_result->planes / sizeof *analysis_result->planes; i++)
            planes_release(&run->pool, &analysis_result->planes[i]);
    }
    if (run->second)
        run_free_analysis_results(run->second);
}

void run_end_stage(struct run *run)
{
    memory_release(run->scratch.counters);
    run->scratch.counters = NULL;
    while (run->scratch.count > 0)
        planes_release(&run->pool, &run->scratch.planes[--run->scratch.count]);
}

enum status run_constants(struct run *run, const float *values, size_t count, cl_mem *memory,
                          struct error *error)
{
    struct constant_key key = {"constants", values, count * sizeof *values};
    *memory = NULL;
    if (device_is_dry_run(run->device) || constants_find(&run->constants, &key, memory))
        return STATUS_OK;
    return constants_add(&run->constants, run->device, &key, values, count, memory, error);
}

void value_release_except(struct run *run, struct value *value, const struct value *kept)
{
    for (int i = 0; i <= MAX_LEVELS; i++) {
        bool is_kept = false;
        for (int k = 0; k <= MAX_LEVELS; k++)
            is_kept = is_kept || kept->planes[k].object == value->planes[i].object;
        if (!is_kept)
            planes_release(&run->pool, &value->planes[i]);
    }
}

void value_release(struct run *run, struct value *value)
{
    static const struct value nothing;
    value_release_except(run, value, &nothing);
}

struct planes value_planes(const struct value *image)
{
    const struct shape *shape = &image->shape;
    if (!image->raster)
        return image->planes[0];
    return (struct planes){.width = shape->width,
                           .height = shape->height,
                           .first_row = image->rows.begin,
                           .rows = image->rows.end - image->rows.begin,
                           .layers = 1,
                           .channels = shape->channels};
}

size_t raster_bytes(const struct raster *raster, int rows)
{
    return (size_t)raster->pitch * raster->pixel * (size_t)rows;
}

enum status run_in_buffers(struct run *run,
                           enum status (*function)(struct run *run, const void *params,
                                                   const struct value *in, struct value *out,
                                                   struct error *error),
                           const void *params, const struct value *in, struct value *out, struct error *error)
{
    if (run->memory == MEMORY_BUFFER)
        return function(run, params, in, out, error);
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    struct value from = {.shape = in->shape, .rows = in->rows}, to = {.shape = out->shape, .rows = out->rows};
    /* run->memory selects the memory of planes, and the variant of a kernel in run_work. */
    struct kernel_launch fetch = run_work(run, "texels", "texels_to_planes", src);
    run->memory = MEMORY_BUFFER;
    enum status status = run_scratch_like(run, src, planes_rows(src), &from.planes[0], error);
    if (status == STATUS_OK)
        status = LAUNCH(run->device, &fetch, error, ARG_PLANES(src), ARG_PLANES(&from.planes[0]));
    if (status == STATUS_OK)
        status = function(run, params, &from, &to, error);
    run->memory = MEMORY_IMAGE;
    if (status == STATUS_OK && to.planes[0].width > 0) {
        status = run_output(run, out, error);
        struct kernel_launch put = run_work(run, "texels", "planes_to_texels", dst);
        if (status == STATUS_OK)
            status = LAUNCH(run->device, &put, error, ARG_PLANES(&to.planes[0]), ARG_PLANES(dst));
    }
    planes_release(&run->pool, &to.planes[0]);
    return status;
}
