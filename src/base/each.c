#include "base/each.h"

#include <limits.h>
#include <stdatomic.h>

struct pieces {
    struct workers *workers;
    piece_work *work;
    void *context;
    int count;
    atomic_int next;
    int failed; /* the lowest index that did; the workers' mutex guards these two */
    struct error *error;
};

static void note_failure(struct pieces *pieces, int index, const struct error *error)
{
    atomic_store(&pieces->next, pieces->count);
    pthread_mutex_lock(&pieces->workers->mutex);
    if (index < pieces->failed) {
        pieces->failed = index;
        *pieces->error = *error;
    }
    pthread_mutex_unlock(&pieces->workers->mutex);
}

static void take_pieces(void *argument)
{
    struct pieces *pieces = argument;
    for (int i; (i = atomic_fetch_add(&pieces->next, 1)) < pieces->count;) {
        struct error error;
        if (pieces->work(pieces->context, i, &error) != STATUS_OK) {
            note_failure(pieces, i, &error);
            return;
        }
    }
}

enum status workers_each(struct workers *workers, int count, piece_work *work, void *context,
                         struct error *error)
{
    struct task tasks[WORKERS_MAX - 1];
    struct pieces pieces = {.workers = workers,
                            .work = work,
                            .context = context,
                            .count = count,
                            .failed = INT_MAX,
                            .error = error};
    int helpers = workers_threads(workers);
    helpers = helpers < count - 1 ? helpers : count - 1;
    for (int i = 0; i < helpers; i++) {
        tasks[i] = (struct task){.run = take_pieces, .argument = &pieces};
        workers_submit(workers, &tasks[i]);
    }
    take_pieces(&pieces);
    for (int i = 0; i < helpers; i++)
        workers_wait(workers, &tasks[i]);
    return pieces.failed == INT_MAX ? STATUS_OK : STATUS_FAILED;
}
