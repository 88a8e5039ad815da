/* Records of launches and copies, which become events of a timing (base/timing.h) once their commands have
 * finished.
 *
 *     launch ─▶ event_log_add ─▶ record ─▶ slice finished: event_log_collect ─▶ timing_add_event
 *
 * An event log owns the OpenCL events of its records. Thread safety: it belongs to one thread, as its device
 * does. */
#ifndef CLIMG_DEVICE_EVENT_LOG_H
#define CLIMG_DEVICE_EVENT_LOG_H

#include "base/error.h"
#include "base/timing.h"

#include <CL/cl.h>
#include <stdint.h>

struct device;

/* Step of the chain that a command belongs to: its index, and a name that outlives the log. */
struct event_owner {
    int index;
    const char *name;
};

/* A launch or a copy. */
struct event_record {
    cl_event event;
    enum phase phase;         /* PHASE_STAGES for a kernel, PHASE_UPLOAD or PHASE_DOWNLOAD */
    const char *name;         /* name of the kernel, "upload" or "download"; not copied */
    struct event_owner owner; /* for kernels */
    int slice;                /* negative: none */
    uint64_t bytes;           /* bytes read and written; each plane counts once */
};

/* Records of a device's launches and copies. */
struct event_log {
    /* Set by the pipeline. */
    struct event_owner owner; /* owner of new records */
    int slice;                /* slice of new records */
    struct timing *timing;    /* receives the events; may be NULL */

    /* Private. */
    struct event_record *records; /* not collected yet */
    size_t count;
    size_t collected;    /* number of records that were collected */
    double clock_offset; /* host clock minus device clock, in seconds */
};

/* Measures the offset between the clocks, for a trace. Waits for the device's queue, so call it when the
 * queue is empty. Failures are ignored: the trace then shows kernels at a wrong time. */
void event_log_calibrate(struct event_log *event_log, const struct device *device);

/* Adds a record. The log owns the event from now on, also after a failure. Fails only if out of memory. */
enum status event_log_add(struct event_log *event_log, enum phase phase, const char *name, uint64_t bytes,
                          cl_event event, struct error *error);

/* Returns a mark for event_log_collect: the number of records so far. */
size_t event_log_mark(const struct event_log *event_log);

/* Adds the records before the mark to the timing, and removes them. Their commands must have finished. Fails
 * if a command failed; the message is of the first, as its failure may have caused the others. */
enum status event_log_collect(struct event_log *event_log, size_t mark, struct error *error);

/* Removes all records without adding them, after a failure. */
void event_log_discard(struct event_log *event_log);

/* Removes all records and frees the memory. */
void event_log_free(struct event_log *event_log);

#endif
