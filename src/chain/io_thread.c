/* Decodes and encodes the slices of a page while the device works on others.
 *
 * A fast reader waits for an idle slot instead of filling memory. Rows that two slices need are copied, so
 * each row is decoded once:
 *
 *     slice i    |------------------|
 *     slice i+1              |------------------|
 *                            |carry |   read    |
 *
 * A failure ends the thread's queues. Slots that were filled before stay valid, so the slices before the
 * damage are still processed, and the first failure in page order is the one that is reported. */
#include "chain/io_thread.h"

#include "base/timing.h"
#include "device/event_log.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- both threads */

/* Acquires buffers of `rows` rows: PLAN_SLOTS of them for `several` slices, else one. */
static enum status io_thread_open(struct io_thread *io, struct staging_pool *pool, size_t pitch, int rows,
                                  bool several, struct error *error)
{
    *io = (struct io_thread){.pool = pool, .pitch = pitch};
    queue_init(&io->idle);
    queue_init(&io->ready);
    for (int i = 0; i < (several ? PLAN_SLOTS : 1); i++) {
        io->slots[i].staging = staging_acquire(pool, pitch * (size_t)rows, error);
        if (!io->slots[i].staging)
            return STATUS_FAILED;
        queue_push(&io->idle, &io->slots[i]);
    }
    return STATUS_OK;
}

/* Starts the thread, unless there is a single slice. The calling thread then does its work, and also if the
 * system refuses a thread. */
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

