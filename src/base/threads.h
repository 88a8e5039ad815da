/* Threads, and queues between them. */
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

/* A few threads that work on tasks while their owner goes on.
 *
 *     submit ─▶ queue ─▶ threads, and whoever waits
 *
 * Tasks begin in the order they were submitted. They belong to who submits them, so submitting never fails
 * and there are never more of them than their owner has. */

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

/* How many processors this process may use, 1 to WORKERS_MAX. */
int workers_available(void);

/* `count`, 1 to WORKERS_MAX: how many tasks may run at once, where whoever waits is one of them. So 1 means
 * no thread: tasks run when they are waited for. Threads start when there is work for them; where the system
 * gives no more, those that are there do. The struct must stay where it is until workers_close. */
void workers_open(struct workers *workers, int count);

/* The task must be idle, and stay where it is until it was waited for or workers_close returned. */
void workers_submit(struct workers *workers, struct task *task);

/* Returns when the task is done, and helps until then. A task that was not submitted is done. */
void workers_wait(struct workers *workers, struct task *task);

/* Ends the threads. Tasks that nobody began are not run any more; those under way are waited for. */
void workers_close(struct workers *workers);

/* ---------------------------------------------------------------- pieces of one work */

/* Does piece `index`, by itself: which thread does it, and when, must not matter to the result. */
typedef enum status piece_work(void *context, int index, struct error *error);

/* Does the pieces from 0 to before `count`, by the caller and the workers' threads, and returns once all are
 * done. A piece may do the same with pieces of its own. After a failure no more begin, and of several the one
 * of the lowest index is told. */
enum status workers_each(struct workers *workers, int count, piece_work *work, void *context,
                         struct error *error);

/* ---------------------------------------------------------------- work in order
 *
 * Work that is handed to threads piece by piece and taken back in the order in which it was handed out:
 *
 *     fill a slot ─▶ submit ─▶ threads ─▶ oldest (waits for it) ─▶ take: the slot is free again
 *
 * Slots are used in turn, and as many pieces as there are slots may be under way. What is in a slot is the
 * caller's. One thread calls all of this. */

struct ordered {
    struct workers workers;
    struct task *tasks;   /* one for each slot */
    unsigned char *slots; /* zeroed when they are allocated */
    size_t size, count;   /* bytes of a slot, slots */
    size_t submitted, taken;
};

/* `run` gets a slot. The struct must stay where it is until ordered_close, which is needed after a failure,
 * too, and fine on a zeroed struct. */
enum status ordered_open(struct ordered *ordered, int threads, size_t count, size_t size,
                         void (*run)(void *slot), struct error *error);

/* The slot of the piece with this number, from 0: of one that is under way, or the next to be submitted. */
void *ordered_slot(const struct ordered *ordered, size_t piece);

/* Whether a piece must be taken before the next can be submitted. */
bool ordered_is_full(const struct ordered *ordered);

/* Hands out the next piece. `alone`: there will be no other, so that it is not worth a thread and is done
 * here. */
void ordered_submit(struct ordered *ordered, bool alone);

/* The oldest piece that was not taken, when it is done; NULL: none is left. */
void *ordered_oldest(struct ordered *ordered);
void ordered_take(struct ordered *ordered);

/* Waits for what is under way; what nobody began is dropped. `release` then frees what each slot owns, also
 * one that was never used. */
void ordered_close(struct ordered *ordered, void (*release)(void *slot));

#endif
