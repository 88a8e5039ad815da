/* Implements worker.h.
 *
 * A driver takes 0.05 to 0.35 s to start. So a thread opens the device while the first input is read. If the
 * thread cannot be started, worker_open opens the device itself. */
#include "batch/worker.h"

#include "base/threads.h"
#include "chain/memory_run.h"
#include "device/device.h"

#include <math.h>
#include <string.h>

void worker_init(struct worker *worker, const struct worker_context *context, struct worker *leader,
                 const char *device_name)
{
    *worker = (struct worker){.context = context,
                              .leader = leader,
                              .share = {.threads = 1, .workers = 1},
                              .opener = {.name = device_name}};
    pthread_mutex_init(&worker->opener.lock, NULL);
    timing_begin(&worker->timing, context->settings->trace != NULL);
    worker->event_log.timing = &worker->timing;
}

/* Chooses and opens the device of a leader. */
static enum status open_own_device(struct worker *worker, struct error *error)
{
    double since = clock_seconds();
    const struct settings *settings = worker->context->settings;
    enum status status = device_open_named(worker->opener.name, &settings->environment, settings->force,
                                           &worker->device, error);
    timing_add(&worker->timing, PHASE_START, "open the device", -1, since);
    return status;
}

static void *open_in_thread(void *context)
{
    struct worker *worker = context;
    worker->opener.status = open_own_device(worker, &worker->opener.error);
    return NULL;
}

bool worker_begin_open(struct worker *worker)
{
    struct error ignored = {.text = ""}; /* without a thread, worker_open opens the device */
    struct worker *owner = worker->leader ? worker->leader : worker;
    struct device_opener *opener = &owner->opener;
    if (pthread_mutex_trylock(&opener->lock) != 0)
        return true; /* another worker is opening the device */
    if (!owner->is_open && !opener->has_thread)
        opener->has_thread = thread_start(&opener->thread, open_in_thread, owner, &ignored) == STATUS_OK;
    const bool is_opening = opener->has_thread;
    pthread_mutex_unlock(&opener->lock);
    return is_opening;
}

/* Sets the memory limits of the run by the worker's share. */
static void set_limits(struct worker *worker)
{
    worker->run.limits.device = worker->device.memory / (cl_ulong)worker->share.workers;
    worker->run.limits.host = worker->share.memory_limit;
}

/* Opens the device, or a share of the leader's, and initialises the run. */
static enum status open_run(struct worker *worker, struct error *error)
{
    struct worker *leader = worker->leader;
    struct device_opener *opener = &worker->opener;
    enum status status;
    if (leader) {
        status = worker_open(leader, error);
    } else if (!opener->has_thread) {
        status = open_own_device(worker, error);
    } else { /* wait for the thread of worker_begin_open */
        pthread_join(opener->thread, NULL);
        opener->has_thread = false;
        status = opener->status;
        if (status != STATUS_OK)
            *error = opener->error;
    }
    if (status == STATUS_OK && leader)
        status = device_share(&leader->shared, &worker->device, error);
    if (status != STATUS_OK) {
        device_close(&worker->device); /* the next job tries again */
        return status;
    }
    worker->shared = worker->device;
    worker->device.event_log = &worker->event_log;
    if (worker->context->settings->trace)
        event_log_calibrate(&worker->event_log, &worker->device);
    /* --memory auto: buffers, which are faster on every device measured so far (docs/performance.md). */
    const bool images = worker->context->settings->memory == MEMORY_OPTION_IMAGE;
    run_init(&worker->run, &worker->device, images ? MEMORY_IMAGE : MEMORY_BUFFER,
             (enum edge)worker->context->settings->edge);
    set_limits(worker);
    worker->run.jobs = worker->share.threads;
    worker->is_open = true;
    worker->knows_device = true;
    return STATUS_OK;
}

/* True if the device is open, and with --verify also the verifier. Call it with worker->opener.lock held. */
static bool is_open(const struct worker *worker)
{
    return worker->is_open && (worker->context->settings->verify.share <= 0 || worker->verifier.is_open);
}

enum status worker_open(struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->context->settings;
    pthread_mutex_lock(&worker->opener.lock);
    enum status status = worker->is_open ? STATUS_OK : open_run(worker, error);
    if (status == STATUS_OK && !is_open(worker))
        status = verifier_open(&worker->verifier, &worker->run, &worker->shared, &settings->verify,
                               settings->force, error);
    pthread_mutex_unlock(&worker->opener.lock);
    if (status == STATUS_OK)
        return status;
    error->has_name = true;
    error->scope = SCOPE_ALL;
    if (worker->leader) {
        /* A follower may find no memory on a busy device: then the other workers can continue. */
        pthread_mutex_lock(&worker->leader->opener.lock);
        error->scope = is_open(worker->leader) ? SCOPE_FILE : SCOPE_ALL;
        pthread_mutex_unlock(&worker->leader->opener.lock);
    }
    return status;
}

struct times worker_times(struct worker *worker)
{
    struct times times = {.total = clock_seconds() - worker->timing.began};
    for (int i = 0; i < PHASE_COUNT; i++)
        times.seconds[i] = timing_phase(&worker->timing, (enum phase)i).seconds;
    return times;
}

void worker_add_elapsed(struct worker *worker, const struct times *since, int job_count, struct times *to)
{
    struct times now = worker_times(worker);
    to->total += (now.total - since->total) / job_count;
    for (int i = 0; i < PHASE_COUNT; i++)
        to->seconds[i] += (now.seconds[i] - since->seconds[i]) / job_count;
}

void worker_add_measurements(struct worker *worker, struct worker *other)
{
    const struct frame_times *frames = &other->frames;
    timing_merge(&worker->timing, &other->timing);
    if (frames->count > 0) {
        if (worker->frames.count == 0 || frames->began < worker->frames.began)
            worker->frames.began = frames->began;
        worker->frames.ended = fmax(worker->frames.ended, frames->ended);
        worker->frames.count += frames->count;
    }
    /* If all jobs of `worker` failed before they needed the device, take the name from `other`. */
    if (!worker->knows_device && other->knows_device) {
        memcpy(worker->device.name, other->device.name, sizeof worker->device.name);
        worker->run.memory = other->run.memory;
        worker->knows_device = true;
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
    if (worker->is_open)
        run_clear(&worker->run);
}

void worker_take_all_memory(struct worker *worker)
{
    worker->share.workers = 1;
    worker->share.memory_limit = worker->context->settings->memory_limit;
    if (worker->is_open)
        set_limits(worker);
}

void worker_close(struct worker *worker)
{
    if (worker->opener.has_thread)
        pthread_join(worker->opener.thread, NULL); /* a driver must not be interrupted while it starts */
    verifier_close(&worker->verifier);
    if (worker->is_open)
        run_free(&worker->run);
    event_log_free(&worker->event_log);
    device_close(&worker->device);
    pthread_mutex_destroy(&worker->opener.lock);
    timing_free(&worker->timing);
}
