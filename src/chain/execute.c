#include "chain/execute.h"

#include "chain/pyramid_io.h"
#include "device/profile.h"

#include <stdlib.h>
#include <string.h>

/* The input rows that the staging memory holds, and how many of the page were read. */
struct window {
    struct staging staging;
    struct rows rows;
};

/* Drops what lies before `wanted` and reads on to its end; both only ever move down the image. */
static enum status read_window(const struct page *page, struct window *window, struct rows wanted,
                               struct error *error)
{
    const struct staging *staging = &window->staging;
    char *host = staging->host;
    struct rows *held = &window->rows;
    enum status status = STATUS_OK;
    if (held->end > wanted.begin)
        memmove(host, host + (size_t)(wanted.begin - held->begin) * staging->pitch,
                (size_t)(held->end - wanted.begin) * staging->pitch);
    /* A reduction without antialiasing may skip rows. */
    for (; status == STATUS_OK && held->end < wanted.begin; held->end++)
        status = reader_read(page->reader, host, staging->pitch, 1, error);
    held->begin = wanted.begin;
    if (status == STATUS_OK && wanted.end > held->end) {
        status = reader_read(page->reader, host + (size_t)(held->end - held->begin) * staging->pitch,
                             staging->pitch, (uint32_t)(wanted.end - held->end), error);
        held->end = wanted.end;
    }
    return status;
}

static enum status advance(const struct page *page, struct window *window, struct rows wanted,
                           struct error *error)
{
    enum phase before = timing_enter(page->timing, PHASE_UPLOAD);
    enum status status = staging_begin_write(&window->staging, error);
    if (status == STATUS_OK) {
        timing_enter(page->timing, PHASE_DECODE);
        status = read_window(page, window, wanted, error);
        timing_enter(page->timing, PHASE_UPLOAD);
    }
    if (status == STATUS_OK)
        status = staging_end_write(&window->staging, window->rows.end - window->rows.begin, error);
    timing_enter(page->timing, before);
    return status;
}

/* Every stage, each freeing what went in and does not come out. */
static enum status run_stages(const struct page *page, const struct rows *rows, struct value *value,
                              struct error *error)
{
    struct run *run = page->run;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < page->plan->chain->count; i++) {
        const struct step *step = &page->plan->chain->steps[i];
        struct value next = {.shape = page->plan->shapes[i + 1], .rows = rows[i + 1]};
        run->device->profile->owner = (struct profile_owner){(int)i, step->stage->name};
        status = step->stage->run(run, step->params, value, &next, error);
        run_end_stage(run);
        value_release_except(run, value, &next);
        *value = next;
    }
    return status;
}

static enum status load_image(const struct page *page, struct window *window, struct value *image,
                              struct error *error)
{
    struct profile *profile = page->run->device->profile;
    if (advance(page, window, image->rows, error) != STATUS_OK)
        return STATUS_FAILED;
    profile->owner = (struct profile_owner){-1, "(unpack)"};
    enum status status = run_output(page->run, image, error);
    if (status == STATUS_OK)
        status = unpack_planes(page->run, &page->from, &window->staging, window->rows.begin,
                               &image->planes[0], error);
    if (status != STATUS_OK)
        error_prefix(error, page->name);
    return status;
}

enum status page_wait(const struct page *page, struct error *error)
{
    struct device *device = page->run->device;
    cl_int code = clFinish(device->queue);
    if (code != CL_SUCCESS)
        return fail(error, STATUS_FAILED,
                    "%s: %s failed while running the chain: %s; try a smaller image or another --device",
                    page->name, device->name, cl_error_name(code));
    return profile_collect(device->profile, error);
}

static enum status write_rows(const struct page *page, struct staging *target, int count, struct error *error)
{
    enum phase before = timing_enter(page->timing, PHASE_DOWNLOAD);
    enum status status = staging_begin_read(target, count, error);
    timing_enter(page->timing, PHASE_ENCODE);
    if (status == STATUS_OK)
        status = writer_write(page->writer, target->host, target->pitch, (uint32_t)count, error);
    timing_enter(page->timing, PHASE_DOWNLOAD);
    if (target->mapped && staging_end_read(target, error) != STATUS_OK)
        status = STATUS_FAILED;
    timing_enter(page->timing, before);
    return status;
}

