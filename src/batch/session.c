#include "batch/session.h"

#include "base/clock.h"
#include "base/thread.h"
#include "device/choose.h"
#include "device/open.h"
#include "tuning/tune.h"

#include <string.h>

void session_init(struct session *session, const struct settings *settings, const struct chain *chain)
{
    *session = (struct session){.settings = settings,
                                .chain = chain,
                                .wanted = settings->device,
                                .jobs = settings->jobs,
                                .memory_limit = settings->memory_limit};
    pthread_mutex_init(&session->lock, NULL);
    timing_begin(&session->timing);
    if (settings->trace) {
        trace_begin(&session->trace);
        session->timing.trace = session->profile.trace = &session->trace;
    }
}

void session_follow(struct session *session, struct session *leader)
{
    session_init(session, leader->settings, leader->chain);
    session->leader = leader;
    session->wanted = leader->wanted;
    session->provenance = leader->provenance;
}

/* `auto` is buffers: they are faster on every device measured so far (docs/performance.md). */
static enum memory choose_memory(const struct settings *settings)
{
    return settings->memory == MEMORY_OPTION_IMAGE ? MEMORY_IMAGE : MEMORY_BUFFER;
}

static enum status open_device(struct session *session, struct error *error)
{
    double since = clock_seconds();
    enum status status =
        device_choose(session->wanted, &session->settings->environment, &session->device, error);
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
    struct error ignored = {""};                                       /* then session_open does it all */
    if (session->leader || pthread_mutex_trylock(&session->lock) != 0) /* a follower opens it */
        return;
    if (!session->open && !session->opening) {
        atomic_store(&session->ready, false);
        atomic_store(&session->opening,
                     thread_start(&session->opener, open_in_thread, session, &ignored) == STATUS_OK);
    }
    pthread_mutex_unlock(&session->lock);
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
    atomic_store(&session->opening, false);
    if (session->opened != STATUS_OK)
        *error = session->trouble;
    return session->opened;
}

static enum status open_now(struct session *session, struct error *error)
{
    struct session *leader = session->leader;
    enum status status = leader ? session_open(leader, error) : complete_open(session, error);
    if (status == STATUS_OK && leader)
        status = device_share(&leader->opened_as, &session->device, error);
    if (status != STATUS_OK) {
        device_close(&session->device); /* the next file tries again */
        return status;
    }
    session->opened_as = session->device;
    session->device.profile = &session->profile;
    if (session->profile.trace)
        profile_calibrate(&session->profile, &session->device);
    run_init(&session->run, &session->device, choose_memory(session->settings),
             (enum edge)session->settings->edge);
    session->open = true;
    session->measured = true;
    return STATUS_OK;
}

enum status session_open(struct session *session, struct error *error)
{
    pthread_mutex_lock(&session->lock);
    enum status status = session->open ? STATUS_OK : open_now(session, error);
    pthread_mutex_unlock(&session->lock);
    return status;
}

enum status session_tune(const struct settings *settings, FILE *out, struct error *error)
{
    static const struct chain none;
    struct session session;
    session_init(&session, settings, &none);
    enum status status = session_open(&session, error);
    if (status == STATUS_OK)
        status = tune(&session.device, out, error);
    session_close(&session);
    return status;
}

void session_busy(const struct session *session, double seconds[PART_COUNT])
{
    memcpy(seconds, session->timing.seconds, sizeof session->timing.seconds);
    if (!session->open && !session->measured)
        return;
    seconds[PART_BUILD] = session->device.build_seconds;
    seconds[PART_UPLOAD] = session->profile.upload_seconds;
    seconds[PART_DOWNLOAD] = session->profile.download_seconds;
    for (size_t i = 0; i < session->profile.sum_count; i++)
        seconds[PART_STAGES] += session->profile.sums[i].seconds;
}

enum status session_add(struct session *session, const struct session *other, struct error *error)
{
    for (int i = 0; i < PART_COUNT; i++)
        session->timing.seconds[i] += other->timing.seconds[i];
    struct device *device = &session->device;
    if (!session->measured && other->measured) { /* this one met nothing but broken files */
        memcpy(device->name, other->device.name, sizeof device->name);
        session->run.memory = other->run.memory;
        session->measured = true;
    }
    device->build_seconds += other->device.build_seconds;
    device->built += other->device.built;
    if (other->device.slowest_build > device->slowest_build)
        device->slowest_build = other->device.slowest_build;
    return profile_merge(&session->profile, &other->profile, error);
}

bool session_device_works(struct session *session)
{
    struct error ignored = {""};
    struct planes planes;
    struct device *device = &session->device;
    cl_float zeros[PITCH_UNIT * 4] = {0}, factor = 1;
    cl_int alpha = -1;
    if (session_open(session, &ignored) != STATUS_OK ||
        run_planes(&session->run, 1, 1, rows_all(1), 1, 1, &planes, &ignored) != STATUS_OK)
        return false;
    struct work work = run_work(&session->run, "gain", "gain", &planes);
    enum status status =
        LAUNCH(device, &work, &ignored, ARG_PLANES(&planes), ARG_PLANES(&planes), ARG(factor), ARG(alpha));
    if (status == STATUS_OK && planes_bytes(&planes) <= sizeof zeros)
        status = planes_read(device, &planes, zeros, &ignored);
    device_finish(device);
    profile_discard(&session->profile);
    planes_release(&session->run.pool, &planes);
    return status == STATUS_OK;
}

void session_close(struct session *session)
{
    if (session->opening)
        pthread_join(session->opener, NULL); /* a driver must not be left in the middle of its start */
    if (session->open)
        run_free(&session->run);
    profile_free(&session->profile);
    device_close(&session->device);
    pthread_mutex_destroy(&session->lock);
    if (session->settings->trace)
        trace_free(&session->trace);
}
