/* Implements worker_pool.h.
 *
 *     list ─▶ take ─▶ convert alone or in a group ─▶ finish ─┬─ done, failed ─▶ results
 *      ▲                                                     └─ deferred
 *      └── when nothing else is left: one worker, all memory ◀──┘
 *
 * A worker that is free takes the next job; small images of one shape form a group (group.c). A job ends in
 * one of three ways: done, failed or deferred. It is deferred if it ran out of memory while there were other
 * workers, or if its device failed and another one works. Deferred jobs are done at the end, one at a time,
 * by one worker that has all memory, in lower and lower slices until they fit. An error that all other jobs
 * would share (a full disk, no device) ends the batch.
 *
 * Tried and given up: returning the jobs of a failed device to the list at once. Workers would have to wait
 * at the end of the list for returned jobs, for a case that hardly happens. */
#include "batch/worker_pool.h"

#include "base/threads.h"
#include "batch/convert.h"
#include "batch/group.h"
#include "batch/stack.h"
#include "image/output/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

struct pool_thread {
    struct worker_pool *pool;
    struct worker worker;
    struct job_group group;
    int device; /* index of its device */
    pthread_t thread;
    bool is_started;
};

/* Returns the next job, or NULL if none is left for this worker: the list is done, the batch has ended, or
 * the worker's device was dropped. */
static struct job *pool_take(struct pool_thread *thread)
{
    struct worker_pool *pool = thread->pool;
    struct job *job = NULL;
    pthread_mutex_lock(&pool->lock);
    if (!pool->is_dropped[thread->device] && !pool->results->is_stopped && pool->next < pool->list->count)
        job = &pool->list->jobs[pool->next++];
    pthread_mutex_unlock(&pool->lock);
    return job;
}

/* ---------------------------------------------------------------- how a job ends */

/* Drops the worker's device if another one is left. Returns true if it is dropped, by this call or before.
 * Call it with the lock held. */
static bool drop_device(struct pool_thread *thread)
{
    struct worker_pool *pool = thread->pool;
    struct error error = {.text = ""};
    if (pool->is_dropped[thread->device] || pool->working_devices == 1)
        return pool->is_dropped[thread->device];
    pool->working_devices--;
    pool->is_dropped[thread->device] = true;
    fail(&error, STATUS_FAILED, "%s: the device fails and is left out; the others go on",
         thread->worker.device.name[0] ? thread->worker.device.name : thread->worker.opener.name);
    results_print(pool->results, &error);
    return true;
}

/* True if all remaining jobs would fail for the same reason. SCOPE_ALL and SCOPE_STACK: they would.
 * SCOPE_DISK: if there is an output folder, or all outputs are in one folder. SCOPE_FOLDER: if all outputs
 * are in one folder. */
static bool ends_all(const struct job_list *list, const struct result *result)
{
    const enum error_scope scope = result->error.scope;
    const char *first = list->jobs[0].output;
    const int length = folder_length(first);
    if (result->status == STATUS_OK || scope == SCOPE_FILE)
        return false;
    if (scope == SCOPE_ALL || scope == SCOPE_STACK || (scope == SCOPE_DISK && list->output))
        return true;
    for (size_t i = 1; i < list->count; i++) {
        const char *output = list->jobs[i].output;
        if (folder_length(output) != length || strncmp(output, first, (size_t)length) != 0)
            return false;
    }
    return true;
}

/* Reports the job's result. A job that can begin again is deferred instead if it ran out of memory next to
 * other workers, or if its device was dropped. With several devices, tests the device after each failure. */
