/* One pass over a page: sends its slices through the chain, while one thread decodes and another one encodes.
 *
 *     reader thread ─▶ slots ─▶ unpack ─▶ stages ─▶ pack ─▶ slots ─▶ writer thread
 *        ▲               │         └── slice.c ──┘           │             │
 *        └──── idle ─────┘                                   └─── idle ────┘
 *
 * The calling thread only enqueues: upload, unpack, stages, pack and download of a slice are commands in the
 * device's in-order queue. So there is no gap between the kernels of two slices, and the memory of a slice is
 * used again by the next one. The thread waits only for slots: the next input, and an idle output slot.
 *
 * A slot is a staging buffer for one slice. It belongs to the thread that popped it from a queue. The number
 * of slots limits the memory: a fast reader waits for an idle one. A page that is one slice has one slot on
 * each side and no threads: the calling thread decodes and encodes. Rows that two slices need are copied, so
 * each row is decoded once:
 *
 *     slice i    |------------------|
 *     slice i+1              |------------------|
 *                            |carry |   read    |
 *
 * A thread that fails ends its queues. Slots that it filled before stay valid, so the slices before damaged
 * data are still processed. If several parts fail, the error that comes first in page order is reported: the
 * writer works on earlier slices than the device, and the device on earlier slices than the reader. */
#include "base/threads.h"
#include "base/timing.h"
#include "chain/coefficients.h"
#include "chain/slice.h"
#include "device/event_log.h"
#include "device/program.h"

#include <stdlib.h>
#include <string.h>

/* A buffer for the samples of one slice. */
struct slot {
    struct staging *staging;
    struct interval rows; /* rows in the buffer */

    /* Output slots only. */
    int slice;   /* number of the slice */
    size_t mark; /* event_log_mark after the slice's commands */
};

/* A thread and its ring of slots. Both queues lock themselves. */
struct io_thread {
    struct staging_pool *pool; /* NULL: not open */
    struct slot slots[PLAN_SLOTS];
    struct queue idle, ready;
    size_t pitch; /* bytes from row to row */
    pthread_t thread;
    bool is_running; /* if not, the calling thread does the work of `thread` */

    /* Written by the thread, read after flow_end. */
    enum status status;
    struct error error;
};

/* State of a pass. */
struct flow {
    const struct page *page;
    struct io_thread reader, writer;

    /* Private to the reader thread. */
    unsigned char *carry;    /* copies of rows that the next slice needs as well; owned */
    struct interval carried; /* range of the rows in `carry` */
    int next_slice;          /* number of the slice to be read next */
    int next_row;            /* row of the page to be decoded next */

    /* Private to the calling thread. */
    int slice;           /* number of the slice that is being enqueued */
    cl_mem clipped;      /* clipping counters; may be NULL */
    struct slot *source; /* slot that the device reads; NULL between slices, but with plan->raster_steps all
                          * slices read the same slot */
    struct slot *target; /* slot that the device writes */
};

/* ---------------------------------------------------------------- both threads */

/* Acquires `count` slots for `rows` rows each. */
static enum status io_thread_open(struct io_thread *io, struct staging_pool *pool, size_t pitch, int rows,
                                  int count, struct error *error)
{
    *io = (struct io_thread){.pool = pool, .pitch = pitch};
    queue_init(&io->idle);
    queue_init(&io->ready);
    for (int i = 0; i < count; i++) {
        io->slots[i].staging = staging_acquire(pool, pitch * (size_t)rows, error);
        if (!io->slots[i].staging)
            return STATUS_FAILED;
        queue_push(&io->idle, &io->slots[i]);
    }
    return STATUS_OK;
}

/* Starts the thread, unless there is a single slot. If it does not run, also because the system refuses it,
 * the calling thread does its work. */
static void io_thread_start(struct io_thread *io, void *(*work)(void *), void *context)
{
    struct error ignored = {.text = ""};
    io->is_running = io->slots[1].staging && thread_start(&io->thread, work, context, &ignored) == STATUS_OK;
}

/* Records a failure and wakes all waiters. */
static void io_thread_fail(struct io_thread *io, const struct error *error)
{
    io->status = STATUS_FAILED;
    io->error = *error;
    queue_stop(&io->idle);
    queue_end(&io->ready);
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

/* ---------------------------------------------------------------- reader */

/* Bytes that are read before the reader checks if it should stop, as input may be slow. */
enum { PIECE_SIZE = 1 << 20 };

/* Reads `rows` rows to `to`. With `skip` all rows use the same memory, as they are not needed. Returns
 * STATUS_OK early if the reader should stop. */
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
        const int count = rows < piece ? rows : piece;
        /* Decode rows that no slice needs, to find damage, unless --crop cuts them off by moving samples. */
        status = (skip && plan->raster_steps > 0 ? reader_skip : reader_read)(flow->page->reader, to, pitch,
                                                                              (uint32_t)count, error);
        flow->next_row += count;
        rows -= count;
        to += skip ? 0 : (size_t)count * pitch;
    }
    timing_add(run_timing(flow->page->run), PHASE_DECODE, skip ? "skip" : "decode", flow->next_slice, since);
    return status;
}

