#include "chain/writing.h"

#include "base/clock.h"

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
