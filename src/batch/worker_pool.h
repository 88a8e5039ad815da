/* Workers, and the pool that hands the jobs of a list to them. */
#ifndef CLIMG_BATCH_WORKER_POOL_H
#define CLIMG_BATCH_WORKER_POOL_H

#include "batch/files.h"
#include "batch/report.h"
#include "batch/worker.h"

struct pool_thread;

struct worker_pool {
    struct worker_context context; /* of all workers */
    const struct list *list;
    struct results *results;
    pthread_mutex_t lock; /* protects everything below, and the results */
    size_t next;          /* the first job that is not taken yet */
    struct job *deferred; /* to be done when nothing else is left */
    struct job **deferred_end;
    bool is_alone;     /* one worker is left, which does the deferred jobs */
    char (*names)[12]; /* of the devices, as for --device; NULL: the one that the command names */
    int devices;
    int working;      /* devices that still work */
    bool *is_dropped; /* by device: it failed and is left out */
    struct pool_thread *threads;
    int count;
    struct worker **leaders; /* by device: the first worker on it */
};

/* Decides the number of workers, their devices, and each one's share of memory. With --device all each device
 * has a leader. worker_pool_close is needed also after a failure. */
enum status worker_pool_open(struct worker_pool *pool, const struct command *command, const char *provenance,
                             const struct list *list, struct results *results, struct error *error);

/* Does every job of the list that `resume` (NULL: none) does not find done. The calling thread is one of the
 * workers. If one of several devices fails it is left out, and its unfinished jobs are done elsewhere. */
void worker_pool_run(struct worker_pool *pool, const struct resume *resume);

/* Adds what all workers on a device measured to its first worker. Returns these first workers, one for each
 * device, which belong to the pool. Call it once, after the work. */
struct worker *const *worker_pool_sum(struct worker_pool *pool);

void worker_pool_close(struct worker_pool *pool);

#endif