/* Returns the number of slices to read. If a chain begins with stages that move samples before they become
 * planes (plan->raster_steps), the whole page is read into one slot. */
static int slices_to_read(const struct flow *flow)
{
    const struct plan *plan = flow->page->plan;
    return plan->raster_steps > 0 ? 1 : plan->slices;
}

/* Fills the slot with the input rows of the next slice: copies carried rows, skips rows that no slice needs,
 * and reads the others. Then copies the rows that the slice after it also needs to flow->carry. */
static enum status fill_slot(struct flow *flow, struct slot *slot, struct error *error)
{
    const struct plan *plan = flow->page->plan;
    const struct interval needed = plan_slice_input(plan, flow->next_slice), carried = flow->carried;
    const size_t pitch = flow->reader.pitch;
    enum status status = staging_wait(slot->staging, error);
    if (status != STATUS_OK)
        return status;
    unsigned char *host = slot->staging->host;
    const int copied = carried.end > needed.begin ? carried.end - needed.begin : 0;
    if (copied > 0)
        memcpy(host, flow->carry + (size_t)(needed.begin - carried.begin) * pitch, (size_t)copied * pitch);
    else if (needed.begin > flow->next_row)
        status = read_pieces(flow, host, needed.begin - flow->next_row, true, error);
    if (status == STATUS_OK)
        status = read_pieces(flow, host + (size_t)copied * pitch, needed.end - needed.begin - copied, false,
                             error);
    if (status != STATUS_OK)
        return status;
    if (flow->next_slice + 1 < slices_to_read(flow)) {
        const struct interval next = plan_slice_input(plan, flow->next_slice + 1);
        flow->carried = (struct interval){next.begin < needed.end ? next.begin : needed.end, needed.end};
        memcpy(flow->carry, host + (size_t)(flow->carried.begin - needed.begin) * pitch,
               (size_t)(flow->carried.end - flow->carried.begin) * pitch);
    }
    flow->next_slice++;
    slot->rows = needed;
    return STATUS_OK;
}

/* Waits for an idle slot and fills it. Returns NULL after a failure, or if the reader should stop. */
static struct slot *fill_next(struct flow *flow)
{
    struct slot *slot = queue_pop(&flow->reader.idle);
    struct error error = {.text = ""};
    if (!slot || fill_slot(flow, slot, &error) == STATUS_OK)
        return slot;
    io_thread_fail(&flow->reader, &error);
    return NULL;
}

/* Reads the rows below the last slice, which the chain does not need, to find damage at the file's end. Their
 * memory is the next idle slot. */
static void read_rest(struct flow *flow)
{
    struct error error = {.text = ""};
    const int rest = flow->page->plan->shapes[0].height - flow->next_row;
    struct slot *slot = rest > 0 ? queue_pop(&flow->reader.idle) : NULL;
    if (!slot)
        return;
    flow->next_slice = -1; /* for the trace: these rows belong to no slice */
    enum status status = staging_wait(slot->staging, &error);
    if (status == STATUS_OK)
        status = read_pieces(flow, slot->staging->host, rest, true, &error);
    if (status != STATUS_OK)
        io_thread_fail(&flow->reader, &error);
}

/* Fills slots until all slices are read, then skips the rest of the page. */
static void *run_reader(void *context)
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

/* Allocates the slots and starts the thread. */
static enum status open_reader(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct shape *shape = &page->plan->shapes[0];
    const size_t pitch = transfer_pitch(shape->width, shape->channels, page->input_conversion.type);
    enum status status = io_thread_open(&flow->reader, &page->run->stagings, pitch, page->plan->input_rows,
                                        slices_to_read(flow) > 1 ? PLAN_SLOTS : 1, error);
    if (status != STATUS_OK)
        return status;
    flow->carry = allocate(pitch * (size_t)page->plan->overlap_rows, "rows between slices", error);
    if (!flow->carry)
        return STATUS_FAILED;
    io_thread_start(&flow->reader, run_reader, flow);
    return STATUS_OK;
}

/* Waits for the next filled slot, in page order. If reading has failed, returns STATUS_FAILED without a
 * message: flow_end reports the reader's own error. */
