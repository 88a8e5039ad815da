/* What one process keeps for all of its files: the device, opened when it is first needed, and its memory. */
#ifndef CLIMG_BATCH_SESSION_H
#define CLIMG_BATCH_SESSION_H

#include "base/timing.h"
#include "chain/chain.h"
#include "cli/globals.h"
#include "device/profile.h"
#include "run/run.h"

#include <pthread.h>
#include <stdatomic.h>

struct session {
    const struct globals *globals;
    const struct chain *chain;
    const char *provenance; /* for the outputs' metadata; NULL: they do not say what made them */
    struct device device;
    struct profile profile;
    struct run run;
    bool open;
    pthread_t opener; /* opens the device */
    bool opening;     /* the thread is there */
    atomic_bool ready;
    enum status opened; /* what came of it */
    struct error trouble;
    struct timing timing;
    struct trace trace; /* with --trace */
};

void session_init(struct session *session, const struct globals *globals, const struct chain *chain);

/* Starts to find and open the device in a thread of its own, to be completed by session_open. */
void session_begin_open(struct session *session);

/* Whether session_open would have to wait. */
bool session_is_opening(struct session *session);

/* Finds and opens the device unless that was done. */
enum status session_open(struct session *session, struct error *error);

/* --tune: opens the device and finds the best form of each kernel. */
enum status session_tune(const struct globals *globals, FILE *out, struct error *error);

void session_close(struct session *session);

/* How long every part was busy so far, by the host's clock and the device's. */
void session_busy(const struct session *session, double seconds[PART_COUNT]);

/* What went through: the sizes are those of the first page, the pixels those of all pages that came in. */
struct converted {
    int width, height, channels;
    int output_width, output_height, output_channels;
    uint64_t pixels;
};

/* One input to one output: every page through the chain. Messages name the file they are about. `made` is
 * filled in as far as it got. */
enum status session_convert(struct session *session, const char *input, const char *output,
                            struct converted *made, struct error *error);

#endif
