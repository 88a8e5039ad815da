#include "chain/columns.h"

#include "base/threads.h"
#include "base/timing.h"

#include <stdlib.h>
#include <string.h>

/* Slots of `size` bytes, all idle: one, or where there is a thread several. column_close is needed also after
 * a failure. */
static enum status column_open(struct column *column, struct staging_pool *pool, size_t size, bool threaded,
                               struct error *error)
{
    *column = (struct column){.pool = pool, .threaded = threaded};
    queue_init(&column->idle);
    queue_init(&column->ready);
    for (int i = 0; i < (threaded ? COLUMN_SLOTS : 1); i++) {
        column->slots[i].staging = staging_acquire(pool, size, error);
        if (!column->slots[i].staging)
            return STATUS_FAILED;
        queue_push(&column->idle, &column->slots[i]);
    }
    return STATUS_OK;
}

/* Starts the thread if there is to be one. Where the system has none, the calling thread does the work. */
static void column_start(struct column *column, void *(*work)(void *), void *context)
{
    struct error ignored = {.text = ""};
    column->threaded =
        column->threaded && thread_start(&column->thread, work, context, &ignored) == STATUS_OK;
}

/* The column's own failure: nobody waits for it, or works for it, any more. */
static void column_fail(struct column *column, const struct error *error)
{
    column->status = STATUS_FAILED;
    column->error = *error;
    queue_stop(&column->idle);
    queue_end(&column->ready); /* what was read before the failure is still good */
}

static void column_stop(struct column *column)
{
    queue_stop(&column->idle);
    queue_stop(&column->ready);
}

static void column_join(struct column *column)
{
    if (column->threaded)
        pthread_join(column->thread, NULL);
    column->threaded = false;
}

static void column_close(struct column *column)
{
    if (!column->pool)
        return;
    for (int i = 0; i < COLUMN_SLOTS; i++)
        staging_release(column->pool, column->slots[i].staging);
    queue_free(&column->idle);
    queue_free(&column->ready);
    column->pool = NULL;
}

/* ---------------------------------------------------------------- reading */

/* Between pieces of about this many bytes the reader looks whether it should stop: input may come slowly. */
enum { PIECE_SIZE = 1 << 20 };

static enum status decode(struct reading *reading, unsigned char *to, int rows, struct error *error)
{
    int piece = reading->pitch < PIECE_SIZE ? (int)(PIECE_SIZE / reading->pitch) : 1;
    double since = clock_seconds();
    enum status status = STATUS_OK;
    while (status == STATUS_OK && rows > 0 && !queue_stopped(&reading->column.idle)) {
        int some = rows < piece ? rows : piece;
        status = reader_read(reading->page->reader, to, reading->pitch, (uint32_t)some, error);
        reading->next_row += some;
        rows -= some;
        to += (size_t)some * reading->pitch;
    }
    timing_charge(reading->page->timing, PART_DECODE, "decode", reading->slice, since);
    return status;
}

static int count_slices(const struct reading *reading)
{
    const struct plan *plan = reading->page->plan;
    return plan->moved > 0 ? 1 : plan->slices;
}

/* Rows that nobody needs, as many at once as the slot holds. Those beside a part that is cut out are not
 * looked at; others are read to find damage. */
static enum status skip(struct reading *reading, int end, unsigned char *scratch, struct error *error)
{
    const int most = reading->pitch < PIECE_SIZE ? (int)(PIECE_SIZE / reading->pitch) : 1,
              room = reading->page->plan->input_rows;
    const double since = clock_seconds();
    enum status status = STATUS_OK;
    while (status == STATUS_OK && reading->next_row < end && !queue_stopped(&reading->column.idle)) {
        int some = end - reading->next_row;
        some = some < room ? some : room;
        some = some < most ? some : most;
        status = (reading->page->plan->moved > 0 ? reader_skip : reader_read)(
            reading->page->reader, scratch, reading->pitch, (uint32_t)some, error);
        reading->next_row += some;
    }
    timing_charge(reading->page->timing, PART_DECODE, "skip", reading->slice, since);
    return status;
}

/* Keeps what the next slice will want of this one's rows. */
static void carry_over(struct reading *reading, const unsigned char *host, struct rows held)
{
    if (reading->slice + 1 >= count_slices(reading))
        return;
    struct rows next = plan_slice_input(reading->page->plan, reading->slice + 1);
    reading->carried = (struct rows){next.begin < held.end ? next.begin : held.end, held.end};
    memcpy(reading->carry, host + (size_t)(reading->carried.begin - held.begin) * reading->pitch,
           (size_t)(held.end - reading->carried.begin) * reading->pitch);
}

static enum status fill(struct reading *reading, struct slot *slot, struct error *error)
{
    struct rows wanted = plan_slice_input(reading->page->plan, reading->slice), carried = reading->carried;
    enum status status = staging_wait(slot->staging, error);
    if (status != STATUS_OK)
        return status;
    unsigned char *host = slot->staging->host;
    size_t have = carried.end > wanted.begin ? (size_t)(carried.end - wanted.begin) : 0;
    if (have > 0)
        memcpy(host, reading->carry + (size_t)(wanted.begin - carried.begin) * reading->pitch,
               have * reading->pitch);
    status = skip(reading, wanted.begin, host, error);
    if (status == STATUS_OK)
        status = decode(reading, host + have * reading->pitch, wanted.end - wanted.begin - (int)have, error);
    if (status != STATUS_OK)
        return status;
    carry_over(reading, host, wanted);
    slot->slice = reading->slice++;
    slot->rows = wanted;
    return STATUS_OK;
}

