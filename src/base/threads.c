/* Queues, the thread pool, the parallel loop and ordered work.
 *
 * The pool is a linked list of tasks under one mutex. A thread that waits for a task runs queued tasks
 * meanwhile, so a pool of one needs no thread, and parallel loops inside tasks cannot deadlock. Opening a
 * pool starts no thread: a submission starts one if no other is idle. */
#include "base/threads.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum status thread_start(pthread_t *thread, void *(*work)(void *), void *context, struct error *error)
{
    /* Faults of the thread itself stay unblocked: Linux kills a process with a blocked fault without calling
     * its handler, and so does abort() of glibc 2.41. */
    static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits the mask */
    int code = pthread_create(thread, NULL, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0 ? STATUS_OK : fail(error, STATUS_FAILED, "cannot start a thread: %s", strerror(code));
}

/* ---------------------------------------------------------------- queue */

void queue_init(struct queue *queue)
{
    *queue = (struct queue){.first = 0};
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
}

void queue_free(struct queue *queue)
{
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

bool queue_push(struct queue *queue, void *item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == QUEUE_CAPACITY && !queue->stopped)
        pthread_cond_wait(&queue->changed, &queue->lock);
    bool is_added = !queue->stopped;
    if (is_added)
        queue->items[(queue->first + queue->count++) % QUEUE_CAPACITY] = item;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return is_added;
}

void *queue_pop(struct queue *queue)
{
    void *item = NULL;
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->ended && !queue->stopped)
        pthread_cond_wait(&queue->changed, &queue->lock);
    if (queue->count > 0 && !queue->stopped) {
        item = queue->items[queue->first];
        queue->first = (queue->first + 1) % QUEUE_CAPACITY;
        queue->count--;
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return item;
}

/* Sets `ended` or `stopped` and wakes both sides. */
static void raise_flag(struct queue *queue, bool *flag)
{
    pthread_mutex_lock(&queue->lock);
    *flag = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

void queue_end(struct queue *queue)
{
    raise_flag(queue, &queue->ended);
}

void queue_stop(struct queue *queue)
{
    raise_flag(queue, &queue->stopped);
}

bool queue_stopped(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool stopped = queue->stopped;
    pthread_mutex_unlock(&queue->lock);
    return stopped;
}

/* ---------------------------------------------------------------- thread pool */

int processors_available(void)
{
    cpu_set_t set;
    long count =
        sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1)
        return 1;
    return count < THREADS_MAX ? (int)count : THREADS_MAX;
}

void thread_pool_open(struct thread_pool *pool, int count)
{
    *pool = (struct thread_pool){.thread_limit = (count < THREADS_MAX ? count : THREADS_MAX) - 1};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->submitted, NULL);
    pthread_cond_init(&pool->finished, NULL);
}

/* Runs the first task of the queue, which is not empty. Called with the mutex locked; unlocks it while the
 * task runs. */
static void run_next(struct thread_pool *pool)
{
    struct task *task = pool->first;
    pool->first = task->next;
    pool->queued--;
    pthread_mutex_unlock(&pool->mutex);
    task->run(task->argument);
    pthread_mutex_lock(&pool->mutex);
    task->is_pending = false;
    pthread_cond_broadcast(&pool->finished);
}

