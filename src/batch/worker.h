/* A thread with a device, memory on it, and what it measured. What it is to do is decided elsewhere. */
#ifndef CLIMG_BATCH_WORKER_H
#define CLIMG_BATCH_WORKER_H

#include "base/timing.h"
#include "batch/command.h"
#include "chain/verify.h"
#include "device/profile.h"
#include "engine/run.h"

#include <pthread.h>
#include <stdatomic.h>

struct worker {
    const struct settings *settings;
    const struct chain *chain; /* as written */
    const char *provenance;    /* for the outputs' metadata; NULL: they do not say what made them */
    struct worker *leader;     /* whose device, context and programs this one shares; NULL: its own */
    const char *wanted;        /* the device: what --device says, or one of all */
    void (*watch)(void *watcher, int rows, int of); /* is told how far a page is; NULL: nobody */
    void *watcher;
    int jobs;              /* threads of the host for a file; 0: one for each processor */
    int sharing;           /* workers on the device, each with as much of its memory */
    uint64_t memory_limit; /* this worker's share of --memory-limit; 0: none */
    pthread_mutex_t lock;  /* held while the device is being opened */
    struct device device;
    struct device opened_as; /* the device as it was opened: what followers copy while it is at work */
    struct profile profile;
    struct run run;
    struct verifier verifier; /* with --verify */
    atomic_bool open;         /* a follower may do that for its leader */
    atomic_bool measured;     /* there is something to report: it was open, or workers were added that were */
    pthread_t opener;         /* opens the device */
    atomic_bool opening;      /* the thread is there */
    atomic_bool ready;
    enum status opened; /* what came of it */
    struct error trouble;
    struct timing timing;
    struct trace trace; /* with --trace */
};

void worker_init(struct worker *worker, const struct command *command, const char *provenance,
                 struct worker *leader, const char *wanted);

/* Starts to find and open the device in a thread of its own, to be completed by worker_open. */
void worker_begin_open(struct worker *worker);

/* Whether worker_open would have to wait. */
bool worker_is_opening(struct worker *worker);

/* Finds and opens the device unless that was done. A failure is the device's, not some file's. */
enum status worker_open(struct worker *worker, struct error *error);

/* Gives the device's memory back that the worker keeps for its next file. */
void worker_clear(struct worker *worker);

/* The worker is alone now: all memory is its share. */
void worker_take_all(struct worker *worker);

void worker_close(struct worker *worker);

/* Since the worker began: seconds by the clock, and how long every part was busy, by the host's clock and the
 * device's. */
struct times {
    double total, seconds[PART_COUNT];
};

struct times worker_times(struct worker *worker);

/* Adds what went by since then to `to`, as one of so many for which it was done. */
void worker_charge(struct worker *worker, const struct times *since, int share, struct times *to);

/* Adds what another worker measured, for the report. */
enum status worker_add(struct worker *worker, struct worker *other, struct error *error);

/* Has the device carry a pixel there and back: whether it is the device that failed, or one file on it. */
bool worker_device_works(struct worker *worker);

#endif
