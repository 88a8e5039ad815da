/* One page through the chain, slice by slice.
 *
 *     reader thread ─▶ staging ring ─▶ unpack ─▶ stages ─▶ pack ─▶ staging ring ─▶ writer thread
 *        ▲                  │             └── slice.c ──┘             │                 │
 *        └────── idle ──────┘                                        └────── idle ─────┘
 *
 * The calling thread only enqueues: upload, unpack, stages, pack and download of a slice go into the device's
 * in-order queue, so the kernels of one slice follow those of another without a gap, and memory that one
 * slice releases is reused by the next at once. It waits in one place, when all staging buffers of a ring
 * are in use; a fast reader waits for a buffer, too, instead of filling memory. An image that is one slice
 * is read and written by the calling thread.
 *
 * When a part fails, the error that comes first in page order is reported: the writer works on earlier slices
 * than the device, and the device on earlier ones than the reader.
 *
 * Analysis passes (struct analysis of engine/stage.h) read the page before its slices. A file whose rows need
 * no decoding is read again. The decoded rows of other files are kept in a temporary file. */

#include "base/files.h"
#include "base/threads.h"
#include "base/timing.h"
#include "chain/coefficients.h"
#include "chain/slice.h"
#include "device/profile.h"
#include "image/memory_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A buffer of the ring: the samples of one slice. */
struct slot {
    struct staging *staging;
    int slice;        /* number of the slice */
    struct rows rows; /* rows in the buffer */
    size_t mark;      /* profile records up to here belong to finished commands once the slot is idle */
};

/* A thread that reads or writes slices, and its ring of buffers. */
struct io_thread {
    struct staging_pool *pool;
    struct slot slots[PLAN_SLOTS];
    struct queue idle, ready;
    size_t pitch; /* bytes from row to row */
    pthread_t thread;
    bool threaded;
    enum status status; /* valid after io_thread_join */
    struct error error;
};

struct flow {
    const struct page *page;
    int slice;      /* the slice that is being enqueued */
    cl_mem clipped; /* clipping counters; may be NULL */
    bool halted;    /* a thread failed and gave no slot; it has the message */

    /* The reader's side. Its thread owns carry, carried, slice and next_row. */
    struct io_thread reader;
    unsigned char *carry; /* rows that the next slice needs as well; the device owns those of the last one */
    struct rows carried;
    int next_slice;      /* to be read */
    int next_row;        /* of the page, to be decoded next */
    struct slot *source; /* the slot that the device reads; NULL: released */
    bool held;           /* all samples are in `source`, until the last slice is done */

    /* The writer's side. */
    struct io_thread writer;
    struct slot *target; /* the slot that the device writes */
};

/* ---------------------------------------------------------------- io threads */

/* Acquires `size` bytes for each slot: for several slots with a thread, else for one. io_thread_close is
 * needed after a failure, too. */
static enum status io_thread_open(struct io_thread *io, struct staging_pool *pool, size_t pitch, int rows,
                                  bool threaded, struct error *error)
{
    *io = (struct io_thread){.pool = pool, .pitch = pitch, .threaded = threaded};
    queue_init(&io->idle);
    queue_init(&io->ready);
    for (int i = 0; i < (threaded ? PLAN_SLOTS : 1); i++) {
        io->slots[i].staging = staging_acquire(pool, pitch * (size_t)rows, error);
        if (!io->slots[i].staging)
            return STATUS_FAILED;
        queue_push(&io->idle, &io->slots[i]);
    }
    return STATUS_OK;
}

/* If the system has no thread to give, the calling thread does the work. */
static void io_thread_start(struct io_thread *io, void *(*work)(void *), struct flow *flow)
{
    struct error ignored = {.text = ""};
    io->threaded = io->threaded && thread_start(&io->thread, work, flow, &ignored) == STATUS_OK;
}

