/* A queue is a ring guarded by a mutex. The pool is a linked list of tasks: whoever waits for a task helps
 * with queued ones, so a pool of one needs no thread, and nested parallel loops cannot deadlock. */
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
    /* Faults of the thread itself. The kernel ends the process without its handler if they are blocked. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a thread inherits the mask */
    int code = pthread_create(thread, NULL, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0 ? STATUS_OK : fail(error, STATUS_FAILED, "cannot start a thread: %s", strerror(code));
}

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
    bool taken = !queue->stopped;
    if (taken)
        queue->items[(queue->first + queue->count++) % QUEUE_CAPACITY] = item;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return taken;
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

int workers_available(void)
{
    cpu_set_t set;
    long count =
        sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1)
        return 1;
    return count < WORKERS_MAX ? (int)count : WORKERS_MAX;
}

void workers_open(struct workers *workers, int count)
{
    *workers = (struct workers){.thread_limit = (count < WORKERS_MAX ? count : WORKERS_MAX) - 1};
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->submitted, NULL);
    pthread_cond_init(&workers->finished, NULL);
}

/* Returns the number of threads that run or may be started: `count` - 1, or fewer if the system allows no
 * more. */
static int count_threads(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    int threads = workers->thread_limit;
    pthread_mutex_unlock(&workers->mutex);
    return threads;
}

/* These functions are called with the mutex locked. */

static struct task *threads_take(struct workers *workers)
{
    struct task *task = workers->first;
    workers->first = task->next;
    workers->queued--;
    return task;
}

/* Unlocks the mutex while the task runs. */
static void run_next(struct workers *workers)
{
    struct task *task = threads_take(workers);
    task->state = TASK_RUNNING;
    pthread_mutex_unlock(&workers->mutex);
    task->run(task->argument);
    pthread_mutex_lock(&workers->mutex);
    task->state = TASK_IDLE;
    pthread_cond_broadcast(&workers->finished);
}

static void *run_thread(void *argument)
{
    struct workers *workers = argument;
    pthread_mutex_lock(&workers->mutex);
    while (!workers->closing) {
        if (workers->first != NULL) {
            run_next(workers);
            continue;
        }
        workers->idle++;
        pthread_cond_wait(&workers->submitted, &workers->mutex);
        workers->idle--;
    }
    pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

static void start_thread(struct workers *workers)
{
    struct error ignored;
    if (thread_start(&workers->threads[workers->thread_count], run_thread, workers, &ignored) == STATUS_OK)
        workers->thread_count++;
    else
        workers->thread_limit = workers->thread_count; /* do not try again for each task */
}

void workers_submit(struct workers *workers, struct task *task)
{
    pthread_mutex_lock(&workers->mutex);
    task->state = TASK_QUEUED;
    task->next = NULL;
    if (workers->first == NULL)
        workers->first = task;
    else
        workers->last->next = task;
    workers->last = task;
    workers->queued++;
    if (workers->queued > workers->idle && workers->thread_count < workers->thread_limit)
        start_thread(workers);
    pthread_cond_signal(&workers->submitted);
    pthread_mutex_unlock(&workers->mutex);
}

void workers_wait(struct workers *workers, struct task *task)
{
    pthread_mutex_lock(&workers->mutex);
    while (task->state != TASK_IDLE) {
        if (workers->first != NULL)
            run_next(workers);
        else
            pthread_cond_wait(&workers->finished, &workers->mutex);
    }
    pthread_mutex_unlock(&workers->mutex);
}

void workers_close(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    workers->closing = true;
    pthread_cond_broadcast(&workers->submitted);
    pthread_mutex_unlock(&workers->mutex);
    for (int i = 0; i < workers->thread_count; i++)
        pthread_join(workers->threads[i], NULL);
    pthread_cond_destroy(&workers->finished);
    pthread_cond_destroy(&workers->submitted);
    pthread_mutex_destroy(&workers->mutex);
}

/* ---------------------------------------------------------------- pieces of one work */

struct pieces {
    struct workers *workers;
    piece_work *work;
    void *context;
    int count;
    atomic_int next;
    int failed; /* the lowest index that failed; guarded, as `error`, by the mutex of the workers */
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
    int helpers = count_threads(workers);
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

/* ---------------------------------------------------------------- work in order */

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
