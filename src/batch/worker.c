/* Opens, shares and closes workers (worker.h).
 *
 * A driver takes 0.05 to 0.35 s to start. So a thread opens the device while the first input is read; if it
 * cannot be started, worker_open does the same without it. */
#include "batch/worker.h"

#include "base/threads.h"
#include "base/timing.h"
#include "chain/transfer.h"
#include "device/choose.h"
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
    worker->event_log.timing = &worker->timing;
}

/* Finds and opens the worker's own device. */
static enum status open_device(struct worker *worker, struct error *error)
{
    double since = clock_seconds();
    const struct settings *settings = worker->context->settings;
    enum status status = device_open_named(worker->opener.wanted, &settings->environment, settings->force,
                                           &worker->device, error);
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
    struct error ignored = {.text = ""}; /* without a thread, worker_open opens the device */
    /* If the lock is taken, a follower is opening the device. */
    if (worker->leader || pthread_mutex_trylock(&worker->opener.lock) != 0)
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

/* Waits for the thread of worker_begin_open, or opens the device without one. */
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

/* Opens the device and initialises the run. Call it with the lock held. */
static enum status open_worker(struct worker *worker, struct error *error)
{
    struct worker *leader = worker->leader;
    enum status status = leader ? worker_open(leader, error) : complete_open(worker, error);
    if (status == STATUS_OK && leader)
        status = device_share(&leader->opened_as, &worker->device, error);
    if (status != STATUS_OK) {
        device_close(&worker->device); /* the next file opens it again */
        return status;
    }
    worker->opened_as = worker->device;
    worker->device.event_log = &worker->event_log;
    if (worker->context->settings->trace)
        event_log_calibrate(&worker->event_log, &worker->device);
    /* `auto` means buffers: they are faster on every device measured so far (docs/performance.md). */
    const bool images = worker->context->settings->memory == MEMORY_OPTION_IMAGE;
    run_init(&worker->run, &worker->device, images ? MEMORY_IMAGE : MEMORY_BUFFER,
             (enum edge)worker->context->settings->edge);
    worker->run.limits.device = worker->device.memory / (cl_ulong)worker->share.workers;
    worker->run.limits.host = worker->share.memory_limit;
    worker->run.jobs = worker->share.threads;
    worker->run.timing = &worker->timing;
    worker->open = true;
    worker->measured = true;
    return STATUS_OK;
}

/* Divides the memory limit between the worker and its verifier; rounded up, as 0 means no limit. */
static void share_with_verifier(struct worker *worker)
{
    worker->run.limits.host = worker->share.memory_limit - worker->share.memory_limit / 2;
    worker->run.limits.host_halved = true;
    worker->verifier.run.limits.host = worker->run.limits.host;
}

/* True if the device is open, and with --verify the verifier. Call it with the lock held. */
static bool is_open(const struct worker *worker)
{
    return worker->open && (worker->context->settings->verify.share <= 0 || worker->verifier.open);
}

enum status worker_open(struct worker *worker, struct error *error)
{
    pthread_mutex_lock(&worker->opener.lock);
    enum status status = worker->open ? STATUS_OK : open_worker(worker, error);
    if (status == STATUS_OK && !is_open(worker)) {
        const struct settings *settings = worker->context->settings;
        share_with_verifier(worker);
        status = verifier_open(&worker->verifier, &worker->run, &worker->opened_as, &settings->verify,
                               settings->force, error);
    }
    pthread_mutex_unlock(&worker->opener.lock);
    if (status == STATUS_OK)
        return status;
    error->has_name = true;
    error->scope = SCOPE_ALL;
    if (worker->leader) {
        /* If a follower finds no memory on a busy device, the other workers can continue. */
        pthread_mutex_lock(&worker->leader->opener.lock);
        error->scope = is_open(worker->leader) ? SCOPE_FILE : SCOPE_ALL;
        pthread_mutex_unlock(&worker->leader->opener.lock);
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
        const bool is_first = worker->frames.count == 0 || frames->began < worker->frames.began;
        worker->frames.began = is_first ? frames->began : worker->frames.began;
        worker->frames.ended = fmax(worker->frames.ended, frames->ended);
        worker->frames.count += frames->count;
    }
    if (!worker->measured && other->measured) { /* all of its own files failed before they needed a device */
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
    event_log_discard(&worker->event_log);
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
    worker->run.limits.device = worker->device.memory;
    worker->run.limits.host = worker->share.memory_limit;
    if (worker->verifier.open)
        share_with_verifier(worker);
}

void worker_close(struct worker *worker)
{
    if (worker->opener.is_running)
        pthread_join(worker->opener.thread, NULL); /* a driver must not be interrupted while it starts */
    verifier_close(&worker->verifier);
    if (worker->open)
        run_free(&worker->run);
    event_log_free(&worker->event_log);
    device_close(&worker->device);
    pthread_mutex_destroy(&worker->opener.lock);
    timing_free(&worker->timing);
}
