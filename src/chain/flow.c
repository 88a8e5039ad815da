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
 * With --verify a second run computes some rows of a slice again, from a copy of their input rows. Its
 * samples go through the same slots, and the writer thread compares them before it encodes.
 *
 * A thread that fails ends its queues. Slots that it filled before stay valid, so the slices before damaged
 * data are still processed. If several parts fail, the error that comes first in page order is reported: the
 * writer works on earlier slices than the device, and the device on earlier slices than the reader. */
#include "base/threads.h"
#include "base/timing.h"
#include "chain/coefficients.h"
#include "chain/slice.h"
#include "chain/verify.h"
#include "device/event_log.h"
#include "device/program.h"

#include <stdlib.h>
#include <string.h>

/* Buffers for the samples of one slice: for the page's run, and for the second run of --verify. */
struct slot {
    struct staging *stagings[2]; /* the second one may be NULL */
    struct interval rows[2];     /* rows in the buffers */

    /* Output slots only. */
    int slice;   /* number of the slice */
    size_t mark; /* event_log_mark after the slice's commands */
};

/* A thread and its ring of slots. Both queues lock themselves. */
struct io_thread {
    struct run *run; /* NULL: not open */
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
    struct slice slices[2]; /* the slice of the page's run, and of the second run */
    int runs;               /* number of runs */
    int slice;              /* number of the slice that is being enqueued */
    cl_mem clipped;         /* clipping counters; may be NULL */
    struct slot *source; /* slot that the device reads; NULL between slices, but with plan->raster_steps all
                          * slices read the same slot */
    struct slot *target; /* slot that the device writes */
};

/* ---------------------------------------------------------------- both threads */

/* Acquires `count` slots for `rows` rows each. */
static enum status io_thread_open(struct io_thread *io, struct run *run, size_t pitch, int rows, int count,
                                  struct error *error)
{
    struct run *const runs[] = {run, run->second};
    *io = (struct io_thread){.run = run, .pitch = pitch};
    queue_init(&io->idle);
    queue_init(&io->ready);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 2 && runs[k]; k++) {
            io->slots[i].stagings[k] = staging_acquire(&runs[k]->stagings, pitch * (size_t)rows, error);
            if (!io->slots[i].stagings[k])
                return STATUS_FAILED;
        }
        queue_push(&io->idle, &io->slots[i]);
    }
    return STATUS_OK;
}

/* Starts the thread, unless there is a single slot. If it does not run, also because the system refuses it,
 * the calling thread does its work. */
static void io_thread_start(struct io_thread *io, void *(*work)(void *), void *context)
{
    struct error ignored = {.text = ""};
    io->is_running =
        io->slots[1].stagings[0] && thread_start(&io->thread, work, context, &ignored) == STATUS_OK;
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
    if (!io->run)
        return;
    struct run *const runs[] = {io->run, io->run->second};
    for (int i = 0; i < PLAN_SLOTS; i++)
        for (int k = 0; k < 2 && runs[k]; k++)
            staging_release(&runs[k]->stagings, io->slots[i].stagings[k]);
    queue_free(&io->idle);
    queue_free(&io->ready);
    io->run = NULL;
}

/* Returns the bytes of rows in a slot. */
static size_t rows_size(const struct io_thread *io, struct interval rows)
{
    return io->pitch * (size_t)(rows.end - rows.begin);
}

/* Passes the buffers of a slot to the device, with `upload` their rows, too. */
static enum status slot_unmap(const struct io_thread *io, const struct slot *slot, bool upload,
                              struct error *error)
{
    enum status status = STATUS_OK;
    for (int k = 0; status == STATUS_OK && k < 2 && slot->stagings[k]; k++)
        status = staging_unmap(slot->stagings[k], upload ? rows_size(io, slot->rows[k]) : 0, error);
    return status;
}