static void finish_job(struct pool_thread *thread, struct job *job, const struct result *result)
{
    struct worker_pool *pool = thread->pool;
    const bool can_defer = result->status != STATUS_OK && job_can_begin_again(job);
    const bool device_fails = can_defer && pool->device_count > 1 && !worker_device_works(&thread->worker);
    pthread_mutex_lock(&pool->lock);
    const bool is_deferred = (device_fails && drop_device(thread)) ||
                             (can_defer && result->error.is_out_of_memory && !pool->is_alone);
    if (is_deferred) {
        job->is_deferred = true;
        pool->deferred++;
    } else {
        results_add(pool->results, job, result);
        pool->results->is_stopped = pool->results->is_stopped || ends_all(pool->list, result);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* ---------------------------------------------------------------- work */

/* If an error has ended the batch since the job was taken, closes the job and returns true. */
static bool close_if_ended(struct worker_pool *pool, struct job *job)
{
    pthread_mutex_lock(&pool->lock);
    const bool is_stopped = pool->results->is_stopped;
    pthread_mutex_unlock(&pool->lock);
    if (!is_stopped)
        return false;
    job_close(job);
    if (job_is_stack_input(job))
        stack_pass_turn(job);
    return true;
}

/* Takes more jobs while they fit the group, runs the group, and does jobs that failed in it again, alone.
 * Returns the job that did not fit, or NULL; the caller does it next. Adds the time already spent on that job
 * to *result. */
static struct job *work_on_group(struct pool_thread *thread, struct result *result)
{
    struct job_group *group = &thread->group;
    struct job *misfit = NULL;
    while (!misfit && group->count < group->max_count) {
        struct job *job = pool_take(thread);
        if (!job)
            break;
        misfit = job_group_add(group, job, result) ? NULL : job;
    }
    job_group_finish(group, misfit != NULL);
    for (int i = 0; i < group->count; i++) {
        struct group_item *item = &group->items[i];
        if (!item->is_finished && close_if_ended(thread->pool, item->job))
            continue;
        if (!item->is_finished)
            convert(&thread->worker, item->job, &item->result);
        finish_job(thread, item->job, &item->result);
    }
    return misfit;
}

/* The function of a worker's thread: does jobs until there are no more, in groups if all workers have enough
 * jobs. */
static void *work(void *context)
{
    struct pool_thread *thread = context;
    struct worker_pool *pool = thread->pool;
    struct job *job = pool_take(thread);
    /* Begins with the time already spent on `job`, if that was opened for a group that it did not fit. */
    struct result result = {.group = 1};
    while (job) {
        struct job *misfit = NULL;
        /* A group has at most this job and an equal share of the remaining ones, so that no worker is left
         * without jobs. */
        pthread_mutex_lock(&pool->lock);
        const size_t share = 1 + (pool->list->count - pool->next) / (size_t)pool->worker_count;
        pthread_mutex_unlock(&pool->lock);
        if (share > 1 && job_group_begin(&thread->group, job, &result, share)) {
            misfit = work_on_group(thread, &result);
        } else {
            if (!close_if_ended(pool, job)) {
                convert(&thread->worker, job, &result);
                finish_job(thread, job, &result);
            }
            result = (struct result){.group = 1};
        }
        job = misfit ? misfit : pool_take(thread);
    }
    return NULL;
}

/* Does the deferred jobs, one at a time, with all memory. While a job runs out of memory, it is done again
 * with half as many rows in a slice. When lower slices no longer help, it is done with one thread: several
 * threads decode and compress ahead, and use more memory the higher --memory-limit is, so the limit that the
 * message suggests would be too low. The other workers have ended, so no lock is needed for the list. */
static void work_alone(struct pool_thread *thread)
{
    struct worker_pool *pool = thread->pool;
    struct worker *worker = &thread->worker;
    const int threads = worker->share.threads;
    worker_take_all_memory(worker);
    for (size_t i = 0; i < pool->list->count; i++) {
        struct job *job = &pool->list->jobs[i];
        struct result result = {.group = 1};
        if (!job->is_deferred || pool->is_dropped[thread->device] || pool->results->is_stopped)
            continue;
        job->is_deferred = false;
        pool->deferred--;
        for (;;) {
            worker_clear(worker);
            convert(worker, job, &result);
            if (result.status == STATUS_OK || !result.error.is_out_of_memory ||
                (result.slice < 2 && worker->share.threads == 1))
                break;
            if (result.slice < 2)
                worker->share.threads = 1;
            worker->run.limits.slice = result.slice < 2 ? result.slice : result.slice / 2;
        }
        worker->share.threads = threads;
        worker->run.limits.slice = 0;
        finish_job(thread, job, &result);
    }
}

void worker_pool_run(struct worker_pool *pool, const struct resume *resume)
{
    pool->context.resume = resume;
    for (int i = 1; i < pool->worker_count; i++) {
        struct pool_thread *thread = &pool->threads[i];
        struct error ignored = {.text = ""}; /* without the thread, other workers do the jobs */
        thread->is_started = thread_start(&thread->thread, work, thread, &ignored) == STATUS_OK;
    }
    work(&pool->threads[0]);
    for (int i = 1; i < pool->worker_count; i++)
        if (pool->threads[i].is_started)
            pthread_join(pool->threads[i].thread, NULL);
    /* If threads of the only working device could not be started, do the remaining jobs in this one. */
    for (int i = 0; i < pool->worker_count; i++)
        work(&pool->threads[i]);
    pool->is_alone = true;
    for (int i = 0; i < pool->worker_count && pool->deferred; i++)
        worker_clear(&pool->threads[i].worker);
    for (int i = 0; i < pool->worker_count && pool->deferred; i++)
        work_alone(&pool->threads[i]);
}

void worker_pool_merge(struct worker_pool *pool, struct stack *stack)
{
    struct worker *worker = &pool->threads[0].worker;
    struct result result = {.group = 1};
    if (pool->results->is_stopped)
        return;
    stack->after.prepare_seconds += stack->before.prepare_seconds; /* report_times reads them here */
    pool->context.chain = &stack->after;
    worker->share.threads = settings_threads(stack->settings);
    worker_take_all_memory(worker);
    worker_clear(worker);
    worker->run.prebuilt = false; /* other stages follow */
    convert(worker, &stack->result, &result);
    if (result.status == STATUS_OK) {
        stack_describe(stack, pool->results->left_out, result.found, sizeof result.found);
        if (stack->settings->verbose)
            job_print(&stack->result, "%s", result.found);
    }
    results_add(pool->results, &stack->result, &result);
}

/* ---------------------------------------------------------------- setting up */

/* Sets the number of devices and their names: one, all of the best kind (--device all), or a list (--device
 * 0,1). A name with a comma may be the name of one device. */
static enum status choose_devices(struct worker_pool *pool, const struct settings *settings,
                                  struct error *error)
{
    const struct job_list *list = pool->list;
    const bool all = strcasecmp(settings->device, "all") == 0;
    /* A missing input may be a misspelled folder: the message must be about it, not about --device. */
    const bool has_several = list->several || (list->count > 0 && list->jobs[0].stat_errno != 0);
    int numbers[MAX_DEVICES];
    enum status status = STATUS_OK;
    pool->device_count = 1;
    if (!all && !strchr(settings->device, ','))
        return STATUS_OK;
    if (has_several || !all)
        status = device_resolve_list(settings->device, &settings->environment, numbers, &pool->device_count,
                                     error);
    if (status == STATUS_OK && !has_several && (all || pool->device_count > 1))
        return fail(error, STATUS_USAGE, "--device %s is for several files; a single file needs one device",
                    settings->device);
    for (int i = 0; status == STATUS_OK && i < pool->device_count; i++)
        snprintf(pool->names[i], sizeof pool->names[i], "%d", numbers[i]);
    return status;
}

/* Returns the number of workers: one for each thread of --jobs and at least one for each device, but at most
 * one for each job, and no more than file descriptors and a stack's memory allow. With --trace it is one. */
static int worker_pool_choose_count(const struct worker_pool *pool, const struct settings *settings)
{
    /* Numbers of file descriptors. A worker may have an input, an output, its lock and two temporary files
     * open. The driver and the report use others, and the parent process may have left some open. */
    enum { EACH = 5, OTHERS = 40 };
    struct rlimit limit;
    int count = settings_threads(settings), most = THREADS_MAX;
    if (settings->trace)
        return 1;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        most = limit.rlim_cur < OTHERS + 2 * EACH
                   ? 1
                   : (int)fmin((double)(limit.rlim_cur - OTHERS) / EACH, THREADS_MAX);
    count = count > pool->device_count ? count : pool->device_count;
    count = count < most ? count : most;
    const struct job *first = pool->list->count > 0 ? pool->list->jobs : NULL;
    if (first && first->stack && first->stack->max_workers < count)
        count = first->stack->max_workers;
    const size_t jobs = first ? pool->list->count : 1; /* for an empty shard, too */
    return jobs < (size_t)count ? (int)jobs : count;
}

enum status worker_pool_open(struct worker_pool *pool, const struct command *command, const char *provenance,
                             const struct job_list *list, struct results *results, struct error *error)
{
    const struct settings *settings = &command->settings;
    *pool = (struct worker_pool){.context = {.settings = settings,
                                             .chain = &command->chain,
                                             .provenance = provenance,
                                             .progress = &results->progress},
                                 .list = list,
                                 .results = results};
    pthread_mutex_init(&pool->lock, NULL);
    enum status status = choose_devices(pool, settings, error);
    if (status != STATUS_OK)
        return status;
    const int count = worker_pool_choose_count(pool, settings), jobs = settings_threads(settings);
    pool->device_count = pool->device_count < count ? pool->device_count : count;
    pool->working_devices = pool->device_count;
    pool->threads = allocate_zeroed((size_t)count, sizeof *pool->threads, "the workers", error);
    if (!pool->threads)
        return STATUS_FAILED;
    pool->worker_count = count;

    /* Initialise the workers. The first one on each device is its leader. */
    for (int i = 0; i < count; i++) {
        struct pool_thread *thread = &pool->threads[i];
        struct worker *worker = &thread->worker, *leader = &pool->threads[i % pool->device_count].worker;
        const int device = thread->device = i % pool->device_count;
        thread->pool = pool;
        pool->leaders[device] = leader;
        worker_init(worker, &pool->context, leader == worker ? NULL : leader,
                    pool->names[device][0] ? pool->names[device] : settings->device);
        worker->share.threads = jobs > count ? jobs / count : 1;
        /* Rounded up, as 0 means no limit. */
        const uint64_t memory = settings->memory_limit, workers = (uint64_t)count;
        worker->share.memory_limit = memory / workers + (memory % workers > 0);
        worker->share.workers = (count - 1 - device) / pool->device_count + 1; /* workers on this device */
        thread->group = (struct job_group){.worker = worker, .expected = FIRST_GROUP};
    }
    return STATUS_OK;
}

struct worker *const *worker_pool_add_measurements(struct worker_pool *pool)
{
    for (int i = pool->device_count; i < pool->worker_count; i++)
        worker_add_measurements(pool->leaders[i % pool->device_count], &pool->threads[i].worker);
    return pool->leaders;
}

void worker_pool_close(struct worker_pool *pool)
{
    for (int i = pool->worker_count - 1; i >= 0; i--)
        worker_close(&pool->threads[i].worker);
    free(pool->threads);
    pthread_mutex_destroy(&pool->lock);
}
