/*     reader ──▶ staging ──▶ unpack ─▶ stage … stage ─▶ pack ──▶ staging ──▶ writer
 *    (transfer.c)            └─ this file: enqueues, never waits for the device ─┘          (transfer.c)
 *
 * The device's queue is in order, so slices follow each other in it without a gap, and what one releases to
 * the pool the next one may take at once. The calling thread is held up only by the columns' slots. */

#include "base/files.h"
#include "base/timing.h"
#include "chain/columns.h"
#include "chain/page.h"
#include "chain/stages.h"
#include "device/profile.h"
#include "image/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct flow {
    const struct page *page;
    struct reading reading;
    struct writing writing;
    struct rows *rows; /* of the slice under way: rows[i] of what goes into step i */
    struct slot *held; /* what was read, where it stays until the last slice; else NULL */
    cl_mem clipped;    /* counters of what samples cannot hold; NULL: nobody counts */
    struct ends ends;
    int slice;   /* the one under way */
    bool halted; /* a column gave no slot: it failed, and has the message */
};

/* One slice on its way through. */
struct slice {
    const struct rows *rows; /* the flow's */
    struct value value;
    struct slot *source, *target; /* of the reader and the writer; NULL: not held, or a pyramid's */
    struct raster in, out;        /* what is in them */
    struct planes room;           /* where those lie that were moved */
};

/* The device's turn on the samples that were read. */
static enum status take_source(struct flow *flow, struct slice *slice, struct error *error)
{
    struct slot *slot = flow->held ? flow->held : reading_next(&flow->reading);
    flow->halted = !slot;
    if (!slot)
        return STATUS_FAILED;
    size_t pitch = flow->reading.pitch, size = pitch * (size_t)(slot->rows.end - slot->rows.begin);
    slice->source = slot;
    slice->in = conversion_raster(&flow->page->from, slot->staging->object, pitch, slot->rows.begin);
    if (flow->held)
        return STATUS_OK;
    flow->held = flow->page->plan->moved > 0 ? slot : NULL;
    return staging_give(slot->staging, size, error);
}

static bool is_last(const struct flow *flow)
{
    return flow->slice + 1 == flow->page->plan->slices;
}

/* Only memory that is the host's again goes back to the reader. After a failure the slot stays out: the page
 * is over, and whoever waits for a slot is stopped. */
static enum status return_source(struct flow *flow, struct slice *slice, enum status status,
                                 struct error *error)
{
    if (status != STATUS_OK || !slice->source || (flow->held && !is_last(flow)))
        return status;
    status = staging_take(slice->source->staging, 0, error);
    if (status == STATUS_OK)
        reading_return(&flow->reading, slice->source);
    slice->source = NULL;
    return status;
}

static enum status load_image(struct flow *flow, struct slice *slice, struct error *error)
{
    const struct page *page = flow->page;
    struct run *run = page->run;
    enum status status = take_source(flow, slice, error);
    if (status == STATUS_OK && page->plan->moved > 0)
        status = move_aside(page->plan, run, &page->from, slice->rows, &slice->in, &slice->room, error);
    if (status == STATUS_OK && flow->ends.reads) {
        slice->value.raster = &slice->in;
        return STATUS_OK;
    }
    run->device->profile->owner = UNPACKING;
    if (status == STATUS_OK)
        status = run_output(run, &slice->value, error);
    if (status == STATUS_OK)
        status = unpack_planes(run, &page->from, &slice->in, &slice->value.planes[0], error);
    return return_source(flow, slice, status, error);
}

/* The device's turn on memory for the samples that will be written. */
static enum status take_target(struct flow *flow, struct slice *slice, struct error *error)
{
    const struct page *page = flow->page;
    struct slot *slot = writing_next(&flow->writing);
    flow->halted = !slot;
    if (!slot)
        return STATUS_FAILED;
    struct rows rows = slice->rows[page->plan->chain->count];
    slice->target = slot;
    slice->out = conversion_raster(&page->to, slot->staging->object, flow->writing.pitch, rows.begin);
    slice->out.width = page->plan->shapes[page->plan->chain->count].width;
    slice->out.clipped = flow->clipped;
    /* The slice that was in this slot has been written, so its commands are done. */
    enum status status = profile_collect(page->run->device->profile, slot->mark, error);
    return status == STATUS_OK ? staging_give(slot->staging, 0, error) : status;
}

static enum status deliver(struct flow *flow, struct slice *slice, struct error *error)
{
    struct profile *profile = flow->page->run->device->profile;
    struct slot *slot = slice->target;
    slot->rows = slice->rows[flow->page->plan->chain->count];
    size_t size = flow->writing.pitch * (size_t)(slot->rows.end - slot->rows.begin);
    enum status status = staging_take(slot->staging, size, error);
    slot->mark = profile_mark(profile);
    slot->slice = profile->slice;
    if (status == STATUS_OK)
        writing_deliver(&flow->writing, slot);
    return status;
}

