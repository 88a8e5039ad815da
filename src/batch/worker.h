/* A worker: a device or a share of one, memory on it, and its measured times. The pool gives it jobs.
 *
 * The first worker on a device is the leader, which opens it. The others are followers, which share its
 * device, context and programs, but have their own queue, memory and times.
 *
 * Thread safety: a worker belongs to its thread. Followers may open their leader (opener.lock). */
#ifndef CLIMG_BATCH_WORKER_H
#define CLIMG_BATCH_WORKER_H

#include "base/timing.h"
#include "batch/command.h"
#include "chain/verify.h"
#include "device/event_log.h"
#include "engine/run.h"

#include <pthread.h>
#include <stdatomic.h>

struct resume;

/* Settings that the workers of a command share; constant while they work. */
struct worker_context {
    const struct settings *settings;
    const struct chain *chain;   /* as written */
    const struct resume *resume; /* NULL without --resume */
    const char *provenance;      /* for the outputs' metadata; NULL with --strip */
    struct progress *progress;   /* has its own lock; may be NULL */
};

/* A worker's share of the machine. */
struct worker_share {
    int threads;           /* host threads for decoding and encoding a file */
    int workers;           /* workers on the same device, which have equal shares of its memory */
    uint64_t memory_limit; /* bytes of host memory; 0: no limit */
};

/* Opens the device, perhaps in a thread while a file is decoded. */
struct device_opener {
    const char *wanted;     /* the value of --device, or one of its devices */
    atomic_bool is_opening; /* the device is being opened */
    pthread_mutex_t lock; /* held while a worker opens the device; protects the following fields, worker.open
                           * and worker.verifier */
    bool has_thread;      /* `thread` was started and not joined yet */
    pthread_t thread;

    /* Written by the thread, read after it was joined. */
    enum status status;
    struct error error;
};

/* Frames of videos that a worker has converted. */
struct frame_times {
    int count;
    double began, ended; /* times of clock_seconds: start of the first frame, end of the last */
};

struct worker {
    const struct worker_context *context;
    struct worker *leader; /* the worker whose device it shares; NULL for a leader */
    struct worker_share share;

    /* The device. A follower may open its leader's. */
    struct device_opener opener;
    atomic_bool open; /* `device` and `run` are initialised */
    struct device device;
    struct device opened_as;  /* copy of `device` as it was opened, for followers */
    struct verifier verifier; /* open with --verify */
    struct run run;

    /* Measurements. worker_add_measurements sums them up. */
    atomic_bool has_device_name; /* device.name and run.memory are known: the device was open, here or in a
                                  * worker that was added */
    struct event_log event_log;
    struct frame_times frames;
    struct timing timing;
};

/* Initialises a worker without a device. `context` and `wanted` (a value of --device) must outlive it.
 * `leader` may be NULL. Call worker_close after it. */
void worker_init(struct worker *worker, const struct worker_context *context, struct worker *leader,
                 const char *wanted);

/* Starts a thread that finds and opens the device (a follower: its leader's device); worker_open waits for
 * it. Does nothing if the device is open or being opened. */
void worker_begin_open(struct worker *worker);

/* True while the device is being opened, by any worker on it. */
bool worker_is_opening(struct worker *worker);

/* Opens the device, and with --verify the verifier, if they are not open. A failure is reported without a
 * file's name and affects all files, unless the leader is open. */
enum status worker_open(struct worker *worker, struct error *error);

/* Frees the device memory that the worker keeps for its next file. */
void worker_clear(struct worker *worker);

/* Makes all memory the worker's share. The other workers must have ended. */
void worker_take_all_memory(struct worker *worker);

/* Frees everything. Waits for the device's driver if that is starting. */
void worker_close(struct worker *worker);

/* Times in seconds. */
struct times {
    double total;               /* wall clock */
    double seconds[PART_COUNT]; /* busy time of each part, by the host's or the device's clock */
};

/* Returns the times since the worker started. */
struct times worker_times(struct worker *worker);

/* Adds the times since `since` to *to, divided by `share`, the number of jobs that they were spent on. */
void worker_add_elapsed(struct worker *worker, const struct times *since, int share, struct times *to);

/* Adds another worker's measurements, for the report. Both threads must have ended. */
void worker_add_measurements(struct worker *worker, struct worker *other);

/* True if a pixel can be copied to the device and back: then not the device failed, but one file on it. */
bool worker_device_works(struct worker *worker);

#endif