/* Waits for the thread. May be called twice. */
static void io_thread_join(struct io_thread *io)
{
    if (io->is_running)
        pthread_join(io->thread, NULL);
    io->is_running = false;
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

/* Bytes that are read at once. After them the reader checks if it should stop, as input may be slow. */
enum { PIECE_SIZE = 1 << 20 };

/* Reads `rows` rows to `to`, or skips them: skipped rows overwrite each other in `to`. Returns STATUS_OK
 * early if the reader should stop. */
static enum status read_pieces(struct reader_thread *reader, unsigned char *to, int rows, bool skip,
                               struct error *error)
{
    const struct plan *plan = reader->page->plan;
    const size_t pitch = reader->io.pitch;
    int piece = pitch < PIECE_SIZE ? (int)(PIECE_SIZE / pitch) : 1;
    if (skip && plan->input_rows < piece)
        piece = plan->input_rows;
    const double since = clock_seconds();
    enum status status = STATUS_OK;
    while (status == STATUS_OK && rows > 0 && !queue_stopped(&reader->io.idle)) {
        const int some = rows < piece ? rows : piece;
        /* Rows that --crop cuts off need not be decoded. Others are, to find damage. */
        status = (skip && plan->moved_steps > 0 ? reader_skip : reader_read)(reader->page->reader, to, pitch,
                                                                             (uint32_t)some, error);
        reader->next_row += some;
        rows -= some;
        to += skip ? 0 : (size_t)some * pitch;
    }
    timing_add(reader->page->timing, PHASE_DECODE, skip ? "skip" : "decode", reader->next_slice, since);
    return status;
}

/* Returns the number of slices to read. Samples that are moved are read as one slice. */
static int slices_to_read(const struct reader_thread *reader)
{
    const struct plan *plan = reader->page->plan;
    return plan->moved_steps > 0 ? 1 : plan->slices;
}

/* Fills the slot with the input rows of the next slice: copies carried rows, skips rows that no slice needs,
 * and reads the others. Then carries the rows that the slice after it needs as well. */
static enum status fill_slot(struct reader_thread *reader, struct slot *slot, struct error *error)
{
    const struct plan *plan = reader->page->plan;
    const struct interval needed = plan_slice_input(plan, reader->next_slice), carried = reader->carried;
    const size_t pitch = reader->io.pitch;
    enum status status = staging_wait(slot->staging, error);
    if (status != STATUS_OK)
        return status;
    unsigned char *host = slot->staging->host;
    const int copied = carried.end > needed.begin ? carried.end - needed.begin : 0;
    if (copied > 0)
        memcpy(host, reader->carry + (size_t)(needed.begin - carried.begin) * pitch, (size_t)copied * pitch);
    else if (needed.begin > reader->next_row)
        status = read_pieces(reader, host, needed.begin - reader->next_row, true, error);
    if (status == STATUS_OK)
        status = read_pieces(reader, host + (size_t)copied * pitch, needed.end - needed.begin - copied, false,
                             error);
    if (status != STATUS_OK)
        return status;
    if (reader->next_slice + 1 < slices_to_read(reader)) {
        const struct interval next = plan_slice_input(plan, reader->next_slice + 1);
        reader->carried = (struct interval){next.begin < needed.end ? next.begin : needed.end, needed.end};
        memcpy(reader->carry, host + (size_t)(reader->carried.begin - needed.begin) * pitch,
               (size_t)(reader->carried.end - reader->carried.begin) * pitch);
    }
    reader->next_slice++;
    slot->rows = needed;
    return STATUS_OK;
}

/* Waits for an idle slot and fills it. Returns NULL after a failure, or if the reader should stop. */
static struct slot *fill_next(struct reader_thread *reader)
{
    struct slot *slot = queue_pop(&reader->io.idle);
    struct error error = {.text = ""};
    if (!slot || fill_slot(reader, slot, &error) == STATUS_OK)
        return slot;
    io_thread_fail(&reader->io, &error);
    return NULL;
}

/* Skips the rows below the last slice, which the chain does not need, to find damage at the file's end. Their
 * buffer is the first idle slot. */
static void read_rest(struct reader_thread *reader)
{
    struct error error = {.text = ""};
    const int rest = reader->page->plan->shapes[0].height - reader->next_row;
    struct slot *slot = rest > 0 ? queue_pop(&reader->io.idle) : NULL;
    if (!slot)
        return;
    reader->next_slice = -1; /* for the trace: these rows belong to no slice */
    enum status status = staging_wait(slot->staging, &error);
    if (status == STATUS_OK)
        status = read_pieces(reader, slot->staging->host, rest, true, &error);
    if (status != STATUS_OK)
        io_thread_fail(&reader->io, &error);
}

/* Fills slots until all slices are read, then skips the rest of the page. */
static void *reader_thread_run(void *context)
{
    struct reader_thread *reader = context;
    struct slot *slot = NULL;
    for (int i = 0; i < slices_to_read(reader) && (i == 0 || slot); i++) {
        slot = fill_next(reader);
        if (slot)
            queue_push(&reader->io.ready, slot);
    }
    if (slot)
        read_rest(reader);
    queue_end(&reader->io.ready);
    return NULL;
}

enum status reader_thread_open(struct reader_thread *reader, const struct page *page, struct error *error)
{
    const struct shape *shape = &page->plan->shapes[0];
    const size_t pitch = transfer_pitch(shape->width, shape->channels, page->input_conversion.type);
    reader->page = page;
    enum status status = io_thread_open(&reader->io, &page->run->stagings, pitch, page->plan->input_rows,
                                        slices_to_read(reader) > 1, error);
    if (status != STATUS_OK)
        return status;
    reader->carry = allocate(pitch * (size_t)page->plan->overlap_rows, "rows between slices", error);
    if (!reader->carry)
        return STATUS_FAILED;
    io_thread_start(&reader->io, reader_thread_run, reader);
    return STATUS_OK;
}

struct slot *reader_thread_pop(struct reader_thread *reader)
{
    return reader->io.is_running ? queue_pop(&reader->io.ready) : fill_next(reader);
}

enum status reader_thread_push(struct reader_thread *reader, struct slot *slot, struct error *error)
{
    enum status status = staging_map(slot->staging, 0, error);
    if (status == STATUS_OK)
        queue_push(&reader->io.idle, slot);
    return status;
}

void reader_thread_end(struct reader_thread *reader, bool failed)
{
    struct io_thread *io = &reader->io;
    if (!io->pool)
        return;
    if (failed) {
        queue_stop(&io->idle);
        queue_stop(&io->ready);
    } else if (!io->is_running && io->status == STATUS_OK) {
        read_rest(reader);
    }
    io_thread_join(io);
}

void reader_thread_close(struct reader_thread *reader)
{
    io_thread_close(&reader->io);
    free(reader->carry);
}

/* ---------------------------------------------------------------- writer */

/* Encodes a slot and returns it to the ring. Returns false after a failure. */
static bool write_slot(struct writer_thread *writer, struct slot *slot)
{
    struct error error = {.text = ""};
    enum status status = staging_wait(slot->staging, &error);
    if (status == STATUS_OK) {
        const double since = clock_seconds();
        status = writer_write(writer->page->writer, slot->staging->host, writer->io.pitch,
                              (uint32_t)(slot->rows.end - slot->rows.begin), &error);
        timing_add(writer->page->timing, PHASE_ENCODE, "encode", slot->slice, since);
    }
    if (status == STATUS_OK)
        queue_push(&writer->io.idle, slot);
    else
        io_thread_fail(&writer->io, &error);
    return status == STATUS_OK;
}

/* Encodes slots until the queue ends. */
static void *writer_thread_run(void *context)
{
    struct writer_thread *writer = context;
    struct slot *slot = queue_pop(&writer->io.ready);
    while (slot && write_slot(writer, slot))
        slot = queue_pop(&writer->io.ready);
    return NULL;
}

enum status writer_thread_open(struct writer_thread *writer, const struct page *page, struct error *error)
{
    const struct shape *shape = plan_output(page->plan);
    const double since = clock_seconds();
    writer->page = page;
    enum status status = writer_begin_page(page->writer, &page->out, error);
    if (status != STATUS_OK)
        return status;
    timing_add(page->timing, PHASE_ENCODE, "begin", -1, since);
    status = io_thread_open(&writer->io, &page->run->stagings,
                            transfer_pitch(shape->width, shape->channels, page->output_conversion.type),
                            page->plan->slice_rows, page->plan->slices > 1, error);
    if (status == STATUS_OK)
        io_thread_start(&writer->io, writer_thread_run, writer);
    return status;
}

struct slot *writer_thread_pop(struct writer_thread *writer)
{
    return queue_pop(&writer->io.idle);
}

enum status writer_thread_push(struct writer_thread *writer, struct slot *slot, struct error *error)
{
    const size_t rows = (size_t)(slot->rows.end - slot->rows.begin);
    enum status status = staging_map(slot->staging, writer->io.pitch * rows, error);
    slot->mark = event_log_mark(writer->page->run->device->event_log);
    if (status == STATUS_OK && writer->io.is_running)
        queue_push(&writer->io.ready, slot);
    else if (status == STATUS_OK)
        write_slot(writer, slot); /* writer_thread_end reports a failure */
    return status;
}

void writer_thread_end(struct writer_thread *writer)
{
    if (!writer->io.pool)
        return;
    queue_end(&writer->io.ready);
    io_thread_join(&writer->io);
}

void writer_thread_close(struct writer_thread *writer)
{
    io_thread_close(&writer->io);
}