static enum status store_image(struct flow *flow, struct slice *slice, struct error *error)
{
    const struct page *page = flow->page;
    if (flow->ends.writes)
        return deliver(flow, slice, error);
    enum status status = take_target(flow, slice, error);
    page->run->device->profile->owner = PACKING;
    if (status == STATUS_OK)
        status = pack_planes(page->run, &page->to, &slice->value.planes[0], &slice->out, error);
    return status == STATUS_OK ? deliver(flow, slice, error) : status;
}

/* One slice whose samples are moved, and that is all. */
static enum status move_slice(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    struct slice slice = {.rows = flow->rows};
    enum status status = take_source(flow, &slice, error);
    if (status == STATUS_OK)
        status = take_target(flow, &slice, error);
    if (status == STATUS_OK)
        status = move_samples(page->plan, page->run, flow->rows, &slice.in, &slice.out, error);
    status = return_source(flow, &slice, status, error);
    return status == STATUS_OK ? deliver(flow, &slice, error) : status;
}

/* One slice from reader to writer. A pyramid is one slice. */
static enum status run_slice(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct rows *rows = flow->rows;
    const int moved = page->plan->moved;
    struct slice slice = {.rows = rows, .value = {.shape = page->plan->shapes[moved], .rows = rows[moved]}};
    enum status status = slice.value.shape.kind == KIND_PYRAMID ? pyramid_load(page, &slice.value, error)
                                                                : load_image(flow, &slice, error);
    if (status == STATUS_OK && flow->ends.writes)
        status = take_target(flow, &slice, error);
    if (status == STATUS_OK)
        status = run_stages(page->plan, page->run, rows, &slice.value, flow->ends.writes ? &slice.out : NULL,
                            error);
    status = return_source(flow, &slice, status, error);
    if (status == STATUS_OK && page->plan->survey)
        status = take_part(page->plan, page->run, &slice.value, plan_slice(page->plan, flow->slice), error);
    else if (status == STATUS_OK)
        status = slice.value.shape.kind == KIND_PYRAMID ? pyramid_store(page, &slice.value, error)
                                                        : store_image(flow, &slice, error);
    value_release(page->run, &slice.value);
    planes_release(&page->run->pool, &slice.room);
    return status;
}

static enum status begin(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    flow->ends = page_ends(page);
    flow->rows = allocate_zeroed(page->plan->chain->count + 1, sizeof *flow->rows, "a plan", error);
    if (!flow->rows)
        return STATUS_FAILED;
    bool image_in = page->plan->shapes[0].kind == KIND_IMAGE;
    bool image_out = plan_output(page->plan)->kind == KIND_IMAGE && !page->plan->survey;
    double since = clock_seconds();
    page->run->pool.headroom = page->plan->headroom;
    enum status status = image_in ? reading_begin(&flow->reading, page, error) : STATUS_OK;
    if (status == STATUS_OK && image_out)
        status = writer_begin_page(page->writer, &page->out, error);
    if (status == STATUS_OK && image_out)
        timing_charge(page->timing, PART_ENCODE, "begin", -1, since);
    if (status == STATUS_OK && image_out)
        status = writing_begin(&flow->writing, page, error);
    return status == STATUS_OK ? clipping_begin(page->run, &page->to, 1, &flow->clipped, error) : status;
}

/* Reports the failure that would have come first had the slices gone one after the other: the writer works on
 * earlier slices than the device, and the device on earlier ones than the reader. */
static enum status end(struct flow *flow, enum status device_status, struct error *error)
{
    struct device *device = flow->page->run->device;
    struct error device_error = *error;
    bool failed = device_status != STATUS_OK;
    struct error reading_error = {.text = ""};
    enum status reading_status = reading_end(&flow->reading, failed, &reading_error);
    enum status status = writing_end(&flow->writing, error);
    if (failed)
        device_finish(device); /* what was enqueued uses memory that is about to go */
    if (status == STATUS_OK && failed && !flow->halted) {
        *error = device_error;
        return device_status;
    }
    if (status == STATUS_OK && reading_status != STATUS_OK) {
        *error = reading_error;
        return reading_status;
    }
    return status;
}

/* The page's slices alone, after its surveys; or those of a survey, which is begun, and of which nothing is
 * written. */
static enum status flow_slices(const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    struct profile *profile = page->run->device->profile;
    struct flow flow = {.page = page};
    int most = 0;
    enum status status = begin(&flow, error);
    if (status == STATUS_OK && !page->run->foreseen)
        status = foresee_programs(page->of ? page->of : page, error);
    page->run->foreseen = true;
    for (int i = 0; status == STATUS_OK && i < plan->slices; i++) {
        flow.slice = profile->slice = i;
        plan_rows(plan, plan_slice(plan, i), flow.rows);
        if (plan_outgrows(plan, flow.rows, &most))
            pool_clear(&page->run->pool);
        status = flow.ends.moves ? move_slice(&flow, error) : run_slice(&flow, error);
        if (page->watch && status == STATUS_OK)
            page->watch(page->watcher, plan_slice(plan, i).end, plan_output(plan));
    }
    status = end(&flow, status, error);
    if (status == STATUS_OK)
        status = profile_collect(profile, profile_mark(profile), error);
    if (status == STATUS_OK)
        status = clipping_read(page->run, flow.clipped, 1, page->clipping, error);
    memory_release(flow.clipped);
    reading_free(&flow.reading);
    writing_free(&flow.writing);
    free(flow.rows);
    return status;
}

