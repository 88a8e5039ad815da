#include "batch/worker.h"

#include "base/threads.h"
#include "base/timing.h"
#include "chain/transfer.h"
#include "device/device.h"

#include <math.h>
#include <string.h>

void worker_init(struct worker *worker, const struct worker_context *context, struct worker *leader,
                 const char *wanted)
{
    *worker = (struct worker){.context = context,
                              .leader = leader,
                              .share = {.threads = 1, .workers = 1},
                              .opener = {.wanted = wanted}};
    pthread_mutex_init(&worker->opener.lock, NULL);
    timing_begin(&worker->timing, context->settings->trace != NULL);
    worker->profile.timing = &worker->timing;
}

/* `auto` means buffers, which are faster on every device measured so far (docs/performance.md). */
static enum memory choose_memory(const struct settings *settings)
{
    return settings->memory == MEMORY_OPTION_IMAGE ? MEMORY_IMAGE : MEMORY_BUFFER;
}

static enum status open_device(struct worker *worker, struct error *error)
{
    double since = clock_seconds();
    const struct settings *settings = worker->context->settings;
    enum status status =
        device_find(worker->opener.wanted, &settings->environment, settings->force, &worker->device, error);
    timing_add(&worker->timing, PART_START, "open the device", -1, since);
    return status;
}

static void *open_in_thread(void *context)
{
    struct worker *worker = context;
    worker->opener.status = open_device(worker, &worker->opener.error);
    atomic_store(&worker->opener.is_ready, true);
    return NULL;
}

void worker_begin_open(struct worker *worker)
{
    struct error ignored = {.text = ""}; /* worker_open then opens the device itself */
    if (worker->leader || pthread_mutex_trylock(&worker->opener.lock) != 0) /* a follower is opening it */
        return;
    if (!worker->open && !worker->opener.is_running) {
        atomic_store(&worker->opener.is_ready, false);
        atomic_store(&worker->opener.is_running,
                     thread_start(&worker->opener.thread, open_in_thread, worker, &ignored) == STATUS_OK);
    }
    pthread_mutex_unlock(&worker->opener.lock);
}

bool worker_is_opening(struct worker *worker)
{
    return worker->opener.is_running && !atomic_load(&worker->opener.is_ready);
}

/* Waits for the opener, or opens the device here. */
static enum status complete_open(struct worker *worker, struct error *error)
{
    if (!worker->opener.is_running)
        return open_device(worker, error);
    pthread_join(worker->opener.thread, NULL);
    atomic_store(&worker->opener.is_running, false);
    if (worker->opener.status != STATUS_OK)
        *error = worker->opener.error;
    return worker->opener.status;
}

static enum status open_now(struct worker *worker, struct error *error)
{
    struct worker *leader = worker->leader;
    enum status status = leader ? worker_open(leader, error) : complete_open(worker, error);
    if (status == STATUS_OK && leader)
        status = device_share(&leader->opened_as, &worker->device, error);
    if (status != STATUS_OK) {
        device_close(&worker->device); /* the next file tries again */
        return status;
    }
    worker->opened_as = worker->device;
    worker->device.profile = &worker->profile;
    if (worker->context->settings->trace)
        profile_calibrate(&worker->profile, &worker->device);
    run_init(&worker->run, &worker->device, choose_memory(worker->context->settings),
             (enum edge)worker->context->settings->edge);
    worker->run.device_memory = worker->device.memory / (cl_ulong)worker->share.workers;
    worker->run.memory_limit = worker->share.memory_limit;
    worker->run.jobs = worker->share.threads;
    worker->run.timing = &worker->timing;
    worker->open = true;
    worker->measured = true;
    return STATUS_OK;
}

/* Half of the memory is for computing again; rounded up, as 0 means no limit. */
static void share_memory(struct worker *worker)
{
    worker->run.memory_limit = worker->share.memory_limit - worker->share.memory_limit / 2;
    worker->run.memory_halved = true;
    worker->verifier.run.memory_limit = worker->run.memory_limit;
}

static enum status open_verifier(struct worker *worker, struct error *error)
{
    share_memory(worker);
    return verifier_open(&worker->verifier, &worker->run, &worker->opened_as,
                         &worker->context->settings->verify, worker->context->settings->force, error);
}

/* Whether the device is open, and with --verify the verifying one. Call it with the lock held. */
static bool is_open(const struct worker *worker)
{
    return worker->open && (worker->context->settings->verify.share <= 0 || worker->verifier.open);
}

/* The leader may be opening its verifier meanwhile. */
static bool leads(struct worker *leader)
{
    pthread_mutex_lock(&leader->opener.lock);
    const bool open = is_open(leader);
    pthread_mutex_unlock(&leader->opener.lock);
    return open;
}

enum status worker_open(struct worker *worker, struct error *error)
{
    pthread_mutex_lock(&worker->opener.lock);
    enum status status = worker->open ? STATUS_OK : open_now(worker, error);
    if (status == STATUS_OK && !is_open(worker))
        status = open_verifier(worker, error);
    pthread_mutex_unlock(&worker->opener.lock);
    if (status != STATUS_OK) {
        error->named = true;
        /* If a follower finds no room on a busy device, the others can go on. */
        error->reach = worker->leader && leads(worker->leader) ? REACH_FILE : REACH_ALL;
    }
    return status;
}

struct times worker_times(struct worker *worker)
{
    struct times times = {.total = timing_total(&worker->timing)};
    timing_seconds(&worker->timing, times.seconds);
    return times;
}

void worker_charge(struct worker *worker, const struct times *since, int share, struct times *to)
{
    struct times now = worker_times(worker);
    to->total += (now.total - since->total) / share;
    for (int i = 0; i < PART_COUNT; i++)
        to->seconds[i] += (now.seconds[i] - since->seconds[i]) / share;
}

void worker_add(struct worker *worker, struct worker *other)
{
    const struct frame_times *frames = &other->frames;
    timing_merge(&worker->timing, &other->timing);
    if (frames->count > 0) {
        const bool is_first = worker->frames.count == 0 || frames->first < worker->frames.first;
        worker->frames.first = is_first ? frames->first : worker->frames.first;
        worker->frames.last = fmax(worker->frames.last, frames->last);
        worker->frames.count += frames->count;
    }
    if (!worker->measured && other->measured) { /* its own files all failed before a device was needed */
        memcpy(worker->device.name, other->device.name, sizeof worker->device.name);
        worker->run.memory = other->run.memory;
        worker->measured = true;
    }
}

bool worker_device_works(struct worker *worker)
{
    struct error ignored;
    if (worker_open(worker, &ignored) != STATUS_OK)
        return false;
    bool works = transfer_works(&worker->run);
    device_finish(&worker->device);
    profile_discard(&worker->profile);
    return works;
}

void worker_clear(struct worker *worker)
{
    if (worker->open)
        run_clear(&worker->run);
}

void worker_take_all(struct worker *worker)
{
    worker->share.workers = 1;
    worker->share.memory_limit = worker->context->settings->memory_limit;
    if (!worker->open)
        return;
    worker->run.device_memory = worker->device.memory;
    worker->run.memory_limit = worker->share.memory_limit;
    if (worker->verifier.open)
        share_memory(worker);
}

void worker_close(struct worker *worker)
{
    if (worker->opener.is_running)
        pthread_join(worker->opener.thread, NULL); /* a driver must not be interrupted while it starts */
    verifier_close(&worker->verifier);
    if (worker->open)
        run_free(&worker->run);
    profile_free(&worker->profile);
    device_close(&worker->device);
    pthread_mutex_destroy(&worker->opener.lock);
    timing_free(&worker->timing);
}
