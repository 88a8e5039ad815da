/* A pool of workers, which take the jobs of a list.
 *
 *     worker_pool_open ─▶ _run ─▶ _add_measurements ─▶ report_times ─▶ worker_pool_close
 *
 * The pool owns its workers and borrows list and results. Thread safety: the main thread calls all functions;
 * in worker_pool_run it runs the first worker. */
#ifndef CLIMG_BATCH_WORKER_POOL_H
#define CLIMG_BATCH_WORKER_POOL_H

#include "batch/files.h"
#include "batch/report.h"
#include "batch/worker.h"
#include "device/choose.h"

struct pool_thread;

struct worker_pool {
    /* Constant while workers run. */
    struct worker_context context; /* shared by all workers */
    const struct job_list *list;
    int device_count;
    char names[MAX_DEVICES][12]; /* values of --device, one for each device; "": the command's value */
    int worker_count;
    struct pool_thread *threads;
    struct worker *leaders[MAX_DEVICES]; /* by device: the first worker on it */
    bool is_alone; /* the other threads have ended; one worker at a time does the deferred jobs */

    pthread_mutex_t lock; /* protects the following fields, and most of *results */
    struct results *results;
    size_t next;                  /* index of the first job that is not taken yet */
    size_t deferred;              /* number of jobs to be done at the end, whose is_deferred is true */
    int working_devices;          /* number of devices that were not dropped */
    bool is_dropped[MAX_DEVICES]; /* by device: it failed and is no longer used */
};

/* Decides the number of workers, their devices, and their shares of memory. Worker i uses device i % devices.
 * Opens no device. Call worker_pool_close also after a failure. `provenance` may be NULL. */
enum status worker_pool_open(struct worker_pool *pool, const struct command *command, const char *provenance,
                             const struct job_list *list, struct results *results, struct error *error);

/* Does all jobs of the list, and adds their results in the order in which they end. Jobs that `resume` finds
 * done are skipped; it may be NULL. If one of several devices fails, it is dropped, and its unfinished jobs
 * are done on the others. */
void worker_pool_run(struct worker_pool *pool, const struct resume *resume);

/* After worker_pool_run, for a stack: converts the merged picture to the output and adds its result, unless
 * the work was stopped. */
void worker_pool_merge(struct worker_pool *pool, struct stack *stack);

/* Adds the measurements of all workers on a device to its leader. Returns the leaders, one for each device,
 * which belong to the pool. Call it once, after the work. */
struct worker *const *worker_pool_add_measurements(struct worker_pool *pool);

/* Closes all workers, followers before their leaders, as they share its device. */
void worker_pool_close(struct worker_pool *pool);

#endif
