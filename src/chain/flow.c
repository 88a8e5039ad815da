/* Runs one page through the chain, slice by slice.
 *
 *     reader thread ─▶ staging ring ─▶ unpack ─▶ stages ─▶ pack ─▶ staging ring ─▶ writer thread
 *        ▲                  │             └── slice.c ──┘             │                 │
 *        └────── idle ──────┘                                        └────── idle ─────┘
 *
 * The calling thread only enqueues: upload, unpack, stages, pack and download of a slice are commands in the
 * device's in-order queue. So there is no gap between the kernels of two slices, and memory that one slice
 * releases is used by the next at once. The thread waits in one place, when all staging buffers of a ring are
 * in use. A fast reader waits for a buffer, too, instead of filling memory. An image that is one slice is
 * read and written by the calling thread.
 *
 * If several parts fail, the error that comes first in page order is reported: the writer works on earlier
 * slices than the device, and the device on earlier slices than the reader.
 *
 * Analysis passes (struct analysis of engine/stage.h) read the page before its slices. A file whose rows need
 * no decoding is read again. Decoded rows of other files are spooled to a temporary file. */

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
    size_t mark;      /* once the slot is idle, commands with profile records up to this one have finished */
};

/* A thread that reads or writes slices, and its ring of buffers. Slots circulate:
 *
 *     reader:  idle ─▶ filled by the thread ─▶ ready ─▶ read by the device ─▶ idle
 *     writer:  idle ─▶ written by the device ─▶ ready ─▶ encoded by the thread ─▶ idle
 * The owner of a slot is whoever popped it. The queues lock themselves. */
struct io_thread {
    struct staging_pool *pool; /* NULL: not open */
    struct slot slots[PLAN_SLOTS];
    struct queue idle, ready;
    size_t pitch; /* bytes from row to row */
    pthread_t thread;
    bool threaded; /* `thread` runs; else the calling thread does its work */

    /* Written by the thread, read after io_thread_join. */
    enum status status;
    struct error error;
};

/* A page or an analysis pass on its way. */
struct flow {
    /* Owned by the calling thread. */
    const struct page *page;
    int slice;           /* the slice that is being enqueued */
    cl_mem clipped;      /* clipping counters; may be NULL */
    bool halted;         /* a thread failed and has no slot left; it has the message */
    struct slot *source; /* the slot that the device reads; NULL after a failure */
    struct slot *target; /* the slot that the device writes */
    bool held;           /* `source` has all samples of the image and stays until the last slice */

    /* Owned by the reader thread. */
    struct io_thread reader;
    unsigned char *carry; /* copies of rows that the next slice needs as well */
    struct rows carried;  /* their range */
    int next_slice;       /* number of the slice to be read next */
    int next_row;         /* row of the page to be decoded next */

    /* Owned by the writer thread. */
    struct io_thread writer;
};

/* ---------------------------------------------------------------- io threads */

/* Acquires buffers of `rows` rows: PLAN_SLOTS of them for a thread, else one. Call io_thread_close also after
 * a failure. */
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

/* Starts the thread. If the system has no more threads, the calling thread will do the work. */
static void io_thread_start(struct io_thread *io, void *(*work)(void *), struct flow *flow)
{
    struct error ignored = {.text = ""};
    io->threaded = io->threaded && thread_start(&io->thread, work, flow, &ignored) == STATUS_OK;
}

/* Records an I/O error and wakes all waiters. Slots that were filled before stay valid. */
static void io_thread_fail(struct io_thread *io, const struct error *error)
{
    io->status = STATUS_FAILED;
    io->error = *error;
    queue_stop(&io->idle);
    queue_end(&io->ready);
}

/* Waits for the thread and returns its status. May be called twice. */
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

/* Bytes that are read between two checks if the reader should stop, as input may be slow. */
enum { PIECE_SIZE = 1 << 20 };

/* Reads `rows` rows to `to`, or skips them: skipped rows overwrite each other in `to`. Returns early, without
 * a failure, if the reader should stop. */
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
        /* Rows that --crop cuts off are not decoded. Other skipped rows are, to find damage. */
        status = (skip && plan->moved > 0 ? reader_skip : reader_read)(flow->page->reader, to, pitch,
                                                                       (uint32_t)some, error);
        flow->next_row += some;
        rows -= some;
        to += skip ? 0 : (size_t)some * pitch;
    }
    timing_add(flow->page->timing, PART_DECODE, skip ? "skip" : "decode", flow->next_slice, since);
    return status;
}