/* Records an I/O error and wakes all waiters. What was read before stays valid. */
static void io_thread_fail(struct io_thread *io, const struct error *error)
{
    io->status = STATUS_FAILED;
    io->error = *error;
    queue_stop(&io->idle);
    queue_end(&io->ready);
}

static enum status io_thread_join(struct io_thread *io, struct error *error)
{
    if (io->threaded)
        pthread_join(io->thread, NULL);
    io->threaded = false;
    if (io->status != STATUS_OK)
        *error = io->error;
    return io->status;
}

static void io_thread_close(struct io_thread *io)
{
    if (!io->pool)
        return;
    for (int i = 0; i < PLAN_SLOTS; i++)
        staging_release(io->pool, io->slots[i].staging);
    queue_free(&io->idle);
    queue_free(&io->ready);
    io->pool = NULL;
}

/* ---------------------------------------------------------------- reader thread */

/* The reader checks after each of these pieces, in bytes, if it should stop: input may come slowly. */
enum { PIECE_SIZE = 1 << 20 };

/* Reads or skips rows, in pieces. Skipped rows overwrite each other in `to`. */
static enum status read_pieces(struct flow *flow, unsigned char *to, int rows, bool skip, struct error *error)
{
    const struct plan *plan = flow->page->plan;
    const size_t pitch = flow->reader.pitch;
    int piece = pitch < PIECE_SIZE ? (int)(PIECE_SIZE / pitch) : 1;
    if (skip && plan->input_rows < piece)
        piece = plan->input_rows;
    const double since = clock_seconds();
    enum status status = STATUS_OK;
    while (status == STATUS_OK && rows > 0 && !queue_stopped(&flow->reader.idle)) {
        const int some = rows < piece ? rows : piece;
        /* Rows outside a part that is cut out are not decoded. Other skipped rows are, to find damage. */
        status = (skip && plan->moved > 0 ? reader_skip : reader_read)(flow->page->reader, to, pitch,
                                                                       (uint32_t)some, error);
        flow->next_row += some;
        rows -= some;
        to += skip ? 0 : (size_t)some * pitch;
    }
    timing_add(flow->page->timing, PART_DECODE, skip ? "skip" : "decode", flow->next_slice, since);
    return status;
}

/* Samples that are moved are read as one slice, of which all output slices are made. */
static int slices_to_read(const struct flow *flow)
{
    const struct plan *plan = flow->page->plan;
    return plan->moved > 0 ? 1 : plan->slices;
}

/* Fills the slot with the input rows of the next slice, and copies those that the slice after it needs. */
static enum status fill_slot(struct flow *flow, struct slot *slot, struct error *error)
{
    const struct plan *plan = flow->page->plan;
    const struct rows needed = plan_slice_input(plan, flow->next_slice), carried = flow->carried;
    const size_t pitch = flow->reader.pitch;
    enum status status = staging_wait(slot->staging, error);
    if (status != STATUS_OK)
        return status;
    unsigned char *host = slot->staging->host;
    const int have = carried.end > needed.begin ? carried.end - needed.begin : 0;
    if (have > 0)
        memcpy(host, flow->carry + (size_t)(needed.begin - carried.begin) * pitch, (size_t)have * pitch);
    status = read_pieces(flow, host, needed.begin - flow->next_row, true, error);
    if (status == STATUS_OK)
        status =
            read_pieces(flow, host + (size_t)have * pitch, needed.end - needed.begin - have, false, error);
    if (status != STATUS_OK)
        return status;
    if (flow->next_slice + 1 < slices_to_read(flow)) {
        const struct rows next = plan_slice_input(plan, flow->next_slice + 1);
        flow->carried = (struct rows){next.begin < needed.end ? next.begin : needed.end, needed.end};
        memcpy(flow->carry, host + (size_t)(flow->carried.begin - needed.begin) * pitch,
               (size_t)(flow->carried.end - flow->carried.begin) * pitch);
    }
    slot->slice = flow->next_slice++;
    slot->rows = needed;
    return STATUS_OK;
}

