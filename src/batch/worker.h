/* A worker: the device of a thread, or a share of a device, with its memory and measured times.
 *
 * The first worker on a device is the leader, which opens it. The others are followers, which share its
 * device, context and programs, but have their own queue, memory and times.
 *
 * Thread safety: a worker belongs to its thread. Followers also use their leader's opener, device and
 * verifier, through worker_open and with opener.lock held. */
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

/* Data that all workers of a command share. Constant while they run. */
struct worker_context {
    const struct settings *settings;
    const struct chain *chain;   /* the command's, or its part before or after a merge */
    const struct resume *resume; /* NULL without --resume */
    const char *provenance;      /* for the outputs' metadata (resume.h); NULL with --strip */
    struct progress *progress;   /* has its own lock; may be NULL */
};

/* A worker's share of the machine. */
struct worker_share {
    int threads;           /* host threads for decoding and encoding a file */
    int workers;           /* number of workers on the device, which have equal shares of its memory */
    uint64_t memory_limit; /* bytes of host memory; 0: no limit */
};

/* Opens a leader's device, possibly in a thread while a file is decoded. */
struct device_opener {
    const char *name;     /* the value of --device, or one of the devices in it */
    pthread_mutex_t lock; /* held while a worker opens the device; protects the following fields, and opening
                           * (worker.is_open, .device, .shared, .verifier) */
    bool has_thread;      /* `thread` was started and not joined yet */
    pthread_t thread;

    /* The thread's outcome, valid after it was joined. */
    enum status status;
    struct error error;
};

/* Frames of videos that a worker has converted. */
struct frame_times {
    int count;           /* number of frames */
    double began, ended; /* clock_seconds at the start of the first frame and the end of the last */
};

struct worker {
    const struct worker_context *context;
    struct worker *leader; /* the worker whose device it shares; NULL for a leader */
    struct worker_share share;

    struct device_opener opener;
    atomic_bool is_open; /* `device` and `run` are initialised */
    struct device device;
    struct device shared; /* copy of `device` as it was opened: the original from which device_share creates
                           * the devices of followers and of the verifier */
    struct verifier verifier; /* open with --verify */
    struct run run;

    /* Measurements, which worker_add_measurements adds up. */
    atomic_bool knows_device; /* device.name and run.memory are valid, or copied by worker_add_measurements */
    struct event_log event_log;
    struct frame_times frames;
    struct timing timing;
};

/* Initialises a worker without a device. `context` and `device_name`, a value of --device, must outlive it.
 * For a leader, `leader` is NULL. Call worker_close when it is no longer needed. */
void worker_init(struct worker *worker, const struct worker_context *context, struct worker *leader,
                 const char *device_name);

/* Starts a thread that opens the leader's device, unless that is open or being opened. Returns true if it is
 * being opened; then worker_open has to be called, which waits for it. */
bool worker_begin_open(struct worker *worker);

/* Opens the device, and with --verify the verifier, if they are not open. The message of a failure names no
 * file; its scope is SCOPE_ALL, or SCOPE_FILE for a follower whose leader is open. */
enum status worker_open(struct worker *worker, struct error *error);

/* Frees the device memory that the worker keeps for its next file. */
void worker_clear(struct worker *worker);

/* Sets the worker's share to all memory of the host and the device. The other workers must have ended. */
void worker_take_all_memory(struct worker *worker);

/* Frees everything. Waits if the device is being opened. */
void worker_close(struct worker *worker);

/* Times in seconds. */
struct times {
    double total;                /* wall clock */
    double seconds[PHASE_COUNT]; /* busy time of each phase, by the host's or the device's clock */
};

/* Returns the times since worker_init. */
struct times worker_times(struct worker *worker);

/* Adds the times since `since`, divided by `job_count`, the number of jobs that share them, to *to. */
void worker_add_elapsed(struct worker *worker, const struct times *since, int job_count, struct times *to);

/* Adds another worker's measurements. The threads of both workers must have ended. */
void worker_add_measurements(struct worker *worker, struct worker *other);

/* True if a pixel can be copied to the device and back. Opens the device if necessary, and discards pending
 * events. */
bool worker_device_works(struct worker *worker);

#endif