/* Returns the number of slices to read. Samples that are moved are read as one slice for all output slices.
 */
static int slices_to_read(const struct flow *flow)
{
    const struct plan *plan = flow->page->plan;
    return plan->moved > 0 ? 1 : plan->slices;
}

/* Fills the slot with the input rows of the next slice:
 *
 *     slice i    |------------------|
 *     slice i+1              |------------------|
 *                            |carry |   read    |
 * and copies the rows that the slice after it needs as well. */
static enum status fill_slot(struct flow *flow, struct slot *slot, struct error *error)
{
    const struct plan *plan = flow->page->plan;
    const struct rows needed = plan_slice_input(plan, flow->next_slice), carried = flow->carried;
    const size_t pitch = flow->reader.pitch;
    enum status status = staging_wait(slot->staging, error);
    if (status != STATUS_OK)
        return status;
    /* Rows that the previous slice had, rows that no slice needs, new rows. */
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

/* Waits for an idle slot and fills it. Returns NULL after a failure, which io_thread_join reports, or if the
 * reader should stop. */
static struct slot *fill_next(struct flow *flow)
{
    struct slot *slot = queue_pop(&flow->reader.idle);
    struct error error = {.text = ""};
    if (!slot || fill_slot(flow, slot, &error) == STATUS_OK)
        return slot;
    io_thread_fail(&flow->reader, &error);
    return NULL;
}

/* Reads the rows below the last slice, which the chain does not need, to find damage at the file's end. They
 * go to the first slot that is idle. */
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

/* Fills slots until all slices are read, then reads the rest of the page. */
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

/* Allocates the ring and the carried rows, and starts the reader. */
static enum status reader_thread_begin(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct shape *shape = &page->plan->shapes[0];
    const size_t pitch = transfer_pitch(shape->width, shape->channels, page->input_conversion.type);
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

/* Ends the reader and returns its status: at once if another part has failed, else after the rest of the
 * page. */
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

/* Encodes a slot and returns it to the ring. Returns false after a failure, which io_thread_join reports. */
static bool write_slot(struct flow *flow, struct slot *slot)
{
    struct error error = {.text = ""};
    enum status status = staging_wait(slot->staging, &error); /* for the device */
    if (status == STATUS_OK) {
        const double since = clock_seconds();
        status = writer_write(flow->page->writer, slot->staging->host, flow->writer.pitch,
                              (uint32_t)(slot->rows.end - slot->rows.begin), &error);
        timing_add(flow->page->timing, PART_ENCODE, "encode", slot->slice, since);
    }
    if (status == STATUS_OK)
        queue_push(&flow->writer.idle, slot);
    else
        io_thread_fail(&flow->writer, &error);
    return status == STATUS_OK;
}

/* Encodes slots until the queue ends. */
static void *writer_thread(void *context)
{
    struct flow *flow = context;
    struct slot *slot = queue_pop(&flow->writer.ready);
    while (slot && write_slot(flow, slot))
        slot = queue_pop(&flow->writer.ready);
    return NULL;
}

/* Begins the output page, allocates the ring, and starts the writer. */
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
                            transfer_pitch(shape->width, shape->channels, page->output_conversion.type),
                            page->plan->slice, page->plan->slices > 1, error);
    if (status == STATUS_OK)
        io_thread_start(&flow->writer, writer_thread, flow);
    return status;
}

/* Waits until all submitted slots are encoded, and returns the writer's status. */
static enum status writer_thread_end(struct flow *flow, struct error *error)
{
    if (!flow->writer.pool)
        return STATUS_OK;
    queue_end(&flow->writer.ready);
    return io_thread_join(&flow->writer, error);
}

/* ---------------------------------------------------------------- samples of a slice (struct slice_io) */

/* Acquires the next filled slot. Samples that are moved stay in the first slot, which is unmapped once. */
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
    *in = conversion_raster(&flow->page->input_conversion, slot->staging->object, pitch, slot->rows.begin);
    if (again)
        return STATUS_OK;
    return staging_unmap(slot->staging, pitch * (size_t)(slot->rows.end - slot->rows.begin), error);
}

/* Returns the slot to the reader, which waits until the device has finished with it. */
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