/* Returns NULL after a failure, which io_thread_join reports, or if the reader should stop. */
static struct slot *fill_next(struct flow *flow)
{
    struct slot *slot = queue_pop(&flow->reader.idle);
    struct error error = {.text = ""};
    if (!slot || fill_slot(flow, slot, &error) == STATUS_OK)
        return slot;
    io_thread_fail(&flow->reader, &error);
    return NULL;
}

/* Reads the rows below the last slice, which nobody needs, into the last slot once it is idle: the file's end
 * is checked there. */
static void read_rest(struct flow *flow)
{
    struct error error = {.text = ""};
    const int rest = flow->page->plan->shapes[0].height - flow->next_row;
    struct slot *slot = rest > 0 ? queue_pop(&flow->reader.idle) : NULL;
    if (!slot)
        return;
    enum status status = staging_wait(slot->staging, &error);
    if (status == STATUS_OK)
        status = read_pieces(flow, slot->staging->host, rest, true, &error);
    if (status != STATUS_OK)
        io_thread_fail(&flow->reader, &error);
}

static void *reader_thread(void *context)
{
    struct flow *flow = context;
    struct slot *slot = NULL;
    for (int i = 0; i < slices_to_read(flow) && (i == 0 || slot); i++) {
        slot = fill_next(flow);
        if (slot)
            queue_push(&flow->reader.ready, slot);
    }
    if (slot)
        read_rest(flow);
    queue_end(&flow->reader.ready);
    return NULL;
}

static enum status reader_thread_begin(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct shape *shape = &page->plan->shapes[0];
    const size_t pitch = transfer_pitch(shape->width, shape->channels, page->from.type);
    enum status status = io_thread_open(&flow->reader, &page->run->stagings, pitch, page->plan->input_rows,
                                        slices_to_read(flow) > 1, error);
    if (status != STATUS_OK)
        return status;
    flow->carry = allocate(pitch * (size_t)page->plan->overlap_rows, "rows between slices", error);
    if (!flow->carry)
        return STATUS_FAILED;
    io_thread_start(&flow->reader, reader_thread, flow);
    return STATUS_OK;
}

/* Ends the reader: at once after a failure, else after the rows below the last slice were read. */
static enum status reader_thread_end(struct flow *flow, bool failed, struct error *error)
{
    struct io_thread *io = &flow->reader;
    if (!io->pool)
        return STATUS_OK;
    if (failed) {
        queue_stop(&io->idle);
        queue_stop(&io->ready);
    } else if (!io->threaded && io->status == STATUS_OK) {
        read_rest(flow);
    }
    return io_thread_join(io, error);
}

/* ---------------------------------------------------------------- writer thread */

static enum status encode(struct flow *flow, struct slot *slot, struct error *error)
{
    enum status status = staging_wait(slot->staging, error);
    if (status != STATUS_OK)
        return status;
    const double since = clock_seconds();
    status = writer_write(flow->page->writer, slot->staging->host, flow->writer.pitch,
                          (uint32_t)(slot->rows.end - slot->rows.begin), error);
    timing_add(flow->page->timing, PART_ENCODE, "encode", slot->slice, since);
    return status;
}

/* Returns false once writing failed. */
static bool write_slot(struct flow *flow, struct slot *slot)
{
    struct error error = {.text = ""};
    if (encode(flow, slot, &error) != STATUS_OK) {
        io_thread_fail(&flow->writer, &error);
        return false;
    }
    queue_push(&flow->writer.idle, slot);
    return true;
}

static void *writer_thread(void *context)
{
    struct flow *flow = context;
    struct slot *slot = queue_pop(&flow->writer.ready);
    while (slot && write_slot(flow, slot))
        slot = queue_pop(&flow->writer.ready);
    return NULL;
}

