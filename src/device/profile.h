/* Records of launches and copies, which become events of a timing (base/timing.h) once their commands have
 * finished. Also reports when a compiler runs, for progress messages.
 *
 *     launch ─▶ profile_add ─▶ record ─▶ slice finished: profile_collect ─▶ timing_add_event
 *
 * A profile owns the OpenCL events of its records. Thread safety: it belongs to one thread, as its device
 * does; the compiling_ functions may be called by any thread. */
#ifndef CLIMG_DEVICE_PROFILE_H
#define CLIMG_DEVICE_PROFILE_H

#include "base/error.h"
#include "base/timing.h"

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

struct device;

/* Step of the chain that a command belongs to: its index, and a name that outlives the profile. */
struct profile_owner {
    int index;
    const char *name;
};

/* A launch or a copy. */
struct profile_record {
    cl_event event;
    enum part part;             /* PART_STAGES for a kernel, PART_UPLOAD or PART_DOWNLOAD */
    const char *name;           /* name of the kernel, "upload" or "download"; not copied */
    struct profile_owner owner; /* for kernels */
    int slice;                  /* negative: none */
    uint64_t bytes;             /* bytes read and written; each plane counts once */
};

/* Records of a device's launches and copies. */
struct profile {
    /* Set by the pipeline. */
    struct profile_owner owner; /* owner of new records */
    int slice;                  /* slice of new records */
    struct timing *timing;      /* receives the events; may be NULL */

    /* Private. */
    struct profile_record *records; /* not collected yet */
    size_t count, capacity;
    size_t collected;    /* number of records that were collected */
    double clock_offset; /* host clock minus device clock, in seconds */
};

/* Measures the offset between the clocks, for a trace. Waits for the device's queue, so call it when the
 * queue is empty. Failures are ignored: the trace then shows kernels at a wrong time. */
void profile_calibrate(struct profile *profile, const struct device *device);

/* Adds a record. The profile owns the event from now on, also after a failure. Fails only if memory is
 * out. */
enum status profile_add(struct profile *profile, enum part part, const char *name, uint64_t bytes,
                        cl_event event, struct error *error);

/* Returns a mark for profile_collect: the number of records so far. */
size_t profile_mark(const struct profile *profile);

/* Moves the records before the mark to the timing. Their commands must have finished. Fails if one of
 * them failed. */
enum status profile_collect(struct profile *profile, size_t mark, struct error *error);

/* Drops all records, after a failure. */
void profile_discard(struct profile *profile);

/* Drops all records and frees the memory. */
void profile_free(struct profile *profile);

/* ---------------------------------------------------------------- compilers
 *
 * Thread safety: any thread may call. */

/* Enclose a call that may compile, such as clBuildProgram. */
void compiling_begin(void);
void compiling_end(void);

/* Sets a function that is called when compilation begins and ends, once for concurrent calls: when the first
 * begins, and when the last ends. `spent`: seconds of compilation so far. The function runs under a lock, so
 * it must not compile. NULL removes it. */
void compiling_watch(void (*watch)(bool begins, double spent));

#endif
