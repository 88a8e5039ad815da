#include "chain/column.h"

#include "base/thread.h"

enum status column_open(struct column *column, struct staging_pool *pool, size_t size, bool threaded,
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

void column_start(struct column *column, void *(*work)(void *), void *context)
{
    struct error ignored = {.text = ""};
    column->threaded =
        column->threaded && thread_start(&column->thread, work, context, &ignored) == STATUS_OK;
}

void column_fail(struct column *column, const struct error *error)
{
    column->status = STATUS_FAILED;
    column->error = *error;
    queue_stop(&column->idle);
    queue_end(&column->ready); /* what was read before the failure is still good */
}

void column_stop(struct column *column)
{
    queue_stop(&column->idle);
    queue_stop(&column->ready);
}

void column_join(struct column *column)
{
    if (column->threaded)
        pthread_join(column->thread, NULL);
    column->threaded = false;
}

void column_close(struct column *column)
{
    if (!column->pool)
        return;
    for (int i = 0; i < COLUMN_SLOTS; i++)
        staging_release(column->pool, column->slots[i].staging);
    queue_free(&column->idle);
    queue_free(&column->ready);
    column->pool = NULL;
}