static enum status writer_thread_begin(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct shape *shape = plan_output(page->plan);
    const double since = clock_seconds();
    enum status status = writer_begin_page(page->writer, &page->out, error);
    if (status != STATUS_OK)
        return status;
    timing_add(page->timing, PART_ENCODE, "begin", -1, since);
    status = io_thread_open(&flow->writer, &page->run->stagings,
                            transfer_pitch(shape->width, shape->channels, page->to.type), page->plan->slice,
                            page->plan->slices > 1, error);
    if (status == STATUS_OK)
        io_thread_start(&flow->writer, writer_thread, flow);
    return status;
}

/* Returns when everything that was submitted is written. */
static enum status writer_thread_end(struct flow *flow, struct error *error)
{
    if (!flow->writer.pool)
        return STATUS_OK;
    queue_end(&flow->writer.ready);
    return io_thread_join(&flow->writer, error);
}

/* ---------------------------------------------------------------- samples of a slice (struct slice_io) */

static enum status flow_acquire_input(void *context, struct raster *in, struct error *error)
{
    struct flow *flow = context;
    const bool again = flow->held;
    if (!again) {
        flow->source = flow->reader.threaded ? queue_pop(&flow->reader.ready) : fill_next(flow);
        flow->halted = !flow->source;
        flow->held = flow->page->plan->moved > 0;
    }
    if (!flow->source)
        return STATUS_FAILED;
    struct slot *slot = flow->source;
    const size_t pitch = flow->reader.pitch;
    *in = conversion_raster(&flow->page->from, slot->staging->object, pitch, slot->rows.begin);
    if (again)
        return STATUS_OK;
    return staging_unmap(slot->staging, pitch * (size_t)(slot->rows.end - slot->rows.begin), error);
}

/* Returns the slot to the reader, once the device has released it. */
static enum status flow_release_input(void *context, struct error *error)
{
    struct flow *flow = context;
    if (flow->held && flow->slice + 1 < flow->page->plan->slices)
        return STATUS_OK;
    enum status status = staging_map(flow->source->staging, 0, error);
    if (status == STATUS_OK)
        queue_push(&flow->reader.idle, flow->source);
    return status;
}

static enum status flow_acquire_output(void *context, struct raster *out, struct error *error)
{
    struct flow *flow = context;
    const struct page *page = flow->page;
    struct slot *slot = queue_pop(&flow->writer.idle);
    flow->halted = !slot;
    if (!slot)
        return STATUS_FAILED;
    flow->target = slot;
    slot->slice = flow->slice;
    slot->rows = plan_slice(page->plan, slot->slice);
    *out = conversion_raster(&page->to, slot->staging->object, flow->writer.pitch, slot->rows.begin);
    out->width = plan_output(page->plan)->width;
    out->clipped = flow->clipped;
    /* The slice that was in this slot has been written, so its commands are done. */
    enum status status = profile_collect(page->run->device->profile, slot->mark, error);
    return status == STATUS_OK ? staging_unmap(slot->staging, 0, error) : status;
}

/* Hands the slot to the writer, which waits for the device to fill it. */
static enum status flow_submit_output(void *context, struct error *error)
{
    struct flow *flow = context;
    struct slot *slot = flow->target;
    const size_t rows = (size_t)(slot->rows.end - slot->rows.begin);
    enum status status = staging_map(slot->staging, flow->writer.pitch * rows, error);
    slot->mark = profile_mark(flow->page->run->device->profile);
    if (status == STATUS_OK && flow->writer.threaded)
        queue_push(&flow->writer.ready, slot);
    else if (status == STATUS_OK)
        write_slot(flow, slot);
    return status;
}

static enum status flow_load_pyramid(void *context, struct value *pyramid, struct error *error)
{
    return pyramid_load(((struct flow *)context)->page, pyramid, error);
}

static enum status flow_store_pyramid(void *context, const struct value *pyramid, struct error *error)
{
    return pyramid_store(((struct flow *)context)->page, pyramid, error);
}

