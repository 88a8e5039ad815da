#include "base/threads.h"

#include <signal.h>
#include <string.h>

enum status thread_start(pthread_t *thread, void *(*work)(void *), void *context, struct error *error)
{
    sigset_t all, before;
    sigfillset(&all);
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
