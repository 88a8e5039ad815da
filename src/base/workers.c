#include "base/workers.h"

#include "base/thread.h"

#include <sched.h>
#include <unistd.h>

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

int workers_threads(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    int threads = workers->thread_limit;
    pthread_mutex_unlock(&workers->mutex);
    return threads;
}

/* All of these are called with the mutex held. */

static struct task *take(struct workers *workers)
{
    struct task *task = workers->first;
    workers->first = task->next;
    workers->queued--;
    return task;
}

/* Lets go of the mutex while the task runs. */
static void run_next(struct workers *workers)
{
    struct task *task = take(workers);
    task->state = TASK_RUNNING;
    workers->running++;
    pthread_mutex_unlock(&workers->mutex);
    task->run(task->argument);
    pthread_mutex_lock(&workers->mutex);
    workers->running--;
    task->state = TASK_IDLE;
    pthread_cond_broadcast(&workers->finished);
}

static void *work(void *argument)
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
    if (thread_start(&workers->threads[workers->thread_count], work, workers, &ignored) == STATUS_OK)
        workers->thread_count++;
    else
        workers->thread_limit = workers->thread_count; /* asking again for each task would help nobody */
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

static void help_or_wait(struct workers *workers)
{
    if (workers->first != NULL)
        run_next(workers);
    else
        pthread_cond_wait(&workers->finished, &workers->mutex);
}

void workers_wait(struct workers *workers, struct task *task)
{
    pthread_mutex_lock(&workers->mutex);
    while (task->state != TASK_IDLE)
        help_or_wait(workers);
    pthread_mutex_unlock(&workers->mutex);
}

void workers_wait_all(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    while (workers->first != NULL || workers->running > 0)
        help_or_wait(workers);
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
