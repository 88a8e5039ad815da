#include "batch/crew.h"

#include "base/threads.h"
#include "batch/convert.h"
#include "device/choose.h"
#include "image/output/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

/* A worker and its thread. */
struct member {
    struct crew *crew;
    struct worker worker;
    struct gathering gathering;
    int device; /* index of its device */
    pthread_t thread;
    bool started;
};

/* Returned jobs go first. NULL: there is nothing left for this worker. */
static struct job *take(struct member *member)
{
    struct crew *crew = member->crew;
    struct job *job = NULL;
    pthread_mutex_lock(&crew->lock);
    if (crew->dropped[member->device] || crew->results->ended) {
        job = NULL;
    } else if (crew->returned) {
        job = crew->returned;
        crew->returned = job->next;
        crew->returned_count--;
    } else if (crew->next < crew->list->count) {
        job = &crew->list->jobs[crew->next++];
    }
    pthread_mutex_unlock(&crew->lock);
    return job;
}

/* The most jobs for one group, so that all workers are busy until the end of the list. */
static size_t fair_share(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    size_t left = crew->returned_count + crew->list->count - crew->next;
    pthread_mutex_unlock(&crew->lock);
    return 1 + left / (size_t)crew->count;
}

/* Call it with the lock held. */
static void drop_device(struct member *member)
{
    struct crew *crew = member->crew;
    struct error left = {.text = ""};
    if (crew->dropped[member->device])
        return;
    crew->working--;
    fail(&left, STATUS_FAILED, "%s: the device fails and is left out; the others go on",
         member->worker.device.name[0] ? member->worker.device.name : member->worker.wanted);
    results_say(crew->results, &left);
    crew->dropped[member->device] = true;
}

/* Returns a job to the crew if its device no longer works and another device is left. `result` NULL: the job
 * was taken but not tried. A job whose input was a pipe cannot be done again, so its message stands. */
static bool give_back(struct member *member, struct job *job, const struct result *result)
{
    struct crew *crew = member->crew;
    bool failed = result && result->status != STATUS_OK;
    if (crew->devices == 1 || (failed && (!job_can_begin_again(job) || worker_device_works(&member->worker))))
        return false;
    pthread_mutex_lock(&crew->lock);
    bool goes = crew->dropped[member->device] ? failed || !result : failed && crew->working > 1;
    if (goes) {
        job_close(job); /* before another worker takes it */
        drop_device(member);
        job->next = crew->returned;
        crew->returned = job;
        crew->returned_count++;
    }
    pthread_mutex_unlock(&crew->lock);
    return goes;
}

/* Puts a job off that ran out of memory while other workers were busy. */
static bool put_off(struct crew *crew, struct job *job, const struct result *result)
{
    bool goes =
        !crew->alone && result->status != STATUS_OK && result->error.memory && job_can_begin_again(job);
    if (!goes)
        return false;
    pthread_mutex_lock(&crew->lock);
    job->next = NULL;
    *crew->put_off_end = job;
    crew->put_off_end = &job->next;
    pthread_mutex_unlock(&crew->lock);
    return true;
}

static bool one_folder(const struct list *list)
{
    const char *first = list->jobs[0].output;
    int length = folder_length(first);
    for (size_t i = 1; i < list->count; i++) {
        const char *output = list->jobs[i].output;
        if (folder_length(output) != length || strncmp(output, first, (size_t)length) != 0)
            return false;
    }
    return true;
}

/* Whether all remaining files would fail alike. Outputs below one folder share a disk; with --in-place
 * outputs may lie anywhere. */
static bool ends_all(const struct list *list, const struct result *result)
{
    if (result->status == STATUS_OK || result->error.reach == REACH_FILE)
        return false;
    return result->error.reach == REACH_ALL || (result->error.reach == REACH_DISK && list->output) ||
           one_folder(list);
}

static void report(struct member *member, struct job *job, const struct result *result)
{
    struct crew *crew = member->crew;
    if (give_back(member, job, result) || put_off(crew, job, result))
        return;
    pthread_mutex_lock(&crew->lock);
    results_take(crew->results, job, result);
    if (ends_all(crew->list, result))
        crew->results->ended = true;
    pthread_mutex_unlock(&crew->lock);
}

/* Drops a job that was taken before another one ended the batch. */
static bool abandon(struct crew *crew, struct job *job)
{
    pthread_mutex_lock(&crew->lock);
    bool ended = crew->results->ended;
    pthread_mutex_unlock(&crew->lock);
    if (ended)
        job_close(job);
    return ended;
}

