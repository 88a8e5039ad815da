#include "chain/execute.h"

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

/* Every stage, each freeing what went in. */
static enum status run_stages(const struct page *page, const struct rows *rows, struct value *value,
                              struct error *error)
{
    struct run *run = page->run;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < page->plan->chain->count; i++) {
        const struct step *step = &page->plan->chain->steps[i];
        struct value next = {.shape = page->plan->shapes[i + 1], .rows = rows[i + 1]};
        run->device->profile->owner = (int)i;
        status = step->stage->run(run, step->params, value, &next, error);
        run_end_stage(run);
        value_release(run, value);
        *value = next;
    }
    return status;
}

static enum status enqueue_band(const struct page *page, const struct window *window, const struct rows *rows,
                                struct staging *target, struct error *error)
{
    struct run *run = page->run;
    struct value value = {.shape = page->plan->shapes[0], .rows = rows[0]};
    run->device->profile->owner = OWNER_UNPACK;
    enum status status = unpack(run, &page->from, &window->staging, window->rows.begin, &value, error);
    if (status == STATUS_OK)
        status = run_stages(page, rows, &value, error);
    if (status == STATUS_OK) {
        run->device->profile->owner = OWNER_PACK;
        status = pack(run, &page->to, &value, target, error);
    }
    value_release(run, &value);
    return status;
}

static enum status run_band(const struct page *page, struct window *window, const struct rows *rows,
                            struct staging *target, struct error *error)
{
    struct device *device = page->run->device;
    struct rows out = rows[page->plan->chain->count];
    enum phase before = timing_enter(page->timing, PHASE_DEVICE);
    enum status status = enqueue_band(page, window, rows, target, error);
    cl_int code = clFinish(device->queue);
    if (status == STATUS_OK && code != CL_SUCCESS)
        status = fail(error, STATUS_FAILED,
                      "%s failed while running the chain: %s; try a smaller image or another "
                      "--device",
                      device->name, cl_error_name(code));
    if (status == STATUS_OK)
        status = profile_collect(device->profile, error);
    if (status != STATUS_OK)
        error_prefix(error, page->name);
    timing_enter(page->timing, PHASE_DOWNLOAD);
    if (status == STATUS_OK)
        status = staging_begin_read(target, out.end - out.begin, error);
    timing_enter(page->timing, PHASE_ENCODE);
    if (status == STATUS_OK)
        status =
            writer_write(page->writer, target->host, target->pitch, (uint32_t)(out.end - out.begin), error);
    timing_enter(page->timing, PHASE_DOWNLOAD);
    if (target->mapped && staging_end_read(target, error) != STATUS_OK)
        status = STATUS_FAILED;
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
        status = advance(page, window, rows[0], error);
        if (status == STATUS_OK)
            status = run_band(page, window, rows, target, error);
    }
    if (status == STATUS_OK)
        status = finish_reading(page, window, error);
    free(rows);
    return status;
}

enum status execute_page(const struct page *page, struct error *error)
{
    const struct shape *in = &page->plan->shapes[0], *out = plan_output(page->plan);
    struct device *device = page->run->device;
    struct window window = {.rows = {0, 0}};
    struct staging target = {.device = device};
    enum phase before = timing_enter(page->timing, PHASE_UPLOAD);
    enum status status = staging_create(&window.staging, device, in->width, in->channels, page->from.type,
                                        plan_input_rows(page->plan), error);
    if (status == STATUS_OK)
        status = staging_create(&target, device, out->width, out->channels, page->to.type, page->plan->band,
                                error);
    if (status != STATUS_OK)
        error_prefix(error, page->name);
    timing_enter(page->timing, before);
    if (status == STATUS_OK)
        status = run_bands(page, &window, &target, error);
    timing_enter(page->timing, PHASE_DOWNLOAD);
    staging_free(&window.staging);
    staging_free(&target);
    timing_enter(page->timing, before);
    return status;
}
