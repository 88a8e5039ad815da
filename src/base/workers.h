/* A few threads that work on tasks while their owner goes on.
 *
 *     submit ─▶ queue ─▶ threads, and whoever waits
 *
 * Tasks begin in the order they were submitted. They belong to who submits them, so submitting never fails
 * and there are never more of them than their owner has. */
#ifndef CLIMG_BASE_WORKERS_H
#define CLIMG_BASE_WORKERS_H

#include <pthread.h>
#include <stdbool.h>

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
    int queued, running, idle;
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

/* How many threads there are, or would be started: `count` less 1, or fewer where the system gave no more. */
int workers_threads(struct workers *workers);

/* The task must be idle, and stay where it is until it was waited for or workers_close returned. */
void workers_submit(struct workers *workers, struct task *task);

/* Returns when the task is done, and helps until then. A task that was not submitted is done. */
void workers_wait(struct workers *workers, struct task *task);
void workers_wait_all(struct workers *workers);

/* Ends the threads. Tasks that nobody began are not run any more; those under way are waited for. */
void workers_close(struct workers *workers);

#endif