/* Does a group: takes jobs as long as they fit. Returns the job that did not fit, which is the next one;
 * NULL: none. */
static struct job *work_together(struct member *member, struct result *result)
{
    struct crew *crew = member->crew;
    struct gathering *gathering = &member->gathering;
    struct job *odd = NULL;
    while (!odd && gathering_has_room(gathering)) {
        struct job *job = take(member);
        if (!job)
            break;
        odd = gathering_add(gathering, job, result) ? NULL : job;
    }
    gathering_finish(gathering, odd != NULL);
    for (int i = 0; i < gathering->count; i++) {
        struct gathered *gathered = &gathering->members[i];
        if (!gathered->settled && (give_back(member, gathered->job, NULL) || abandon(crew, gathered->job)))
            continue;
        if (!gathered->settled)
            convert(&member->worker, gathered->job, &gathered->result);
        report(member, gathered->job, &gathered->result);
    }
    return odd;
}

static void *work(void *context)
{
    struct member *member = context;
    struct job *job = take(member);
    struct result result = {.group = 1};
    while (job) {
        size_t share = fair_share(member->crew);
        if (share > 1 && gathering_begin(&member->gathering, job, &result, share)) {
            job = work_together(member, &result);
        } else if (give_back(member, job, NULL) || abandon(member->crew, job)) {
            job = NULL;
        } else {
            convert(&member->worker, job, &result);
            report(member, job, &result);
            result = (struct result){.group = 1};
            job = NULL;
        }
        job = job ? job : take(member);
    }
    return NULL;
}

static enum status alone_on_many(const struct settings *settings, struct error *error)
{
    return fail(error, STATUS_USAGE, "--device %s is for several files; a single file needs one device",
                settings->device);
}

/* An input that stat fails for may be a folder. */
static bool has_several(const struct list *list)
{
    return list->several || (list->count > 0 && list->jobs[0].problem != 0);
}

/* The devices: one, all of the best kind (--device all), or those of a list. */
static enum status choose_devices(struct crew *crew, const struct settings *settings, struct error *error)
{
    int *numbers = NULL;
    crew->devices = 1;
    bool all = strcasecmp(settings->device, "all") == 0;
    if (!all && !strchr(settings->device, ','))
        return STATUS_OK;
    if (all && !has_several(crew->list))
        return alone_on_many(settings, error);
    enum status status =
        device_numbers(settings->device, &settings->environment, &numbers, &crew->devices, error);
    if (status == STATUS_OK && crew->devices > 1 && !has_several(crew->list))
        status = alone_on_many(settings, error);
    if (status == STATUS_OK)
        crew->names =
            allocate_zeroed((size_t)crew->devices, sizeof *crew->names, "the list of devices", error);
    if (status == STATUS_OK && !crew->names)
        status = STATUS_FAILED;
    for (int i = 0; status == STATUS_OK && i < crew->devices; i++)
        snprintf(crew->names[i], sizeof crew->names[i], "%d", numbers[i]);
    free(numbers);
    return status;
}

/* At most as many workers as the limit on descriptors allows: each may have an input, an output, its lock,
 * and two spools open. */
static int choose_most(void)
{
    enum { EACH = 5, OTHERS = 40 /* the driver's, the report's, and those inherited */ };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return WORKERS_MAX;
    return limit.rlim_cur < OTHERS + 2 * EACH
               ? 1
               : (int)fmin((double)(limit.rlim_cur - OTHERS) / EACH, WORKERS_MAX);
}

/* As many workers as threads (--jobs), which they share; with --trace one. */
static int choose_count(const struct crew *crew, const struct settings *settings)
{
    int count = settings->jobs > 0 ? settings->jobs : workers_available();
    if (settings->trace)
        return 1;
    int most = choose_most();
    count = count > crew->devices ? count : crew->devices;
    count = count < most ? count : most;
    const size_t jobs = crew->list->count > 0 ? crew->list->count : 1; /* an empty shard has a worker, too */
    return jobs < (size_t)count ? (int)jobs : count;
}

/* Rounded up, as 0 would be no limit. */
static uint64_t share_of(uint64_t limit, uint64_t count)
{
    return limit / count + (limit % count > 0);
}

