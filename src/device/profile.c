/* Collects the OpenCL events of launches and copies, and turns their times into events of struct timing.
 *
 * Times of commands are the device's own (CL_PROFILING_COMMAND_START and END). Its clock has an
 * arbitrary offset from the host's; profile_calibrate measures it with markers and keeps the fastest of
 * four, whose uncertainty is least. Events are collected after a slice has finished, so no call waits. */
#include "device/profile.h"

#include "base/timing.h"
#include "device/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALIBRATIONS = 4 };

void profile_calibrate(struct profile *profile, const struct device *device)
{
    double narrowest = 1e9;
    for (int i = 0; i < CALIBRATIONS; i++) {
        cl_event event = NULL;
        cl_ulong queued = 0;
        double before = clock_seconds();
        if (clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &event) != CL_SUCCESS)
            return;
        double after = clock_seconds();
        clWaitForEvents(1, &event);
        if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, NULL) ==
                CL_SUCCESS &&
            after - before < narrowest) {
            narrowest = after - before;
            profile->clock_offset = (before + after) / 2 - 1e-9 * (double)queued;
        }
        clReleaseEvent(event);
    }
}

enum status profile_add(struct profile *profile, enum profile_kind kind, const char *name, uint64_t bytes,
                        cl_event event, struct error *error)
{
    if (profile->count == profile->capacity) {
        size_t capacity = profile->capacity ? 2 * profile->capacity : 64;
        void *grown = realloc(profile->records, capacity * sizeof *profile->records);
        if (!grown) {
            clReleaseEvent(event);
            return fail_memory(error, "out of memory for timing records");
        }
        profile->records = grown;
        profile->capacity = capacity;
    }
    profile->records[profile->count++] =
        (struct profile_record){event, kind, name, profile->owner, profile->slice, bytes};
    return STATUS_OK;
}

/* Adds one event to the timing, on the host's clock. */
static void add_event(const struct profile *profile, const struct profile_record *record, cl_ulong start,
                      cl_ulong end)
{
    static const enum part parts[] = {PART_STAGES, PART_UPLOAD, PART_DOWNLOAD};
    const bool is_kernel = record->kind == PROFILE_KERNEL;
    timing_add_event(profile->timing,
                     &(struct timing_event){.part = parts[record->kind],
                                            .name = record->name,
                                            .owner = is_kernel ? record->owner.name : NULL,
                                            .owner_index = record->owner.index,
                                            .slice = record->slice,
                                            .bytes = record->bytes,
                                            .begin = profile->clock_offset + 1e-9 * (double)start,
                                            .end = profile->clock_offset + 1e-9 * (double)end});
}

/* Reads the times of a finished command and releases its event. Fails if the command failed. */
static enum status collect_one(struct profile *profile, struct profile_record *record, struct error *error)
{
    cl_int state = CL_COMPLETE;
    cl_ulong start = 0, end = 0;
    clGetEventInfo(record->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    clGetEventProfilingInfo(record->event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(record->event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(record->event);
    record->event = NULL;
    if (state < 0) {
        fail(error, STATUS_FAILED, "kernel %s failed on the device: %s", record->name, cl_error_name(state));
        return cl_failed(state, error);
    }
    /* Observed with an H200's driver, when several queues were busy. */
    if (end < start)
        end = start;
    if (profile->timing)
        add_event(profile, record, start, end);
    return STATUS_OK;
}

size_t profile_mark(const struct profile *profile)
{
    return profile->collected + profile->count;
}

enum status profile_collect(struct profile *profile, size_t mark, struct error *error)
{
    enum status status = STATUS_OK;
    size_t done = mark > profile->collected ? mark - profile->collected : 0;
    done = done < profile->count ? done : profile->count;
    for (size_t i = 0; i < done; i++)
        if (collect_one(profile, &profile->records[i], error) != STATUS_OK)
            status = STATUS_FAILED;
    if (done > 0)
        memmove(profile->records, profile->records + done,
                (profile->count - done) * sizeof *profile->records);
    profile->count -= done;
    profile->collected += done;
    return status;
}

void profile_discard(struct profile *profile)
{
    for (size_t i = 0; i < profile->count; i++)
        clReleaseEvent(profile->records[i].event);
    profile->collected += profile->count;
    profile->count = 0;
}

void profile_free(struct profile *profile)
{
    profile_discard(profile);
    free(profile->records);
    memset(profile, 0, sizeof *profile);
}

/* ---------------------------------------------------------------- compilers */

static const double LEAST =
    0.05; /* seconds; a shorter call is a plain launch, or loads a program from a cache */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int at_work;  /* number of calls in progress */
static double since; /* start of the first of them */
static double spent; /* seconds of finished calls */
static void (*watch)(bool begins, double spent);

void compiling_watch(void (*watcher)(bool begins, double spent))
{
    pthread_mutex_lock(&lock);
    watch = watcher;
    pthread_mutex_unlock(&lock);
}

void compiling_begin(void)
{
    pthread_mutex_lock(&lock);
    if (at_work++ == 0) {
        since = clock_seconds();
        if (watch)
            watch(true, spent);
    }
    pthread_mutex_unlock(&lock);
}

void compiling_end(void)
{
    pthread_mutex_lock(&lock);
    const double seconds = clock_seconds() - since;
    if (--at_work == 0) {
        spent += seconds >= LEAST ? seconds : 0;
        if (watch)
            watch(false, spent);
    }
    pthread_mutex_unlock(&lock);
}