static enum status acquire_input(struct flow *flow, struct raster *in, struct error *error)
{
    const size_t pitch = flow->reader.pitch;
    const bool is_new = !flow->source;
    if (is_new)
        flow->source = flow->reader.is_running ? queue_pop(&flow->reader.ready) : fill_next(flow);
    const struct slot *slot = flow->source;
    if (!slot)
        return STATUS_FAILED;
    *in = conversion_raster(&flow->page->input_conversion, slot->staging->object, pitch, slot->rows.begin);
    return is_new ? staging_unmap(slot->staging, pitch * (size_t)(slot->rows.end - slot->rows.begin), error)
                  : STATUS_OK;
}

/* Returns the slot to the reader. Before it fills the slot, the reader waits for the enqueued commands that
 * read it. */
static enum status release_input(struct flow *flow, struct error *error)
{
    struct slot *slot = flow->source;
    if (flow->page->plan->raster_steps > 0 && flow->slice + 1 < flow->page->plan->slices)
        return STATUS_OK;
    flow->source = NULL;
    enum status status = staging_map(slot->staging, 0, error);
    if (status == STATUS_OK)
        queue_push(&flow->reader.idle, slot);
    return status;
}

/* ---------------------------------------------------------------- writer */

/* Encodes a slot and returns it to the ring. Returns false after a failure. */
static bool write_slot(struct flow *flow, struct slot *slot)
{
    struct error error = {.text = ""};
    enum status status = staging_wait(slot->staging, &error);
    if (status == STATUS_OK) {
        const double since = clock_seconds();
        status = writer_write(flow->page->writer, slot->staging->host, flow->writer.pitch,
                              (uint32_t)(slot->rows.end - slot->rows.begin), &error);
        timing_add(run_timing(flow->page->run), PHASE_ENCODE, "encode", slot->slice, since);
    }
    if (status == STATUS_OK)
        queue_push(&flow->writer.idle, slot);
    else
        io_thread_fail(&flow->writer, &error);
    return status == STATUS_OK;
}

/* Encodes slots until the queue ends. */
static void *run_writer(void *context)
{
    struct flow *flow = context;
    struct slot *slot = queue_pop(&flow->writer.ready);
    while (slot && write_slot(flow, slot))
        slot = queue_pop(&flow->writer.ready);
    return NULL;
}

/* Begins the output page, allocates the slots and starts the thread. */
static enum status open_writer(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct shape *shape = plan_output(page->plan);
    const double since = clock_seconds();
    enum status status = writer_begin_page(page->writer, &page->out, error);
    if (status != STATUS_OK)
        return status;
    timing_add(run_timing(page->run), PHASE_ENCODE, "begin", -1, since);
    status = io_thread_open(&flow->writer, &page->run->stagings,
                            transfer_pitch(shape->width, shape->channels, page->output_conversion.type),
                            page->plan->slice_rows, page->plan->slices > 1 ? PLAN_SLOTS : 1, error);
    if (status == STATUS_OK)
        io_thread_start(&flow->writer, run_writer, flow);
    return status;
}

/* Waits for an idle slot of the writer. Fails like acquire_input. */
static enum status acquire_output(struct flow *flow, struct raster *out, struct error *error)
{
    const struct page *page = flow->page;
    struct slot *slot = flow->target = queue_pop(&flow->writer.idle);
    if (!slot)
        return STATUS_FAILED;
    slot->slice = flow->slice;
    slot->rows = plan_slice(page->plan, slot->slice);
    *out = conversion_raster(&page->output_conversion, slot->staging->object, flow->writer.pitch,
                             slot->rows.begin);
    out->width = plan_output(page->plan)->width;
    out->clipped = flow->clipped;
    /* The slice that was in this slot is written, so its commands have finished. */
    enum status status = event_log_collect(page->run->device->event_log, slot->mark, error);
    return status == STATUS_OK ? staging_unmap(slot->staging, 0, error) : status;
}

/* Submits the slot to the writer, which waits until the enqueued commands have filled it. */
static enum status submit_output(struct flow *flow, struct error *error)
{
    struct slot *slot = flow->target;
    const size_t rows = (size_t)(slot->rows.end - slot->rows.begin);
    enum status status = staging_map(slot->staging, flow->writer.pitch * rows, error);
    slot->mark = event_log_mark(flow->page->run->device->event_log);
    if (status == STATUS_OK && flow->writer.is_running)
        queue_push(&flow->writer.ready, slot);
    else if (status == STATUS_OK)
        write_slot(flow, slot); /* flow_end reports a failure */
    return status;
}

/* ---------------------------------------------------------------- the pass */