/* ---------------------------------------------------------------- slices of a page */

static enum status flow_begin(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct plan *plan = page->plan;
    enum status status = STATUS_OK;
    page->run->pool.headroom = plan->headroom;
    if (plan->shapes[0].kind == KIND_IMAGE)
        status = reader_thread_begin(flow, error);
    if (status == STATUS_OK && plan_output(plan)->kind == KIND_IMAGE && !plan->analysis)
        status = writer_thread_begin(flow, error);
    if (status == STATUS_OK)
        status = clipping_begin(page->run, &page->to, 1, &flow->clipped, error);
    if (status == STATUS_OK && !page->run->prebuilt) {
        const struct page *whole = page->of ? page->of : page;
        status = prebuild_programs(whole->plan, page->run, &whole->from, &whole->to, error);
    }
    page->run->prebuilt = true;
    return status;
}

/* Ends the threads and returns the first failure in page order; `device_status` is that of the slices. */
static enum status flow_end(struct flow *flow, enum status device_status, struct error *error)
{
    struct device *device = flow->page->run->device;
    struct error device_error = *error;
    bool failed = device_status != STATUS_OK;
    struct error reader_error = {.text = ""};
    enum status reader_status = reader_thread_end(flow, failed, &reader_error);
    enum status status = writer_thread_end(flow, error);
    if (failed)
        device_finish(device); /* enqueued commands use memory that is about to be freed */
    if (status == STATUS_OK && failed && !flow->halted) {
        *error = device_error;
        return device_status;
    }
    if (status == STATUS_OK && reader_status != STATUS_OK) {
        *error = reader_error;
        return reader_status;
    }
    return status;
}

/* Processes the slices of a page after its analysis passes, or the parts of one such pass. */
static enum status flow_slices(const struct page *page, struct error *error)
{
    static const struct slice_io io = {flow_acquire_input, flow_release_input, flow_acquire_output,
                                       flow_submit_output, flow_load_pyramid,  flow_store_pyramid};
    const struct plan *plan = page->plan;
    struct profile *profile = page->run->device->profile;
    struct flow flow = {.page = page};
    struct slice slice = slice_begin(plan, page->run, &page->from, &page->to, &io, &flow);
    enum status status = flow_begin(&flow, error);
    for (int i = 0; status == STATUS_OK && i < plan->slices; i++) {
        flow.slice = profile->slice = i;
        slice.out = plan_slice(plan, i);
        status = slice_run(&slice, error);
        if (page->watch && status == STATUS_OK)
            page->watch(page->watcher, slice.out.end, plan_output(plan));
    }
    status = flow_end(&flow, status, error);
    if (status == STATUS_OK)
        status = profile_collect(profile, profile_mark(profile), error);
    if (status == STATUS_OK)
        status = clipping_read(page->run, flow.clipped, 1, page->clipping, error);
    memory_release(flow.clipped);
    io_thread_close(&flow.reader);
    io_thread_close(&flow.writer);
    free(flow.carry);
    return status;
}

/* ---------------------------------------------------------------- analysis passes */

/* Decoded rows in a temporary file, for the passes after the first. */
struct spool {
    struct reader *reader; /* the source of the first pass */
    const char *folder;
    FILE *file;
};

static enum status spool_fail(const struct spool *spool, const char *what, struct error *error)
{
    fail(error, STATUS_FAILED,
         "cannot %s a temporary file in %s, where the rows are kept between two passes: %s; set TMPDIR to a "
         "folder with room",
         what, spool->folder, strerror(errno));
    error->scope = SCOPE_ALL;
    return STATUS_FAILED;
}

