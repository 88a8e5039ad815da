/* Threads, and queues between them. */
#ifndef CLIMG_BASE_THREADS_H
#define CLIMG_BASE_THREADS_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>

/* Runs work(context) in a thread of its own, to be joined with pthread_join. Signals keep going to the
 * threads that were there before. */
enum status thread_start(pthread_t *thread, void *(*work)(void *), void *context, struct error *error);

/* A bounded queue of pointers from one thread to another. */
enum { QUEUE_CAPACITY = 8 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void *items[QUEUE_CAPACITY];
    int first, count;
    bool ended;   /* nothing more will be put in */
    bool stopped; /* nobody wants what is in it */
};

void queue_init(struct queue *queue);
void queue_free(struct queue *queue);

/* Waits while the queue is full; false once it was stopped: the item was not taken. */
bool queue_push(struct queue *queue, void *item);

/* Waits while the queue is empty; NULL once it was stopped, or has ended and nothing is left. */
void *queue_pop(struct queue *queue);

/* Items that are in the queue can still be taken. */
void queue_end(struct queue *queue);

/* Both sides stop waiting, and get nothing more. */
void queue_stop(struct queue *queue);
bool queue_stopped(struct queue *queue);

#endif