/* Worker i works on device i % devices; the first on each device is its leader. */
static void set_up(struct crew *crew, const struct command *command, const char *provenance)
{
    const struct settings *settings = &command->settings;
    int jobs = settings->jobs > 0 ? settings->jobs : workers_available();
    for (int i = 0; i < crew->count; i++) {
        struct member *member = &crew->members[i];
        struct worker *worker = &member->worker;
        int device = i % crew->devices;
        member->crew = crew;
        member->device = device;
        worker_init(worker, command, provenance, device == i ? NULL : &crew->members[device].worker,
                    crew->names ? crew->names[device] : settings->device);
        worker->jobs = jobs > crew->count ? jobs / crew->count : 1;
        worker->memory_limit = share_of(settings->memory_limit, (uint64_t)crew->count);
        worker->progress = &crew->results->progress;
        worker->sharing = (crew->count - 1 - device) / crew->devices + 1;
        gathering_init(&member->gathering, worker);
    }
}

enum status crew_open(struct crew *crew, const struct command *command, const char *provenance,
                      const struct list *list, struct results *results, struct error *error)
{
    *crew = (struct crew){.list = list, .results = results};
    crew->put_off_end = &crew->put_off;
    pthread_mutex_init(&crew->lock, NULL);
    enum status status = choose_devices(crew, &command->settings, error);
    if (status != STATUS_OK)
        return status;
    int count = choose_count(crew, &command->settings);
    crew->devices = crew->devices < count ? crew->devices : count;
    crew->working = crew->devices;
    crew->dropped = allocate_zeroed((size_t)count, sizeof *crew->dropped, "the list of devices", error);
    crew->members = allocate_zeroed((size_t)count, sizeof *crew->members, "the workers", error);
    if (!crew->dropped || !crew->members)
        return STATUS_FAILED;
    crew->count = count;
    set_up(crew, command, provenance);
    return STATUS_OK;
}

/* Tries with lower and lower slices until it succeeds or they cannot be lower. */
static void convert_in_less(struct worker *worker, struct job *job, struct result *result)
{
    int limit = 0;
    do {
        worker_clear(worker);
        worker->run.slice_limit = limit;
        convert(worker, job, result);
        limit = result->slice / 2;
    } while (result->status != STATUS_OK && result->error.memory && limit > 0);
    worker->run.slice_limit = 0;
}

/* Jobs returned by failed devices go first. NULL: nothing is left. */
static struct job *take_left(struct crew *crew)
{
    struct job **list = crew->returned ? &crew->returned : &crew->put_off;
    struct job *job = *list;
    if (job)
        *list = job->next;
    return job;
}

/* Does the jobs that were put off, one at a time: first as usual, then in lower and lower slices. */
static void work_alone(struct member *member)
{
    struct crew *crew = member->crew;
    worker_take_all(&member->worker);
    while (!crew->dropped[member->device] && !crew->results->ended) {
        struct job *job = take_left(crew);
        struct result result = {.group = 1};
        if (!job)
            return;
        convert_in_less(&member->worker, job, &result);
        report(member, job, &result);
    }
}

void crew_work(struct crew *crew, const struct resume *resume)
{
    for (int i = 0; i < crew->count; i++)
        crew->members[i].worker.resume = resume;
    for (int i = 1; i < crew->count; i++) {
        struct member *member = &crew->members[i];
        struct error ignored = {.text = ""}; /* the others do its work */
        member->started = thread_start(&member->thread, work, member, &ignored) == STATUS_OK;
    }
    if (crew->count > 0)
        work(&crew->members[0]);
    for (int i = 1; i < crew->count; i++)
        if (crew->members[i].started)
            pthread_join(crew->members[i].thread, NULL);
    /* Jobs may be returned after some workers have ended. */
    for (int i = 0; i < crew->count && crew->returned; i++)
        work(&crew->members[i]);
    crew->alone = true;
    for (int i = 0; i < crew->count && crew->put_off; i++)
        worker_clear(&crew->members[i].worker);
    for (int i = 0; i < crew->count && (crew->put_off || crew->returned); i++)
        work_alone(&crew->members[i]);
}

const struct worker *crew_leader(const struct crew *crew, int device)
{
    return &crew->members[device].worker;
}

struct worker *crew_sum(struct crew *crew, int device, struct error *error)
{
    struct worker *sum = &crew->members[device].worker;
    for (int i = device + crew->devices; i < crew->count; i += crew->devices)
        if (worker_add(sum, &crew->members[i].worker, error) != STATUS_OK)
            return NULL;
    return sum;
}

void crew_close(struct crew *crew)
{
    for (int i = crew->count - 1; i >= 0; i--)
        worker_close(&crew->members[i].worker);
    free(crew->members);
    free(crew->dropped);
    free(crew->names);
    pthread_mutex_destroy(&crew->lock);
}
