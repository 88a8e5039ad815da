/* A worker: a device or a share of one, memory on it, and the times that it took. The pool decides what it
 * does. */
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

/* Settings that the workers of a command share; constant while they work. */
struct worker_context {
    const struct settings *settings;
    const struct chain *chain;   /* as written */
    const struct resume *resume; /* NULL: without --resume */
    const char *provenance;      /* for the outputs' metadata; NULL: with --strip */
    struct progress *progress;   /* NULL: none is shown */
};

/* A worker's share of the machine. */
struct worker_share {
    int threads;           /* host threads for a file */
    int workers;           /* on the same device, which have equal shares of its memory */
    uint64_t memory_limit; /* bytes; 0: none */
};

/* Opens the device, perhaps in a thread while a file is decoded. */
struct device_opener {
    const char *wanted;   /* the value of --device, or one of its devices */
    pthread_mutex_t lock; /* held while the device is being opened */
    pthread_t thread;
    atomic_bool is_running; /* the thread was started and not joined yet */
    atomic_bool is_ready;   /* it has ended: the outcome is below */
    enum status status;
    struct error error;
};

/* Frames of videos, and the times of clock_seconds between which they were converted. */
struct frame_times {
    int count;
    double first, last;
};

struct worker {
    const struct worker_context *context;
    struct worker *leader; /* the worker whose device, context and programs it shares; NULL: it has its own */
    struct worker_share share;
    struct device_opener opener;
    struct device device;
    struct device opened_as;  /* the device as it was opened, for followers to copy */
    struct verifier verifier; /* with --verify */
    atomic_bool open;         /* a follower may set it for its leader */
    atomic_bool measured;     /* its device was open, or the device of a worker that was added */
    struct run run;
    struct profile profile;
    struct frame_times frames;
    struct timing timing;
};

/* The context must outlive the worker. `leader` may be NULL. */
void worker_init(struct worker *worker, const struct worker_context *context, struct worker *leader,
                 const char *wanted);

/* Starts a thread that finds and opens the device; worker_open waits for it. */
void worker_begin_open(struct worker *worker);

/* True if worker_open would have to wait. */
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
void worker_add(struct worker *worker, struct worker *other);

/* Copies a pixel to the device and back: whether the device failed, or only one file on it. */
bool worker_device_works(struct worker *worker);

#endif
