/*     reader ──▶ staging ──▶ unpack ─▶ stage … stage ─▶ pack ──▶ staging ──▶ writer
 *     (reading.c)            └─ this file: enqueues, never waits for the device ─┘           (writing.c)
 *
 * The device's queue is in order, so bands follow each other in it without a gap, and what one releases to
 * the pool the next one may take at once. The calling thread is held up only by the columns' slots. */
#include "chain/execute.h"

#include "base/clock.h"
#include "chain/pyramid_io.h"
#include "chain/reading.h"
#include "chain/stages.h"
#include "chain/writing.h"
#include "device/profile.h"

struct execution {
    const struct page *page;
    struct reading reading;
    struct writing writing;
    bool halted; /* a column gave no slot: it failed, and has the message */
};

static enum status unpack(struct execution *execution, struct slot *slot, struct value *image,
                          struct error *error)
{
    const struct page *page = execution->page;
    struct run *run = page->run;
    size_t pitch = execution->reading.pitch, size = pitch * (size_t)(slot->rows.end - slot->rows.begin);
    struct samples samples = {.memory = slot->staging->object, .pitch = pitch, .first_row = slot->rows.begin};
    run->device->profile->owner = UNPACKING;
    enum status status = run_output(run, image, error);
    if (status == STATUS_OK)
        status = staging_give(slot->staging, size, error);
    if (status == STATUS_OK)
        status = unpack_planes(run, &page->from, &samples, &image->planes[0], error);
    if (status == STATUS_OK)
        status = staging_take(slot->staging, 0, error);
    return status;
}

static enum status load_image(struct execution *execution, struct value *image, struct error *error)
{
    struct slot *slot = reading_next(&execution->reading);
    execution->halted = !slot;
    if (!slot)
        return STATUS_FAILED;
    enum status status = unpack(execution, slot, image, error);
    reading_return(&execution->reading, slot);
    if (status != STATUS_OK)
        error_prefix(error, execution->page->name);
    return status;
}

static enum status pack(struct execution *execution, struct slot *slot, const struct value *image,
                        struct error *error)
{
    const struct page *page = execution->page;
    struct profile *profile = page->run->device->profile;
    size_t pitch = execution->writing.pitch, size = pitch * (size_t)(image->rows.end - image->rows.begin);
    struct samples samples = {
        .memory = slot->staging->object, .pitch = pitch, .first_row = image->rows.begin};
    profile->owner = PACKING;
    /* The band that was in this slot has been written, so its commands are done. */
    enum status status = profile_collect(profile, slot->mark, error);
    if (status == STATUS_OK)
        status = staging_give(slot->staging, 0, error);
    if (status == STATUS_OK)
        status = pack_planes(page->run, &page->to, &image->planes[0], &samples, error);
    if (status == STATUS_OK)
        status = staging_take(slot->staging, size, error);
    slot->mark = profile_mark(profile);
    slot->rows = image->rows;
    slot->band = profile->band;
    return status;
}

static enum status store_image(struct execution *execution, const struct value *image, struct error *error)
{
    struct slot *slot = writing_next(&execution->writing);
    execution->halted = !slot;
    if (!slot)
        return STATUS_FAILED;
    enum status status = pack(execution, slot, image, error);
    if (status == STATUS_OK)
        writing_deliver(&execution->writing, slot);
    return status;
}

/* One band from reader to writer: rows[i] of what goes into step i. A pyramid is one band. */
static enum status run_band(struct execution *execution, const struct rows *rows, struct error *error)
{
    const struct page *page = execution->page;
    struct value value = {.shape = page->plan->shapes[0], .rows = rows[0]};
    enum status status = value.shape.kind == KIND_PYRAMID ? pyramid_load(page, &value, error)
                                                          : load_image(execution, &value, error);
    if (status == STATUS_OK && (status = run_stages(page->plan, page->run, rows, &value, error)) != STATUS_OK)
        error_prefix(error, page->name);
    if (status == STATUS_OK)
        status = value.shape.kind == KIND_PYRAMID ? pyramid_store(page, &value, error)
                                                  : store_image(execution, &value, error);
    value_release(page->run, &value);
    return status;
}

static enum status run_bands(struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->page->plan;
    struct rows *rows = allocate_zeroed(plan->chain->count + 1, sizeof *rows, "a plan", error);
    enum status status = rows ? STATUS_OK : STATUS_FAILED;
    int most = 0;
    for (int band = 0; status == STATUS_OK && band < plan->bands; band++) {
        execution->page->run->device->profile->band = band;
        plan_rows(plan, plan_band(plan, band), rows);
        if (plan_outgrows(plan, rows[0].end - rows[0].begin, &most))
            pool_clear(&execution->page->run->pool);
        status = run_band(execution, rows, error);
    }
    free(rows);
    return status;
}

static enum status begin(struct execution *execution, struct error *error)
{
    const struct page *page = execution->page;
    bool image_in = page->plan->shapes[0].kind == KIND_IMAGE;
    bool image_out = plan_output(page->plan)->kind == KIND_IMAGE;
    double since = clock_seconds();
    page->run->pool.headroom = page->plan->headroom;
    enum status status = image_in ? reading_begin(&execution->reading, page, error) : STATUS_OK;
    if (status == STATUS_OK && image_out)
        status = writer_begin_page(page->writer, page->out, error);
    if (status == STATUS_OK && image_out)
        timing_charge(page->timing, PART_ENCODE, "begin", -1, since);
    if (status == STATUS_OK && image_out)
        status = writing_begin(&execution->writing, page, error);
    return status;
}

/* Of several failures the one is told that would have come first had the bands gone one after the other: what
 * the writer got is from earlier bands than what the device has, and that from earlier ones than what is
 * being read. */
static enum status end(struct execution *execution, enum status device_status, struct error *error)
{
    struct device *device = execution->page->run->device;
    struct error device_error = *error;
    bool failed = device_status != STATUS_OK;
    struct error reading_error = {""};
    enum status reading_status = reading_end(&execution->reading, failed, &reading_error);
    enum status status = writing_end(&execution->writing, error);
    if (failed)
        device_finish(device); /* what was enqueued uses memory that is about to go */
    if (status == STATUS_OK && failed && !execution->halted) {
        *error = device_error;
        return device_status;
    }
    if (status == STATUS_OK && reading_status != STATUS_OK) {
        *error = reading_error;
        return reading_status;
    }
    return status;
}

enum status execute_page(const struct page *page, struct error *error)
{
    struct execution execution = {.page = page};
    enum status status = begin(&execution, error);
    if (status == STATUS_OK)
        status = run_bands(&execution, error);
    status = end(&execution, status, error);
    if (status == STATUS_OK)
        status = profile_collect(page->run->device->profile, profile_mark(page->run->device->profile), error);
    if (status == STATUS_OK && plan_output(page->plan)->kind == KIND_IMAGE) {
        double since = clock_seconds();
        status = writer_end_page(page->writer, error);
        timing_charge(page->timing, PART_ENCODE, "end", -1, since);
    }
    reading_free(&execution.reading);
    writing_free(&execution.writing);
    return status;
}