/* Thread of the pool: runs tasks until the pool is closed. */
static void *run_thread(void *argument)
{
    struct thread_pool *pool = argument;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->closing) {
        if (pool->first != NULL) {
            run_next(pool);
            continue;
        }
        pool->idle++;
        pthread_cond_wait(&pool->submitted, &pool->mutex);
        pool->idle--;
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

void thread_pool_submit(struct thread_pool *pool, struct task *task)
{
    struct error ignored;
    pthread_mutex_lock(&pool->mutex);

    /* Append the task to the queue. */
    task->is_pending = true;
    task->next = NULL;
    if (pool->first == NULL)
        pool->first = task;
    else
        pool->last->next = task;
    pool->last = task;
    pool->queued++;

    /* Start a thread if no idle one is left for it. After a failure, do not try again for each task. */
    if (pool->queued > pool->idle && pool->thread_count < pool->thread_limit) {
        if (thread_start(&pool->threads[pool->thread_count], run_thread, pool, &ignored) == STATUS_OK)
            pool->thread_count++;
        else
            pool->thread_limit = pool->thread_count;
    }
    pthread_cond_signal(&pool->submitted);
    pthread_mutex_unlock(&pool->mutex);
}

void thread_pool_wait(struct thread_pool *pool, struct task *task)
{
    pthread_mutex_lock(&pool->mutex);
    while (task->is_pending) {
        if (pool->first != NULL)
            run_next(pool);
        else
            pthread_cond_wait(&pool->finished, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
}

void thread_pool_close(struct thread_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->closing = true;
    pthread_cond_broadcast(&pool->submitted);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->submitted);
    pthread_mutex_destroy(&pool->mutex);
}

/* ---------------------------------------------------------------- parallel loop */

/* One loop, shared by its threads. */
struct loop {
    struct thread_pool *pool;
    piece_function *work;
    void *context;
    int count;
    atomic_int next; /* index of the next piece to begin; `count` or more: none */

    /* Guarded by pool->mutex. */
    int failed;          /* lowest index that failed; INT_MAX if none did */
    struct error *error; /* error of that piece */
};

/* Runs pieces until none is left or one fails; other threads do the same. */
static void run_pieces(void *argument)
{
    struct loop *loop = argument;
    struct error error;
    int i;
    do {
        i = atomic_fetch_add(&loop->next, 1);
        if (i >= loop->count)
            return;
    } while (loop->work(loop->context, i, &error) == STATUS_OK);

    /* Begin no more pieces, and keep the error of the lowest index. */
    atomic_store(&loop->next, loop->count);
    pthread_mutex_lock(&loop->pool->mutex);
    if (i < loop->failed) {
        loop->failed = i;
        *loop->error = error;
    }
    pthread_mutex_unlock(&loop->pool->mutex);
}

enum status thread_pool_each(struct thread_pool *pool, int count, piece_function *work, void *context,
                             struct error *error)
{
    struct task tasks[THREADS_MAX - 1];
    struct loop loop = {
        .pool = pool, .work = work, .context = context, .count = count, .failed = INT_MAX, .error = error};
    pthread_mutex_lock(&pool->mutex);
    int helpers = pool->thread_limit;
    pthread_mutex_unlock(&pool->mutex);
    helpers = helpers < count - 1 ? helpers : count - 1;
    for (int i = 0; i < helpers; i++) {
        tasks[i] = (struct task){.run = run_pieces, .argument = &loop};
        thread_pool_submit(pool, &tasks[i]);
    }
    run_pieces(&loop);
    for (int i = 0; i < helpers; i++)
        thread_pool_wait(pool, &tasks[i]);
    return loop.failed == INT_MAX ? STATUS_OK : STATUS_FAILED;
}

/* ---------------------------------------------------------------- ordered work */

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
    thread_pool_open(&ordered->pool, threads);
    return STATUS_OK;
}

void *ordered_slot(const struct ordered *ordered, size_t piece)
{
    return ordered->slots + piece % ordered->count * ordered->size;
}

bool ordered_is_full(const struct ordered *ordered)
{
    return ordered->submitted - ordered->released == ordered->count;
}

void ordered_submit(struct ordered *ordered, bool run_now)
{
    struct task *task = &ordered->tasks[ordered->submitted++ % ordered->count];
    if (run_now)
        task->run(task->argument);
    else
        thread_pool_submit(&ordered->pool, task);
}

void *ordered_oldest(struct ordered *ordered)
{
    if (ordered->released == ordered->submitted)
        return NULL;
    thread_pool_wait(&ordered->pool, &ordered->tasks[ordered->released % ordered->count]);
    return ordered_slot(ordered, ordered->released);
}

void ordered_release(struct ordered *ordered)
{
    ordered->released++;
}

void ordered_close(struct ordered *ordered, void (*release)(void *slot))
{
    if (ordered->slots != NULL)
        thread_pool_close(&ordered->pool);
    for (size_t i = 0; ordered->slots != NULL && release != NULL && i < ordered->count; i++)
        release(ordered_slot(ordered, i));
    free(ordered->slots);
    free(ordered->tasks);
    *ordered = (struct ordered){.count = 0};
}