/* Returns the buffers to the host, with `download` their rows, too. */
static enum status slot_map(const struct io_thread *io, const struct slot *slot, bool download,
                            struct error *error)
{
    enum status status = STATUS_OK;
    for (int k = 0; status == STATUS_OK && k < 2 && slot->stagings[k]; k++)
        status = staging_map(slot->stagings[k], download ? rows_size(io, slot->rows[k]) : 0, error);
    return status;
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
    const struct interval needed = plan_input(plan, plan_slice(plan, flow->next_slice)),
                          carried = flow->carried;
    const size_t pitch = flow->reader.pitch;
    enum status status = staging_wait(slot->stagings[0], error);
    if (status != STATUS_OK)
        return status;
    unsigned char *host = slot->stagings[0]->host;
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
        const struct interval next = plan_input(plan, plan_slice(plan, flow->next_slice + 1));
        flow->carried = (struct interval){next.begin < needed.end ? next.begin : needed.end, needed.end};
        memcpy(flow->carry, host + (size_t)(flow->carried.begin - needed.begin) * pitch,
               (size_t)(flow->carried.end - flow->carried.begin) * pitch);
    }
    slot->rows[0] = needed;
    if (slot->stagings[1]) {
        const struct interval out = verified_rows(flow->page->run, plan, flow->next_slice),
                              none = {needed.begin, needed.begin};
        slot->rows[1] = plan->raster_steps > 0 ? needed : out.end > out.begin ? plan_input(plan, out) : none;
        status = staging_wait(slot->stagings[1], error);
        if (status == STATUS_OK)
            memcpy(slot->stagings[1]->host, host + pitch * (size_t)(slot->rows[1].begin - needed.begin),
                   rows_size(&flow->reader, slot->rows[1]));
    }
    flow->next_slice++;
    return status;
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
    enum status status = staging_wait(slot->stagings[0], &error);
    if (status == STATUS_OK)
        status = read_pieces(flow, slot->stagings[0]->host, rest, true, &error);
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
    enum status status = io_thread_open(&flow->reader, page->run, pitch, page->plan->input_rows,
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
static enum status acquire_input(struct flow *flow, struct error *error)
{
    if (flow->source)
        return STATUS_OK;
    flow->source = flow->reader.is_running ? queue_pop(&flow->reader.ready) : fill_next(flow);
    return flow->source ? slot_unmap(&flow->reader, flow->source, true, error) : STATUS_FAILED;
}

/* Returns the slot to the reader. Before it fills the slot, the reader waits for the enqueued commands that
 * read it. */
static enum status release_input(struct flow *flow, struct error *error)
{
    struct slot *slot = flow->source;
    if (flow->page->plan->raster_steps > 0 && flow->slice + 1 < flow->page->plan->slices)
        return STATUS_OK;
    flow->source = NULL;
    enum status status = slot_map(&flow->reader, slot, false, error);
    if (status == STATUS_OK)
        queue_push(&flow->reader.idle, slot);
    return status;
}

/* ---------------------------------------------------------------- writer */

/* Waits for the second computation of a slot's rows and compares them. */
static enum status verify_slot(const struct flow *flow, const struct slot *slot, struct error *error)
{
    const struct page *page = flow->page;
    const struct interval rows = slot->rows[1], above = {slot->rows[0].begin, rows.begin};
    const double since = clock_seconds();
    enum status status = staging_wait(slot->stagings[1], error);
    if (status == STATUS_OK)
        status = verify_rows(page->run, &page->out, "", rows,
                             (unsigned char *)slot->stagings[0]->host + rows_size(&flow->writer, above),
                             slot->stagings[1]->host, flow->writer.pitch, error);
    timing_add_within(run_timing(page->run), PHASE_VERIFY, PHASE_ENCODE, "verify", since);
    return status;
}

/* Encodes a slot and returns it to the ring. Returns false after a failure. */
static bool write_slot(struct flow *flow, struct slot *slot)
{
    struct error error = {.text = ""};
    enum status status = staging_wait(slot->stagings[0], &error);
    if (status == STATUS_OK) {
        const double since = clock_seconds();
        if (slot->rows[1].end > slot->rows[1].begin)
            status = verify_slot(flow, slot, &error);
        if (status == STATUS_OK)
            status = writer_write(flow->page->writer, slot->stagings[0]->host, flow->writer.pitch,
                                  (uint32_t)(slot->rows[0].end - slot->rows[0].begin), &error);
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
    status = io_thread_open(&flow->writer, page->run,
                            transfer_pitch(shape->width, shape->channels, page->output_conversion.type),
                            page->plan->slice_rows, page->plan->slices > 1 ? PLAN_SLOTS : 1, error);
    if (status == STATUS_OK)
        io_thread_start(&flow->writer, run_writer, flow);
    return status;
}

/* Waits for an idle slot of the writer. Fails like acquire_input. */
static enum status acquire_output(struct flow *flow, struct error *error)
{
    struct slot *slot = flow->target = queue_pop(&flow->writer.idle);
    if (!slot)
        return STATUS_FAILED;
    slot->slice = flow->slice;
    slot->rows[0] = flow->slices[0].out;
    slot->rows[1] = flow->slices[1].out;
    /* The slice that was in this slot is written, so its commands have finished. */
    enum status status = event_log_collect(flow->page->run->device->event_log, slot->mark, error);
    return status == STATUS_OK ? slot_unmap(&flow->writer, slot, false, error) : status;
}

/* Submits the slot to the writer, which waits until the enqueued commands have filled it. */
static enum status submit_output(struct flow *flow, struct error *error)
{
    struct slot *slot = flow->target;
    enum status status = slot_map(&flow->writer, slot, true, error);
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
    if (plan->shapes[0].kind == KIND_IMAGE)
        status = open_reader(flow, error);
    if (status == STATUS_OK && plan_output(plan)->kind == KIND_IMAGE && !plan->analysis)
        status = open_writer(flow, error);
    if (status == STATUS_OK)
        status = clipping_begin(page->run, &page->output_conversion, 1, &flow->clipped, error);
    for (int k = 0; status == STATUS_OK && k < flow->runs && !page->run->prebuilt; k++) {
        /* Compile all programs of the page together, as GPU drivers compile several at once. A failure to
         * compile is reported by the first launch. */
        const struct page *whole = page->analysed_page ? page->analysed_page : page;
        const struct run *run = flow->slices[k].run;
        struct dry_run_memory ignored;
        status = slice_dry_run(whole->plan, run, &whole->input_conversion, &whole->output_conversion, 0, true,
                               &ignored, error);
        if (status == STATUS_OK)
            programs_build(run->device);
    }
    page->run->prebuilt = true;
    return status;
}

/* Enqueues a slice. Images pass through slots; the pages of a pyramid are read and written here. */
static enum status flow_slice(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct plan *plan = page->plan;
    const bool loads = plan->shapes[0].kind == KIND_PYRAMID,
               stores = plan_output(plan)->kind == KIND_PYRAMID && !plan->analysis;
    struct value pyramids[2] = {{.shape = plan->shapes[0]}, {.shape = plan->shapes[0]}};
    enum status status = loads ? pyramid_load(page, pyramids, error) : acquire_input(flow, error);
    if (status == STATUS_OK && flow->writer.run)
        status = acquire_output(flow, error);
    for (int k = 0; status == STATUS_OK && k < flow->runs; k++) {
        const struct slot *source = flow->source, *target = flow->target;
        struct slice *slice = &flow->slices[k];
        struct raster in = {.memory = NULL}, out = in;
        if (source)
            in = conversion_raster(&page->input_conversion, source->stagings[k]->object, flow->reader.pitch,
                                   source->rows[k].begin);
        if (target)
            out = conversion_raster(&page->output_conversion, target->stagings[k]->object, flow->writer.pitch,
                                    target->rows[k].begin);
        out.width = plan_output(plan)->width;
        out.clipped = k == 0 ? flow->clipped : NULL;
        if (slice->out.end > slice->out.begin)
            status = slice_run(slice, &in, &out, &pyramids[k], error);
    }
    if (status == STATUS_OK && flow->source)
        status = release_input(flow, error);
    if (status == STATUS_OK && stores)
        status = pyramid_store(page, pyramids, error);
    else if (status == STATUS_OK && flow->target)
        status = submit_output(flow, error);
    for (int k = 0; k < flow->runs; k++)
        value_release(flow->slices[k].run, &pyramids[k]);
    if (page->run->second) /* the times of the second run are not kept */
        event_log_discard(page->run->second->device->event_log);
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
    if (reader->run && failed) {
        queue_stop(&reader->idle);
        queue_stop(&reader->ready);
    } else if (reader->run && !reader->is_running && reader->status == STATUS_OK) {
        read_rest(flow);
    }
    if (writer->run)
        queue_end(&writer->ready);
    if (reader->is_running)
        pthread_join(reader->thread, NULL);
    if (writer->is_running)
        pthread_join(writer->thread, NULL);
    for (int k = 0; failed && k < flow->runs; k++)
        device_finish(flow->slices[k].run->device); /* enqueued commands use memory that will be freed */

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
    struct flow flow = {.page = page, .runs = page->run->second ? 2 : 1};
    struct error device_error = {.text = ""};
    for (int k = 0; k < flow.runs; k++)
        flow.slices[k] = slice_begin(plan, k == 0 ? page->run : page->run->second, &page->input_conversion,
                                     &page->output_conversion);
    enum status status = flow_begin(&flow, &device_error);
    for (int i = 0; status == STATUS_OK && i < plan->slices; i++) {
        flow.slice = event_log->slice = i;
        flow.slices[0].out = plan_slice(plan, i);
        if (flow.runs > 1)
            flow.slices[1].out = verified_rows(page->run, plan, i);
        status = flow_slice(&flow, &device_error);
        if (page->report_rows && status == STATUS_OK)
            page->report_rows(page->report_context, flow.slices[0].out.end, plan_output(plan));
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