/* Acquires an idle slot of the writer's ring: the one place where the calling thread waits. */
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
    *out = conversion_raster(&page->output_conversion, slot->staging->object, flow->writer.pitch,
                             slot->rows.begin);
    out->width = plan_output(page->plan)->width;
    out->clipped = flow->clipped;
    /* The slice that was in this slot has been written, so its commands are done. */
    enum status status = profile_collect(page->run->device->profile, slot->mark, error);
    return status == STATUS_OK ? staging_unmap(slot->staging, 0, error) : status;
}

/* Submits the slot to the writer, which waits until the device has filled it. Without a thread, encodes it.
 */
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

/* Starts reader and writer, allocates counters, and compiles all programs of the first page together. */
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
        status = clipping_begin(page->run, &page->output_conversion, 1, &flow->clipped, error);
    if (status == STATUS_OK && !page->run->prebuilt) {
        const struct page *whole = page->of ? page->of : page;
        status = prebuild_programs(whole->plan, page->run, &whole->input_conversion,
                                   &whole->output_conversion, error);
    }
    page->run->prebuilt = true;
    return status;
}

/* Ends the threads and returns the first failure in page order. `device_status` is the status of enqueueing
 * the slices, with its message in *error. */
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
    struct slice slice =
        slice_begin(plan, page->run, &page->input_conversion, &page->output_conversion, &io, &flow);
    enum status status = flow_begin(&flow, error);
    for (int i = 0; status == STATUS_OK && i < plan->slices; i++) {
        flow.slice = profile->slice = i;
        slice.out = plan_slice(plan, i);
        status = slice_run(&slice, error);
        if (page->watch && status == STATUS_OK)
            page->watch(page->watcher, slice.out.end, plan_output(plan));
    }
    status = flow_end(&flow, status, error);
    if (plan->analysis)
        device_finish(page->run->device); /* no writer has waited for the last part */
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

/* Decoded rows of a page in a temporary file, without padding, for the passes after the first. */
struct spool {
    struct reader *reader; /* the source of the first pass */
    const char *folder;
    FILE *file;
    bool is_last; /* no further pass will read it */
    uint32_t row; /* next row to be read */
    /* Buffer of `file`. With stdio's 4 KiB each row is a system call. */
    char buffer[1 << 16];
};

/* Fails for all files, as they share the folder. `what` is "read" or "write". */
static enum status spool_fail(const struct spool *spool, const char *what, struct error *error)
{
    fail(error, STATUS_FAILED,
         "cannot %s a temporary file in %s, where the rows are kept between two passes: %s; set TMPDIR to a "
         "folder with room",
         what, spool->folder, strerror(errno));
    error->scope = SCOPE_ALL;
    return STATUS_FAILED;
}

/* Reads rows of the file and appends them to the spool. */
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

/* Reads rows of the spool. Closes it after the last row of the last pass: the reader thread has time for
 * that, while deleting 35 MB after the last slice took 10 ms of a page's 500. */
static enum status read_spooled(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct spool *spool = context;
    const struct image_info *info = reader_info(spool->reader);
    const size_t row = row_size(info);
    for (uint32_t y = 0; y < count; y++)
        if (fread((unsigned char *)rows + y * pitch, 1, row, spool->file) != row)
            return spool_fail(spool, "read", error);
    spool->row += count;
    if (spool->is_last && spool->row == info->height) {
        fclose(spool->file);
        spool->file = NULL;
    }
    return STATUS_OK;
}

/* Runs flow_slices with rows of the reader, which are spooled, or with `again` with the rows of the spool. */
static enum status flow_spooled(const struct page *page, struct spool *spool, bool again, struct error *error)
{
    const struct memory_source source = {.context = spool, .read = again ? read_spooled : read_and_spool};
    struct page from = *page;
    if (again && (fflush(spool->file) != 0 || fseeko(spool->file, 0, SEEK_SET) != 0))
        return spool_fail(spool, "write", error);
    spool->row = 0;
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

/* Runs the analysis pass of a step. `spool` is NULL if the page's reader is to be read; `again`: the spool
 * has all rows. */
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
    analysis.output_conversion.counts_clipping = false;
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
    /* The rows of the first pass are spooled, unless the reader can go back. */
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
        if (!again && spool.file)
            setvbuf(spool.file, spool.buffer, _IOFBF, sizeof spool.buffer);
        status = spool.file ? analyse_step(page, i, &spool, again, error) : STATUS_FAILED;
        again = true;
    }
    spool.is_last = true;
    if (status == STATUS_OK)
        status = again ? flow_spooled(page, &spool, true, error) : flow_slices(page, error);
    run_end_analysis_results(page->run);
    if (spool.file)
        fclose(spool.file);
    return status;
}
