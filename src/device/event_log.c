/* Collects the OpenCL events of launches and copies, and turns their times into events of struct timing.
 *
 * Times of commands are on the device's clock (CL_PROFILING_COMMAND_START and END), which has an arbitrary
 * offset from the host's. event_log_calibrate measures the offset with four markers and uses the fastest,
 * whose uncertainty is smallest. Events are collected after a slice has finished, so no call waits. */
#include "device/event_log.h"

#include "device/device.h"

#include <stdlib.h>
#include <string.h>

enum { CALIBRATIONS = 4 }; /* number of markers */

void event_log_calibrate(struct event_log *event_log, const struct device *device)
{
    double narrowest = 1e9;
    for (int i = 0; i < CALIBRATIONS; i++) {
        cl_event event = NULL;
        cl_ulong queued = 0;

        /* The device's time of the enqueue is between `before` and `after`. */
        double before = clock_seconds();
        if (clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &event) != CL_SUCCESS)
            return;
        double after = clock_seconds();
        clWaitForEvents(1, &event);
        if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, NULL) ==
                CL_SUCCESS &&
            after - before < narrowest) {
            narrowest = after - before;
            event_log->clock_offset = (before + after) / 2 - 1e-9 * (double)queued;
        }
        clReleaseEvent(event);
    }
}

enum status event_log_add(struct event_log *event_log, enum phase phase, const char *name, uint64_t bytes,
                          cl_event event, struct error *error)
{
    struct event_record *records =
        array_grow(event_log->records, event_log->count, sizeof *records, "timing records", error);
    if (!records) {
        clReleaseEvent(event);
        return STATUS_FAILED;
    }
    event_log->records = records;
    records[event_log->count++] =
        (struct event_record){event, phase, name, event_log->owner, event_log->slice, bytes};
    return STATUS_OK;
}

/* Adds a finished command to the timing and releases its event. Fails if the command failed. */
static enum status collect_one(struct event_log *event_log, const struct event_record *record,
                               struct error *error)
{
    const bool is_kernel = record->phase == PHASE_STAGES;
    cl_int state = CL_COMPLETE;
    cl_ulong start = 0, end = 0;
    clGetEventInfo(record->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    clGetEventProfilingInfo(record->event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(record->event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(record->event);
    if (state < 0)
        return fail_opencl(error, state, "%s%s failed on the device", is_kernel ? "kernel " : "",
                           record->name);
    if (!event_log->timing)
        return STATUS_OK;

    /* An end before the start was observed with an H200's driver, when several queues were busy. */
    if (end < start)
        end = start;
    timing_add_event(event_log->timing,
                     &(struct timing_event){.phase = record->phase,
                                            .name = record->name,
                                            .owner = is_kernel ? record->owner.name : NULL,
                                            .owner_index = record->owner.index,
                                            .slice = record->slice,
                                            .bytes = record->bytes,
                                            .begin = event_log->clock_offset + 1e-9 * (double)start,
                                            .end = event_log->clock_offset + 1e-9 * (double)end});
    return STATUS_OK;
}

size_t event_log_mark(const struct event_log *event_log)
{
    return event_log->collected + event_log->count;
}

enum status event_log_collect(struct event_log *event_log, size_t mark, struct error *error)
{
    struct error later = {.text = ""};
    enum status status = STATUS_OK;
    size_t done = mark > event_log->collected ? mark - event_log->collected : 0;
    done = done < event_log->count ? done : event_log->count;
    for (size_t i = 0; i < done; i++)
        if (collect_one(event_log, &event_log->records[i], status == STATUS_OK ? error : &later) != STATUS_OK)
            status = STATUS_FAILED;
    if (done > 0)
        memmove(event_log->records, event_log->records + done,
                (event_log->count - done) * sizeof *event_log->records);
    event_log->count -= done;
    event_log->collected += done;
    return status;
}

void event_log_discard(struct event_log *event_log)
{
    for (size_t i = 0; i < event_log->count; i++)
        clReleaseEvent(event_log->records[i].event);
    event_log->collected += event_log->count;
    event_log->count = 0;
}

void event_log_free(struct event_log *event_log)
{
    event_log_discard(event_log);
    free(event_log->records);
    memset(event_log, 0, sizeof *event_log);
}