/* Starts the reader and writer threads, allocates counters, and compiles a run's first programs. */
static enum status flow_begin(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct plan *plan = page->plan;
    enum status status = STATUS_OK;
    page->run->pool.headroom = plan->headroom;
    if (plan->shapes[0].kind == KIND_IMAGE)
        status = open_reader(flow, error);
    if (status == STATUS_OK && plan_output(plan)->kind == KIND_IMAGE && !plan->analysis)
        status = open_writer(flow, error);
    if (status == STATUS_OK)
        status = clipping_begin(page->run, &page->output_conversion, 1, &flow->clipped, error);
    if (status == STATUS_OK && !page->run->prebuilt) {
        /* Compile all programs of the page together, as GPU drivers compile several at once. A failure to
         * compile is reported by the first launch. */
        const struct page *whole = page->analysed_page ? page->analysed_page : page;
        struct dry_run_memory ignored;
        status = slice_dry_run(whole->plan, page->run, &whole->input_conversion, &whole->output_conversion, 0,
                               true, &ignored, error);
        if (status == STATUS_OK)
            programs_build(page->run->device);
    }
    page->run->prebuilt = true;
    return status;
}

/* Enqueues a slice. Images pass through slots; the pages of a pyramid are read and written here. */
static enum status flow_slice(struct flow *flow, struct slice *slice, struct error *error)
{
    const struct plan *plan = slice->plan;
    const bool loads = plan->shapes[0].kind == KIND_PYRAMID,
               stores = plan_output(plan)->kind == KIND_PYRAMID && !plan->analysis;
    struct raster in = {.memory = NULL}, out = in;
    struct value pyramid = {.shape = plan->shapes[0]};
    enum status status = loads ? pyramid_load(flow->page, &pyramid, error) : acquire_input(flow, &in, error);
    if (status == STATUS_OK && flow->writer.pool)
        status = acquire_output(flow, &out, error);
    if (status == STATUS_OK)
        status = slice_run(slice, &in, &out, &pyramid, error);
    if (status == STATUS_OK && !loads)
        status = release_input(flow, error);
    if (status == STATUS_OK && stores)
        status = pyramid_store(flow->page, &pyramid, error);
    else if (status == STATUS_OK && flow->writer.pool)
        status = submit_output(flow, error);
    value_release(slice->run, &pyramid);
    return status;
}

/* Ends the threads and returns the first failure in page order. `device_error` is the failure to enqueue a
 * slice; it has no text if a thread had failed before. */
static enum status flow_end(struct flow *flow, enum status device_status, const struct error *device_error,
                            struct error *error)
{
    struct io_thread *reader = &flow->reader, *writer = &flow->writer;
    const bool failed = device_status != STATUS_OK;

    /* Wait for the threads: the reader reads the rest of the page first, unless another part failed; the
     * writer writes all submitted slots. */
    if (reader->pool && failed) {
        queue_stop(&reader->idle);
        queue_stop(&reader->ready);
    } else if (reader->pool && !reader->is_running && reader->status == STATUS_OK) {
        read_rest(flow);
    }
    if (writer->pool)
        queue_end(&writer->ready);
    if (reader->is_running)
        pthread_join(reader->thread, NULL);
    if (writer->is_running)
        pthread_join(writer->thread, NULL);
    if (failed)
        device_finish(flow->page->run->device); /* enqueued commands use memory that will be freed */

    const struct error *first = writer->status != STATUS_OK               ? &writer->error
                                : failed && device_error->text[0] != '\0' ? device_error
                                : reader->status != STATUS_OK             ? &reader->error
                                                                          : NULL;
    if (first)
        *error = *first;
    return first ? STATUS_FAILED : device_status;
}

enum status flow_slices(const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    struct event_log *event_log = page->run->device->event_log;
    struct flow flow = {.page = page};
    struct error device_error = {.text = ""};
    struct slice slice = slice_begin(plan, page->run, &page->input_conversion, &page->output_conversion);
    enum status status = flow_begin(&flow, &device_error);
    for (int i = 0; status == STATUS_OK && i < plan->slices; i++) {
        flow.slice = event_log->slice = i;
        slice.out = plan_slice(plan, i);
        status = flow_slice(&flow, &slice, &device_error);
        if (page->report_rows && status == STATUS_OK)
            page->report_rows(page->report_context, slice.out.end, plan_output(plan));
    }
    status = flow_end(&flow, status, &device_error, error);
    if (plan->analysis)
        device_finish(page->run->device); /* no writer thread has waited for the last part */
    if (status == STATUS_OK)
        status = event_log_collect(event_log, event_log_mark(event_log), error);
    if (status == STATUS_OK)
        status = clipping_read(page->run, flow.clipped, 1, page->clipping, error);
    memory_release(flow.clipped);
    io_thread_close(&flow.reader);
    io_thread_close(&flow.writer);
    free(flow.carry);
    return status;
}
