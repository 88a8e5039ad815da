/* Threads, queues between two threads, a pool of threads for tasks, and ordered parallel work.
 *
 * Thread safety: queues may be used by one thread on each side; a pool by several owners; the rest by one
 * thread. */
#ifndef CLIMG_BASE_THREADS_H
#define CLIMG_BASE_THREADS_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Runs work(context) in a new thread, to be joined with pthread_join. The thread blocks all signals but those
 * of its own faults (SIGSEGV, SIGBUS, SIGILL, SIGFPE). */
enum status thread_start(pthread_t *thread, void *(*work)(void *), void *context, struct error *error);

/* A bounded queue of pointers from one thread to another. */
enum { QUEUE_CAPACITY = 8 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void *items[QUEUE_CAPACITY];
    int first, count;
    bool ended;   /* no more items will be pushed */
    bool stopped; /* items are no longer needed */
};

void queue_init(struct queue *queue);
void queue_free(struct queue *queue);

/* Waits while the queue is full. Returns false if the queue was stopped and the item not added. */
bool queue_push(struct queue *queue, void *item);

/* Waits while the queue is empty. Returns NULL if it was stopped, or has ended and is empty. */
void *queue_pop(struct queue *queue);

/* Ends the queue: items in it can still be popped. */
void queue_end(struct queue *queue);

/* Stops the queue: both sides stop waiting, and no item is popped any more. */
void queue_stop(struct queue *queue);
bool queue_stopped(struct queue *queue);

/* A thread pool that runs tasks while their owner continues.
 *     submit ─▶ queue ─▶ threads, and any caller that waits
 *
 * Tasks begin in the order of submission. They belong to the caller, so submitting never fails and needs no
 * memory. */

enum { WORKERS_MAX = 256 };

enum task_state { TASK_IDLE, TASK_QUEUED, TASK_RUNNING };

struct task {
    void (*run)(void *argument);
    void *argument;
    /* These two belong to the workers; zero before the first submission. */
    enum task_state state;
    struct task *next;
};

struct workers {
    pthread_mutex_t mutex;
    pthread_cond_t submitted, finished;
    struct task *first, *last; /* the queue */
    int queued, idle;
    bool closing;
    int thread_count, thread_limit;
    pthread_t threads[WORKERS_MAX - 1];
};

/* Returns the number of processors that this process may use, 1 to WORKERS_MAX. */
int workers_available(void);

/* `count`, 1 to WORKERS_MAX, is the number of tasks that may run at once, including one in a caller that
 * waits. So 1 means no thread: tasks run when they are waited for. Threads start when there is work for them;
 * if the system allows no more, the existing ones do the work. The struct must not move until workers_close.
 */
void workers_open(struct workers *workers, int count);

/* The task must be idle, and must not move until it was waited for or workers_close returned. */
void workers_submit(struct workers *workers, struct task *task);

/* Runs queued tasks until this one is done. Returns at once for a task that was not submitted. */
void workers_wait(struct workers *workers, struct task *task);

/* Waits for running tasks and ends the threads. Queued tasks are dropped. */
void workers_close(struct workers *workers);

/* ---------------------------------------------------------------- parallel loop */

/* Does piece `index`. The result must not depend on the thread or on the order of pieces. */
typedef enum status piece_work(void *context, int index, struct error *error);

/* Does the pieces 0 to count - 1 in the caller and the pool, and returns when all are done. A piece may call
 * this, too. After a failure no more pieces begin; of several failures the one with the lowest index is
 * returned. */
enum status workers_each(struct workers *workers, int count, piece_work *work, void *context,
                         struct error *error);

/* ---------------------------------------------------------------- work in order
 * Pieces of work are submitted to threads and taken back in the order of submission:
 *
 *     fill a slot ─▶ submit ─▶ threads ─▶ oldest (waits for it) ─▶ take: the slot is free again
 * Slots are used in turn; at most one piece per slot is in progress. The content of a slot belongs to the
 * caller. All calls come from one thread. */

struct ordered {
    struct workers workers;
    struct task *tasks;   /* one for each slot */
    unsigned char *slots; /* zeroed when they are allocated */
    size_t size, count;   /* bytes of a slot, slots */
    size_t submitted, taken;
};

/* `run` is called with a slot. The struct must not move until ordered_close, which is needed after a failure,
 * too, and may be called on a zeroed struct. */
enum status ordered_open(struct ordered *ordered, int threads, size_t count, size_t size,
                         void (*run)(void *slot), struct error *error);

/* Returns the slot of a piece, counted from 0: one that is in progress, or the next to be submitted. */
void *ordered_slot(const struct ordered *ordered, size_t piece);

/* True if a piece must be taken before the next can be submitted. */
bool ordered_is_full(const struct ordered *ordered);

/* Submits the next piece. `alone`: no other follows, so it is done in this thread. */
void ordered_submit(struct ordered *ordered, bool alone);

/* Waits for the oldest piece that was not taken. Returns its slot, or NULL if there is no piece. */
void *ordered_oldest(struct ordered *ordered);
void ordered_take(struct ordered *ordered);

/* Waits for running pieces and drops the others. `release` then frees the content of each slot, used or not.
 */
void ordered_close(struct ordered *ordered, void (*release)(void *slot));

#endif
