/* A thread with a device, memory on it, and what it measured. The crew decides what it does. */
#ifndef CLIMG_BATCH_WORKER_H
#define CLIMG_BATCH_WORKER_H

#include "base/timing.h"
#include "batch/command.h"
#include "chain/verify.h"
#include "device/profile.h"
#include "engine/run.h"

#include <pthread.h>
#include <stdatomic.h>

struct resume;

struct worker {
    const struct settings *settings;
    const struct chain *chain;   /* as written */
    const struct resume *resume; /* NULL: without --resume */
    const char *provenance;      /* for the outputs' metadata; NULL: with --strip */
    struct worker *leader; /* the worker whose device, context and programs it shares; NULL: it has its own */
    const char *wanted;    /* the device: the value of --device, or one of its devices */
    struct progress *progress; /* NULL: nobody looks */
    int jobs;                  /* host threads for a file: 1, unless the crew says more */
    int sharing;               /* number of workers on the device, which share its memory equally */
    uint64_t memory_limit;     /* this worker's share of --memory-limit; 0: none */
    pthread_mutex_t lock;      /* held while the device is being opened */
    struct device device;
    struct device opened_as; /* the device as it was opened, for followers to copy */
    struct profile profile;
    struct run run;
    struct verifier verifier; /* with --verify */
    atomic_bool open;         /* a follower may set it for its leader */
    atomic_bool
        measured;     /* there is something to report: its device was open, or that of a worker added to it */
    pthread_t opener; /* the thread that opens the device */
    atomic_bool opening; /* the opener is running */
    atomic_bool ready;
    enum status opened; /* result of the opener */
    struct error trouble;
    int frames;                     /* of videos, that were converted, */
    double first_frame, last_frame; /* between these times of clock_seconds */
    struct timing timing;
    struct trace trace; /* with --trace */
};

void worker_init(struct worker *worker, const struct command *command, const char *provenance,
                 struct worker *leader, const char *wanted);

/* Starts a thread that finds and opens the device; worker_open waits for it. */
void worker_begin_open(struct worker *worker);

/* Whether worker_open would have to wait. */
bool worker_is_opening(struct worker *worker);

/* Finds and opens the device if it is not open. A failure is the device's, not a file's. */
enum status worker_open(struct worker *worker, struct error *error);

/* Frees the device memory that the worker keeps for its next file. */
void worker_clear(struct worker *worker);

/* The other workers are done: all memory is its share. */
void worker_take_all(struct worker *worker);

void worker_close(struct worker *worker);

/* Since the worker started: wall-clock seconds, and busy seconds of each part by the host's and the device's
 * clock. */
struct times {
    double total, seconds[PART_COUNT];
};

struct times worker_times(struct worker *worker);

/* Adds the time since `since` to `to`, divided by `share`. */
void worker_charge(struct worker *worker, const struct times *since, int share, struct times *to);

/* Adds another worker's measurements, for the report. */
enum status worker_add(struct worker *worker, struct worker *other, struct error *error);

/* Copies a pixel to the device and back: whether the device failed, or only one file on it. */
bool worker_device_works(struct worker *worker);

#endif
