/* What one process keeps for all of its files: the device, opened when it is first needed, and its memory. */
#ifndef CLIMG_BATCH_SESSION_H
#define CLIMG_BATCH_SESSION_H

#include "base/timing.h"
#include "chain/chain.h"
#include "device/profile.h"
#include "engine/run.h"
#include "settings/settings.h"

#include <pthread.h>
#include <stdatomic.h>

struct session {
    const struct settings *settings;
    struct session *leader; /* whose device this one works on too; NULL: its own */
    pthread_mutex_t lock;   /* held while the device is being opened */
    const char *wanted;     /* the device: what --device says, or one of all */
    int jobs;               /* threads for decoding and encoding a file; 0: one for each processor */
    uint64_t memory_limit;  /* this session's part of --memory-limit; 0: none */
    const struct chain *chain;
    const char *provenance; /* for the outputs' metadata; NULL: they do not say what made them */
    struct device device;
    struct device opened_as; /* the device as it was opened: what followers copy while it is at work */
    struct profile profile;
    struct run run;
    atomic_bool open;     /* a follower may do that for its leader */
    atomic_bool measured; /* there is something to report: it was open, or sessions were added that were */
    pthread_t opener;     /* opens the device */
    atomic_bool opening;  /* the thread is there */
    atomic_bool ready;
    enum status opened; /* what came of it */
    struct error trouble;
    struct timing timing;
    struct trace trace; /* with --trace */
};

/* A session works on one file at a time; `leader` (or NULL) is one whose device, context and programs it
 * shares. */
void session_follow(struct session *session, struct session *leader);

void session_init(struct session *session, const struct settings *settings, const struct chain *chain);

/* Starts to find and open the device in a thread of its own, to be completed by session_open. */
void session_begin_open(struct session *session);

/* Whether session_open would have to wait. */
bool session_is_opening(struct session *session);

/* Finds and opens the device unless that was done. */
enum status session_open(struct session *session, struct error *error);

/* --tune: opens the device and finds the best form of each kernel. */
enum status session_tune(const struct settings *settings, FILE *out, struct error *error);

void session_close(struct session *session);

/* How long every part was busy so far, by the host's clock and the device's. */
void session_busy(const struct session *session, double seconds[PART_COUNT]);

/* Adds what another session measured, for the report. */
enum status session_add(struct session *session, const struct session *other, struct error *error);

/* Runs a small kernel: whether it is the device that failed, or one file on it. */
bool session_device_works(struct session *session);

/* What went through: the sizes are those of the first page, the pixels those of all pages that came in. */
struct converted {
    int width, height, channels;
    int output_width, output_height, output_channels;
    uint64_t pixels;
};

#endif
