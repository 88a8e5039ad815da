/* Timing: one list of events of host and device. The table and JSON of --timing, the seconds of --report and
 * the trace are views of it. Parts work at the same time, so their seconds do not add up to the wall clock.
 *
 * Thread safety: any thread may call. */
#ifndef CLIMG_BASE_TIMING_H
#define CLIMG_BASE_TIMING_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Seconds of a monotonic clock with an arbitrary zero. */
double clock_seconds(void);

enum part {
    PART_START,   /* finding the device, creating its context */
    PART_BUILD,   /* kernels */
    PART_PREPARE, /* files that stages read before anything else */
    PART_DECODE,
    PART_UPLOAD,
    PART_STAGES,       /* kernels */
    PART_REGISTRATION, /* finding on the host how pictures are aligned */
    PART_DOWNLOAD,
    PART_ENCODE,
    PART_VERIFY, /* --verify: what was done again; within PART_ENCODE, and taken off there */
    PART_COUNT
};

/* The names of the parts in JSON and in tables. */
struct part_name {
    const char *key, *title;
};

extern const struct part_name part_names[PART_COUNT];

/* True if a report has the part: parts of few runs, such as verifying, only if they took time. */
bool part_is_reported(enum part part, double seconds);

/* Texts must outlive the timing. */
struct timing_event {
    enum part part;
    const char *name;  /* of a kernel, or what the host did */
    const char *owner; /* the stage of a kernel; may be NULL */
    int owner_index;
    int slice;         /* negative: none */
    int count;         /* programs that were built; else 0: one */
    uint64_t bytes;    /* read and written */
    double begin, end; /* times of clock_seconds */
    double longest;    /* seconds of the slowest of several; 0: of all */
};

/* The events of one part, or of one kernel for one owner. */
struct timing_sum {
    const char *name, *owner;
    int owner_index, count;
    uint64_t bytes;
    double seconds, longest;
};

struct timing {
    pthread_mutex_t lock;
    double began;
    struct timing_sum parts[PART_COUNT];
    struct timing_sum *kernels;
    struct timing_event *events; /* all of them, only for a trace */
    size_t kernel_count, event_count, event_capacity;
    bool keeps_events, is_incomplete; /* memory ran out */
};

/* Starts the wall clock. `keeps_events`: for timing_write_trace. */
void timing_begin(struct timing *timing, bool keeps_events);

void timing_add_event(struct timing *timing, const struct timing_event *event);

/* Adds what the host did from `since` until now. Negative slice: no slice. */
void timing_add(struct timing *timing, enum part part, const char *name, int slice, double since);

/* The same, of something that is also within another part, which does not count it. */
void timing_add_within(struct timing *timing, enum part part, enum part within, const char *name,
                       double since);

/* Returns the sum of a part; fills in the seconds of all parts. */
struct timing_sum timing_part(struct timing *timing, enum part part);
void timing_seconds(struct timing *timing, double seconds[PART_COUNT]);

/* Seconds since timing_begin. */
double timing_total(const struct timing *timing);

/* Adds the sums of another timing. */
void timing_merge(struct timing *timing, struct timing *other);

/* Writes all events in the order of their rows and times as JSON, the array form of Chrome's trace events,
 * for Perfetto. */
enum status timing_write_trace(struct timing *timing, const char *path, struct error *error);

void timing_free(struct timing *timing);

#endif
