/* The pool of workers, which distributes the jobs of a list to them.
 *
 *     worker_pool_open ─▶ worker_pool_run ─▶ worker_pool_sum ─▶ report_times ─▶ worker_pool_close
 *
 * The pool owns its workers and borrows list and results. Thread safety: all functions are called by the main
 * thread, which is one of the workers. */
#ifndef CLIMG_BATCH_WORKER_POOL_H
#define CLIMG_BATCH_WORKER_POOL_H

#include "batch/files.h"
#include "batch/report.h"
#include "batch/worker.h"

struct pool_thread;

struct worker_pool {
    /* Constant while workers run. */
    struct worker_context context; /* of all workers */
    const struct job_list *list;
    int devices;       /* number of devices */
    char (*names)[12]; /* their numbers, as values of --device; NULL: the command's value */
    int count;         /* number of workers */
    struct pool_thread *threads;
    struct worker **leaders; /* by device: the first worker on it */
    bool is_alone;           /* the threads have ended; one worker does the deferred jobs */

    pthread_mutex_t lock; /* protects the following fields, and most of *results */
    struct results *results;
    size_t next;               /* index of the first job that is not taken yet */
    struct job *deferred;      /* list of jobs to be done when nothing else is left */
    struct job **deferred_end; /* the `next` of its last job */
    int working;               /* number of devices that are not dropped */
    bool *is_dropped;          /* by device: it failed and is not used any more */
};

/* Decides the number of workers, their devices, and their shares of memory. Worker i works on device i %
 * devices. Opens no device. Call worker_pool_close also after a failure. `provenance` may be NULL. */
enum status worker_pool_open(struct worker_pool *pool, const struct command *command, const char *provenance,
                             const struct job_list *list, struct results *results, struct error *error);

/* Does every job of the list, except those that `resume` finds done, which may be NULL. Results are added in
 * the order in which jobs end. If one of several devices fails it is dropped, and its unfinished jobs are
 * done on others. */
void worker_pool_run(struct worker_pool *pool, const struct resume *resume);

/* After worker_pool_run: makes the output of a stack, whose inputs were the jobs, and adds its result. */
void worker_pool_merge(struct worker_pool *pool, struct stack *stack);

/* Adds the measurements of all workers on a device to its leader. Returns the leaders, one for each device,
 * which belong to the pool. Call it once, after the work. */
struct worker *const *worker_pool_sum(struct worker_pool *pool);

/* Closes all workers, followers before their leaders, as they share its device. */
void worker_pool_close(struct worker_pool *pool);

#endif