static enum status store_image(const struct page *page, const struct value *image, struct staging *target,
                               struct error *error)
{
    page->run->device->profile->owner = (struct profile_owner){-2, "(pack)"};
    enum status status = pack_planes(page->run, &page->to, &image->planes[0], target, error);
    if (status == STATUS_OK)
        status = page_wait(page, error);
    return status == STATUS_OK ? write_rows(page, target, image->rows.end - image->rows.begin, error)
                               : status;
}

/* One band from reader to writer: rows[i] of what goes into step i. A pyramid is one band. */
static enum status run_band(const struct page *page, struct window *window, const struct rows *rows,
                            struct staging *target, struct error *error)
{
    struct value value = {.shape = page->plan->shapes[0], .rows = rows[0]};
    enum phase before = timing_enter(page->timing, PHASE_DEVICE);
    enum status status = value.shape.kind == KIND_PYRAMID ? pyramid_load(page, &value, error)
                                                          : load_image(page, window, &value, error);
    if (status == STATUS_OK && (status = run_stages(page, rows, &value, error)) != STATUS_OK)
        error_prefix(error, page->name);
    if (status == STATUS_OK)
        status = value.shape.kind == KIND_PYRAMID ? pyramid_store(page, &value, error)
                                                  : store_image(page, &value, target, error);
    else
        clFinish(page->run->device->queue); /* what was enqueued uses memory that is about to go */
    value_release(page->run, &value);
    timing_enter(page->timing, before);
    return status;
}

/* Rows below the last band's input must still be read: the file's end is checked there. */
static enum status finish_reading(const struct page *page, struct window *window, struct error *error)
{
    int height = page->plan->shapes[0].height;
    enum status status = STATUS_OK;
    enum phase before = timing_enter(page->timing, PHASE_DECODE);
    for (; status == STATUS_OK && window->rows.end < height; window->rows.end++)
        status = reader_read(page->reader, window->staging.host, window->staging.pitch, 1, error);
    timing_enter(page->timing, before);
    return status;
}

static enum status run_bands(const struct page *page, struct window *window, struct staging *target,
                             struct error *error)
{
    const struct plan *plan = page->plan;
    int height = plan_output(plan)->height;
    struct rows *rows = allocate_zeroed(plan->chain->count + 1, sizeof *rows, "a plan", error);
    enum status status = rows ? STATUS_OK : STATUS_FAILED;
    for (int begin = 0; status == STATUS_OK && begin < height; begin += plan->band) {
        int end = begin + plan->band < height ? begin + plan->band : height;
        plan_rows(plan, (struct rows){begin, end}, rows);
        status = run_band(page, window, rows, target, error);
    }
    free(rows);
    return status;
}

static enum status create_staging(const struct page *page, struct window *window, struct staging *target,
                                  struct error *error)
{
    const struct shape *in = &page->plan->shapes[0], *out = plan_output(page->plan);
    struct device *device = page->run->device;
    enum status status = STATUS_OK;
    if (in->kind == KIND_IMAGE)
        status = staging_create(&window->staging, device, in->width, in->channels, page->from.type,
                                plan_input_rows(page->plan), error);
    if (status == STATUS_OK && out->kind == KIND_IMAGE)
        status =
            staging_create(target, device, out->width, out->channels, page->to.type, page->plan->band, error);
    if (status != STATUS_OK)
        error_prefix(error, page->name);
    return status;
}

enum status execute_page(const struct page *page, struct error *error)
{
    struct window window = {.rows = {0, 0}};
    struct staging target = {.size = 0};
    bool image_in = page->plan->shapes[0].kind == KIND_IMAGE,
         image_out = plan_output(page->plan)->kind == KIND_IMAGE;
    enum phase before = timing_enter(page->timing, PHASE_UPLOAD);
    enum status status = create_staging(page, &window, &target, error);
    timing_enter(page->timing, PHASE_ENCODE);
    if (status == STATUS_OK && image_out)
        status = writer_begin_page(page->writer, page->out, error);
    timing_enter(page->timing, before);
    if (status == STATUS_OK)
        status = run_bands(page, &window, &target, error);
    if (status == STATUS_OK && image_in)
        status = finish_reading(page, &window, error);
    timing_enter(page->timing, PHASE_ENCODE);
    if (status == STATUS_OK && image_out)
        status = writer_end_page(page->writer, error);
    timing_enter(page->timing, PHASE_DOWNLOAD);
    staging_free(&window.staging);
    staging_free(&target);
    timing_enter(page->timing, before);
    return status;
}
