#include "base/ordered.h"

#include <stdlib.h>

enum status ordered_open(struct ordered *ordered, int threads, size_t count, size_t size,
                         void (*run)(void *slot), struct error *error)
{
    *ordered = (struct ordered){.size = size, .count = count};
    ordered->tasks = allocate_zeroed(count, sizeof *ordered->tasks, "work for threads", error);
    ordered->slots = ordered->tasks == NULL ? NULL : allocate_zeroed(count, size, "work for threads", error);
    if (ordered->slots == NULL)
        return STATUS_FAILED;
    for (size_t i = 0; i < count; i++)
        ordered->tasks[i] = (struct task){.run = run, .argument = ordered->slots + i * size};
    workers_open(&ordered->workers, threads);
    return STATUS_OK;
}

void *ordered_slot(const struct ordered *ordered, size_t piece)
{
    return ordered->slots + piece % ordered->count * ordered->size;
}

bool ordered_is_full(const struct ordered *ordered)
{
    return ordered->submitted - ordered->taken == ordered->count;
}

void ordered_submit(struct ordered *ordered, bool alone)
{
    struct task *task = &ordered->tasks[ordered->submitted++ % ordered->count];
    if (alone)
        task->run(task->argument);
    else
        workers_submit(&ordered->workers, task);
}

void *ordered_oldest(struct ordered *ordered)
{
    if (ordered->taken == ordered->submitted)
        return NULL;
    workers_wait(&ordered->workers, &ordered->tasks[ordered->taken % ordered->count]);
    return ordered_slot(ordered, ordered->taken);
}

void ordered_take(struct ordered *ordered)
{
    ordered->taken++;
}

void ordered_close(struct ordered *ordered, void (*release)(void *slot))
{
    if (ordered->slots != NULL)
        workers_close(&ordered->workers);
    for (size_t i = 0; ordered->slots != NULL && i < ordered->count; i++)
        release(ordered_slot(ordered, i));
    free(ordered->slots);
    free(ordered->tasks);
    *ordered = (struct ordered){.count = 0};
}
