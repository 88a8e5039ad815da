#include "batch/session.h"

#include "base/clock.h"
#include "base/thread.h"
#include "chain/tune.h"

#include <string.h>

void session_init(struct session *session, const struct globals *globals, const struct chain *chain)
{
    *session = (struct session){.globals = globals, .chain = chain};
    timing_begin(&session->timing);
    if (globals->trace) {
        trace_begin(&session->trace);
        session->timing.trace = session->profile.trace = &session->trace;
    }
}

/* `auto` is buffers: they are faster on every device measured so far (docs/performance.md). */
static enum memory choose_memory(const struct globals *globals)
{
    return globals->memory == MEMORY_OPTION_IMAGE ? MEMORY_IMAGE : MEMORY_BUFFER;
}

static enum status open_device(struct session *session, struct error *error)
{
    double since = clock_seconds();
    enum status status = device_choose(session->globals->device, &session->device, error);
    if (status == STATUS_OK)
        status = device_open(&session->device, error);
    timing_charge(&session->timing, PART_START, "open the device", -1, since);
    return status;
}

static void *open_in_thread(void *context)
{
    struct session *session = context;
    session->opened = open_device(session, &session->trouble);
    atomic_store(&session->ready, true);
    return NULL;
}

void session_begin_open(struct session *session)
{
    struct error ignored = {""}; /* then session_open does it all */
    if (session->open || session->opening)
        return;
    atomic_store(&session->ready, false);
    session->opening = thread_start(&session->opener, open_in_thread, session, &ignored) == STATUS_OK;
}

bool session_is_opening(struct session *session)
{
    return session->opening && !atomic_load(&session->ready);
}

/* Joins the thread, or does its work. */
static enum status complete_open(struct session *session, struct error *error)
{
    if (!session->opening)
        return open_device(session, error);
    pthread_join(session->opener, NULL);
    session->opening = false;
    if (session->opened != STATUS_OK)
        *error = session->trouble;
    return session->opened;
}

enum status session_open(struct session *session, struct error *error)
{
    if (session->open)
        return STATUS_OK;
    enum status status = complete_open(session, error);
    if (status != STATUS_OK) {
        device_close(&session->device); /* the next file tries again */
        return status;
    }
    session->device.profile = &session->profile;
    if (session->profile.trace)
        profile_calibrate(&session->profile, session->device.queue);
    run_init(&session->run, &session->device, choose_memory(session->globals),
             (enum edge)session->globals->edge);
    session->open = true;
    return STATUS_OK;
}

enum status session_tune(const struct globals *globals, FILE *out, struct error *error)
{
    static const struct chain none;
    struct session session;
    session_init(&session, globals, &none);
    enum status status = session_open(&session, error);
    if (status == STATUS_OK)
        status = tune(&session.device, out, error);
    session_close(&session);
    return status;
}

void session_busy(const struct session *session, double seconds[PART_COUNT])
{
    memcpy(seconds, session->timing.seconds, sizeof session->timing.seconds);
    seconds[PART_BUILD] = session->device.build_seconds;
    seconds[PART_UPLOAD] = session->profile.upload_seconds;
    seconds[PART_DOWNLOAD] = session->profile.download_seconds;
    for (size_t i = 0; i < session->profile.sum_count; i++)
        seconds[PART_STAGES] += session->profile.sums[i].seconds;
}

void session_close(struct session *session)
{
    if (session->opening)
        pthread_join(session->opener, NULL); /* a driver must not be left in the middle of its start */
    if (session->open)
        run_free(&session->run);
    profile_free(&session->profile);
    device_close(&session->device);
    if (session->globals->trace)
        trace_free(&session->trace);
}