/* ---------------------------------------------------------------- surveys
 *
 * Surveys (struct survey of engine/stage.h) read a page before its slices do. A file whose rows are as they
 * are read is read again. Of others the rows are kept, decoded, in a temporary file. */

struct kept {
    struct reader *reader; /* where rows come from for the first time */
    const char *folder;
    FILE *file;
};

static enum status fail_keeping(const struct kept *kept, const char *what, struct error *error)
{
    fail(error, STATUS_FAILED,
         "cannot %s a temporary file in %s, where the rows are kept between two passes: %s; set TMPDIR to a "
         "folder with room",
         what, kept->folder, strerror(errno));
    error->reach = REACH_ALL;
    return STATUS_FAILED;
}

static enum status read_and_keep(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    const struct kept *kept = context;
    const size_t row = row_size(reader_info(kept->reader));
    enum status status = reader_read(kept->reader, rows, pitch, count, error);
    for (uint32_t y = 0; status == STATUS_OK && y < count; y++)
        if (fwrite((unsigned char *)rows + y * pitch, 1, row, kept->file) != row)
            status = fail_keeping(kept, "write", error);
    return status;
}

static enum status read_kept(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    const struct kept *kept = context;
    const size_t row = row_size(reader_info(kept->reader));
    for (uint32_t y = 0; y < count; y++)
        if (fread((unsigned char *)rows + y * pitch, 1, row, kept->file) != row)
            return fail_keeping(kept, "read", error);
    return STATUS_OK;
}

/* The page's slices, or those of a survey, from its reader or what was kept. */
static enum status flow_kept(const struct page *page, struct kept *kept, bool again, struct error *error)
{
    const struct relay_source source = {.context = kept, .read = again ? read_kept : read_and_keep};
    struct page from = *page;
    if (again && (fflush(kept->file) != 0 || fseeko(kept->file, 0, SEEK_SET) != 0))
        return fail_keeping(kept, "write", error);
    enum status status =
        relay_reader(reader_name(page->reader), reader_info(page->reader), &source, &from.reader, error);
    if (status == STATUS_OK)
        status = flow_slices(&from, error);
    reader_close(from.reader);
    return status;
}

/* What the slices of a pass took is given back before others are larger. */
static void clear(struct run *run)
{
    device_finish(run->device);
    run_clear(run);
}

/* Without `kept` the rows are not wanted again. */
static enum status survey_step(const struct page *page, size_t step, struct kept *kept, bool again,
                               struct error *error)
{
    struct chain before;
    struct plan plan;
    struct page survey = *page;
    struct clipping ignored = {0};
    plan_survey(page->plan, step, &before, &plan);
    survey.plan = &plan;
    survey.of = page;
    survey.to.counted = false;
    survey.clipping = &ignored;
    survey.watch = NULL;
    enum status status = begin_survey(&plan, page->run, error);
    if (status == STATUS_OK)
        status = kept ? flow_kept(&survey, kept, again, error) : flow_slices(&survey, error);
    if (status != STATUS_OK)
        return status;
    clear(page->run);
    page->run->pool.headroom = 1;
    status = end_survey(&plan, page->run, error);
    clear(page->run);
    return status;
}

enum status survey_page(const struct page *page, size_t step, struct error *error)
{
    page->run->noise.levels = 0;
    enum status status = survey_step(page, step, NULL, false, error);
    device_finish(page->run->device); /* what it says has arrived */
    run_end_findings(page->run);
    return status;
}

/* And goes back to the first row. */
static enum status survey_again(const struct page *page, size_t step, struct error *error)
{
    enum status status = survey_step(page, step, NULL, false, error);
    if (status != STATUS_OK || reader_go_back(page->reader))
        return status;
    return fail(error, STATUS_FAILED, "%s: cannot read: %s", reader_name(page->reader), strerror(errno));
}

enum status flow_page(const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    struct kept kept = {.reader = page->reader, .folder = page->run->device->environment->spool};
    enum status status = STATUS_OK;
    bool again = false;
    const bool returns = reader_go_back(page->reader);
    page->run->noise.levels = 0;
    page->run->alignment.found = false;
    page->run->found[0] = '\0';
    for (size_t i = 0; status == STATUS_OK && i < plan->chain->count; i++) {
        if (!plan_surveys(plan, i))
            continue;
        if (!again && !returns)
            kept.file = spool_open(kept.folder, error);
        if (returns)
            status = survey_again(page, i, error);
        else
            status = kept.file ? survey_step(page, i, &kept, again, error) : STATUS_FAILED;
        again = true;
    }
    if (status == STATUS_OK)
        status = again && !returns ? flow_kept(page, &kept, true, error) : flow_slices(page, error);
    run_end_findings(page->run);
    if (kept.file)
        fclose(kept.file);
    return status;
}