static enum status read_and_spool(void *context, void *rows, size_t pitch, uint32_t count,
                                  struct error *error)
{
    const struct spool *spool = context;
    const size_t row = row_size(reader_info(spool->reader));
    enum status status = reader_read(spool->reader, rows, pitch, count, error);
    for (uint32_t y = 0; status == STATUS_OK && y < count; y++)
        if (fwrite((unsigned char *)rows + y * pitch, 1, row, spool->file) != row)
            status = spool_fail(spool, "write", error);
    return status;
}

static enum status read_spooled(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    const struct spool *spool = context;
    const size_t row = row_size(reader_info(spool->reader));
    for (uint32_t y = 0; y < count; y++)
        if (fread((unsigned char *)rows + y * pitch, 1, row, spool->file) != row)
            return spool_fail(spool, "read", error);
    return STATUS_OK;
}

/* Processes slices whose rows come from the reader and are spooled, or with `again` from the spool. */
static enum status flow_spooled(const struct page *page, struct spool *spool, bool again, struct error *error)
{
    const struct memory_source source = {.context = spool, .read = again ? read_spooled : read_and_spool};
    struct page from = *page;
    if (again && (fflush(spool->file) != 0 || fseeko(spool->file, 0, SEEK_SET) != 0))
        return spool_fail(spool, "write", error);
    enum status status =
        memory_reader(reader_name(page->reader), reader_info(page->reader), &source, &from.reader, error);
    if (status == STATUS_OK)
        status = flow_slices(&from, error);
    reader_close(from.reader);
    return status;
}

/* Frees the memory of a pass before the next one needs larger pieces. */
static void free_pass_memory(struct run *run)
{
    device_finish(run->device);
    run_clear(run);
}

/* Runs the analysis pass of a step. `spool` is NULL if the rows are not needed again or can be reread. */
static enum status analyse_step(const struct page *page, size_t step, struct spool *spool, bool again,
                                struct error *error)
{
    struct chain before;
    struct plan plan;
    struct page analysis = *page;
    struct clipping ignored = {0};
    plan_analysis(page->plan, step, &before, &plan);
    analysis.plan = &plan;
    analysis.of = page;
    analysis.to.counted = false;
    analysis.clipping = &ignored;
    analysis.watch = NULL;
    enum status status = analysis_begin(&plan, page->run, error);
    if (status == STATUS_OK)
        status = spool ? flow_spooled(&analysis, spool, again, error) : flow_slices(&analysis, error);
    if (status != STATUS_OK)
        return status;
    free_pass_memory(page->run);
    page->run->pool.headroom = 1;
    status = analysis_end(&plan, page->run, error);
    free_pass_memory(page->run);
    return status;
}

enum status analyse_page(const struct page *page, size_t step, struct error *error)
{
    run_begin_page(page->run);
    enum status status = analyse_step(page, step, NULL, false, error);
    device_finish(page->run->device); /* the noise has been read back */
    run_end_analysis_results(page->run);
    return status;
}

enum status flow_page(const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    struct spool spool = {.reader = page->reader, .folder = page->run->device->environment->spool};
    enum status status = STATUS_OK;
    bool again = false; /* the spool has all rows */
    const bool rereads = reader_go_back(page->reader);
    run_begin_page(page->run);
    for (size_t i = 0; status == STATUS_OK && i < plan->chain->count; i++) {
        if (!plan_needs_analysis(plan, i))
            continue;
        if (rereads) {
            status = analyse_step(page, i, NULL, false, error);
            if (status == STATUS_OK && !reader_go_back(page->reader))
                status = fail(error, STATUS_FAILED, "%s: cannot read: %s", reader_name(page->reader),
                              strerror(errno));
            continue;
        }
        if (!again)
            spool.file = spool_open(spool.folder, error);
        status = spool.file ? analyse_step(page, i, &spool, again, error) : STATUS_FAILED;
        again = true;
    }
    if (status == STATUS_OK)
        status = again ? flow_spooled(page, &spool, true, error) : flow_slices(page, error);
    run_end_analysis_results(page->run);
    if (spool.file)
        fclose(spool.file);
    return status;
}
