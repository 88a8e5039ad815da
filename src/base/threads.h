/* Threads, queues, a thread pool, parallel loops and ordered work.
 *
 *     struct queue         pointers from one thread to another
 *     struct thread_pool   tasks, and loops over pieces (thread_pool_each)
 *     struct ordered       a pipeline: pieces are done in parallel and returned in order
 *
 * Structs are initialised in place, must not move, and belong to the caller. Thread safety: a queue has one
 * thread on each side; any threads may submit to a pool and wait; a struct ordered belongs to one thread. */
#ifndef CLIMG_BASE_THREADS_H
#define CLIMG_BASE_THREADS_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Runs work(context) in a new thread, which the caller joins with pthread_join. The thread blocks all
 * signals, so that the signal thread of main.c receives them. Only faults of the thread itself are not
 * blocked: SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE. */
enum status thread_start(pthread_t *thread, void *(*work)(void *), void *context, struct error *error);

/* ---------------------------------------------------------------- queue */

enum { QUEUE_CAPACITY = 8 };

/* A bounded queue of pointers from one thread to another. The items belong to the caller. */
struct queue {
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t changed;
    void *items[QUEUE_CAPACITY]; /* ring */
    int first, count;
    bool ended;   /* no more items will be pushed */
    bool stopped; /* items are no longer needed */
};

void queue_init(struct queue *queue);

/* Frees the queue, but no items. No thread may wait in it. */
void queue_free(struct queue *queue);

/* Waits while the queue is full. Returns false if the queue was stopped and the item not added. */
bool queue_push(struct queue *queue, void *item);

/* Waits while the queue is empty. Returns NULL if it was stopped, or has ended and is empty. */
void *queue_pop(struct queue *queue);

/* Ends the queue: no item follows those in it, which can still be popped. */
void queue_end(struct queue *queue);

/* Stops the queue after an error: both sides stop waiting, and no item is popped any more. */
void queue_stop(struct queue *queue);
bool queue_stopped(struct queue *queue);

/* ---------------------------------------------------------------- thread pool
 *
 *     submit ─▶ list of tasks ─▶ threads of the pool, and any thread that waits
 *
 * Tasks start in the order of submission. They belong to the caller, so submitting never fails and needs no
 * memory. */

enum { THREADS_MAX = 256 };

struct task {
    void (*run)(void *argument);
    void *argument;

    /* Private; guarded by the pool's mutex. Zero before the first submission. */
    bool is_pending; /* in the list or running */
    struct task *next;
};

/* A thread pool. All fields are private. The mutex guards them until thread_pool_close joins the threads. */
struct thread_pool {
    pthread_mutex_t mutex;
    pthread_cond_t submitted; /* for threads without work */
    pthread_cond_t finished;  /* for thread_pool_wait */
    struct task *first, *last;
    int queued;       /* tasks in the list */
    int idle;         /* threads that wait for a task */
    int thread_count; /* started threads */
    int thread_limit; /* threads that may be started in all */
    bool closing;
    pthread_t threads[THREADS_MAX - 1];
};

/* Returns the number of processors that this process may use (its affinity mask), 1 to THREADS_MAX. */
int processors_available(void);

/* Initialises a pool. `count`, 1 to THREADS_MAX, is the number of tasks that may run at once, including one
 * in a thread that waits. 1 means no threads: tasks run when they are waited for. Threads are started when
 * there is work for them. If the system refuses one, the existing ones do its work, so this cannot fail. */
void thread_pool_open(struct thread_pool *pool, int count);

/* Enqueues a task, which must not be pending. It must not move until it was waited for or thread_pool_close
 * returned. */
void thread_pool_submit(struct thread_pool *pool, struct task *task);

/* Waits until the task is done, running queued tasks meanwhile. Returns at once if it is not pending. */
void thread_pool_wait(struct thread_pool *pool, struct task *task);

/* Waits for running tasks, joins the threads and frees the pool. Queued tasks are dropped. */
void thread_pool_close(struct thread_pool *pool);

/* ---------------------------------------------------------------- parallel loop */

/* Runs piece `index` of a loop. The result must not depend on the thread or on the order of pieces. */
typedef enum status piece_function(void *context, int index, struct error *error);

/* Runs the pieces 0 to count - 1 in the caller and the pool, and returns when all are done. May be nested.
 * After a failure no more pieces are started; returns STATUS_FAILED with the error of the lowest index that
 * failed. */
enum status thread_pool_each(struct thread_pool *pool, int count, piece_function *work, void *context,
                             struct error *error);

/* ---------------------------------------------------------------- ordered work
 *
 * Pieces of work are submitted to threads and collected in the order of submission:
 *
 *     ordered_slot ─▶ ordered_submit ─▶ threads ─▶ ordered_oldest ─▶ ordered_release
 *     fill the slot                     run(slot)  waits; use it     the slot is free again
 *
 * The slots form a ring: piece n uses slot n % count. Their content belongs to the caller. */

struct ordered {
    struct thread_pool pool;
    struct task *tasks;   /* one for each slot */
    unsigned char *slots; /* zeroed when they are allocated */
    size_t size;          /* bytes of a slot */
    size_t count;         /* number of slots */
    size_t submitted;     /* number of pieces that were submitted */
    size_t released;      /* number of pieces whose slot was released */
};

/* Allocates the slots. `run` is called with a slot, in any thread. ordered_close must be called after a
 * failure, too, and may be called on a zeroed struct. */
enum status ordered_open(struct ordered *ordered, int threads, size_t count, size_t size,
                         void (*run)(void *slot), struct error *error);

/* Returns the slot of a piece, counted from 0: a submitted piece, or the next to be submitted. */
void *ordered_slot(const struct ordered *ordered, size_t piece);

/* True if all slots are in use: release one before the next piece is submitted. */
bool ordered_is_full(const struct ordered *ordered);

/* Submits the next piece. `run_now`: runs it in the calling thread before returning, as a single piece needs
 * no other thread. */
void ordered_submit(struct ordered *ordered, bool run_now);

/* Waits for the oldest piece that was not released. Returns its slot, or NULL if there is no piece. */
void *ordered_oldest(struct ordered *ordered);

/* Frees the slot that ordered_oldest returned for the next piece. */
void ordered_release(struct ordered *ordered);

/* Waits for running pieces and drops the others. Then calls `release`, which may be NULL, with each slot,
 * used or not, to free its content, and frees the slots. */
void ordered_close(struct ordered *ordered, void (*release)(void *slot));

#endif