/* NULL: failed, which the column knows, or stopped. */
static struct slot *fill_next(struct reading *reading)
{
    struct slot *slot = queue_pop(&reading->column.idle);
    struct error error = {.text = ""};
    if (!slot || fill(reading, slot, &error) == STATUS_OK)
        return slot;
    column_fail(&reading->column, &error);
    return NULL;
}

/* The last slot, which comes back, takes the rows below the last slice one after the other. */
static void read_rest(struct reading *reading)
{
    struct error error = {.text = ""};
    int height = reading->page->plan->shapes[0].height;
    if (reading->next_row >= height)
        return;
    struct slot *slot = queue_pop(&reading->column.idle);
    if (!slot)
        return;
    enum status status = staging_wait(slot->staging, &error);
    if (status == STATUS_OK)
        status = skip(reading, height, slot->staging->host, &error);
    if (status != STATUS_OK)
        column_fail(&reading->column, &error);
}

static void *read_slices(void *context)
{
    struct reading *reading = context;
    struct slot *slot = NULL;
    for (int i = 0; i < count_slices(reading) && (i == 0 || slot); i++) {
        slot = fill_next(reading);
        if (slot)
            queue_push(&reading->column.ready, slot);
    }
    if (slot)
        read_rest(reading);
    queue_end(&reading->column.ready);
    return NULL;
}

enum status reading_begin(struct reading *reading, const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    const struct shape *shape = &plan->shapes[0];
    *reading = (struct reading){.page = page};
    bool threaded = count_slices(reading) > 1;
    reading->pitch = transfer_pitch(shape->width, shape->channels, page->from.type);
    enum status status = column_open(&reading->column, &page->run->stagings,
                                     reading->pitch * (size_t)plan->input_rows, threaded, error);
    if (status != STATUS_OK)
        return status;
    reading->carry = allocate(reading->pitch * (size_t)plan->overlap_rows, "rows between slices", error);
    if (!reading->carry)
        return STATUS_FAILED;
    column_start(&reading->column, read_slices, reading);
    return STATUS_OK;
}

struct slot *reading_next(struct reading *reading)
{
    return reading->column.threaded ? queue_pop(&reading->column.ready) : fill_next(reading);
}

void reading_return(struct reading *reading, struct slot *slot)
{
    queue_push(&reading->column.idle, slot);
}

enum status reading_end(struct reading *reading, bool stop, struct error *error)
{
    struct column *column = &reading->column;
    if (!column->pool)
        return STATUS_OK;
    if (stop)
        column_stop(column);
    else if (!column->threaded && column->status == STATUS_OK)
        read_rest(reading);
    column_join(column);
    if (column->status != STATUS_OK)
        *error = column->error;
    return column->status;
}

void reading_free(struct reading *reading)
{
    column_close(&reading->column);
    free(reading->carry);
    reading->carry = NULL;
}

/* ---------------------------------------------------------------- writing */

static enum status encode(struct writing *writing, struct slot *slot, struct error *error)
{
    const struct page *page = writing->page;
    enum status status = staging_wait(slot->staging, error);
    if (status != STATUS_OK)
        return status;
    double since = clock_seconds();
    status = writer_write(page->writer, slot->staging->host, writing->pitch,
                          (uint32_t)(slot->rows.end - slot->rows.begin), error);
    timing_charge(page->timing, PART_ENCODE, "encode", slot->slice, since);
    return status;
}

/* False once writing failed. */
static bool write_slot(struct writing *writing, struct slot *slot)
{
    struct error error = {.text = ""};
    if (encode(writing, slot, &error) != STATUS_OK) {
        column_fail(&writing->column, &error);
        return false;
    }
    queue_push(&writing->column.idle, slot);
    return true;
}

static void *write_slices(void *context)
{
    struct writing *writing = context;
    struct slot *slot = queue_pop(&writing->column.ready);
    while (slot && write_slot(writing, slot))
        slot = queue_pop(&writing->column.ready);
    return NULL;
}

enum status writing_begin(struct writing *writing, const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    const struct shape *shape = plan_output(plan);
    *writing = (struct writing){.page = page};
    writing->pitch = transfer_pitch(shape->width, shape->channels, page->to.type);
    enum status status = column_open(&writing->column, &page->run->stagings,
                                     writing->pitch * (size_t)plan->slice, plan->slices > 1, error);
    if (status != STATUS_OK)
        return status;
    column_start(&writing->column, write_slices, writing);
    return STATUS_OK;
}

struct slot *writing_next(struct writing *writing)
{
    return queue_pop(&writing->column.idle);
}

void writing_deliver(struct writing *writing, struct slot *slot)
{
    if (writing->column.threaded)
        queue_push(&writing->column.ready, slot);
    else
        write_slot(writing, slot);
}

enum status writing_end(struct writing *writing, struct error *error)
{
    struct column *column = &writing->column;
    if (!column->pool)
        return STATUS_OK;
    queue_end(&column->ready);
    column_join(column);
    if (column->status != STATUS_OK)
        *error = column->error;
    return column->status;
}

void writing_free(struct writing *writing)
{
    column_close(&writing->column);
}
