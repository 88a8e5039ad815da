/* Wall-clock time: how long each part of the work was busy, and a trace of what happened when. Parts work at
 * the same time, so they do not add up. Any thread may call. */
#ifndef CLIMG_BASE_TIMING_H
#define CLIMG_BASE_TIMING_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>

/* Seconds of a monotonic clock with an arbitrary zero. */
double clock_seconds(void);

enum part {
    PART_START,   /* finding the device, creating its context */
    PART_BUILD,   /* kernels; filled in by the report */
    PART_PREPARE, /* what stages read before anything else; filled in by the report */
    PART_DECODE,
    PART_UPLOAD, /* as the next one, from the device's events; filled in by the report */
    PART_STAGES,
    PART_REGISTRATION, /* where stages find out on the host how pictures lie */
    PART_DOWNLOAD,
    PART_ENCODE,
    PART_VERIFY, /* --verify: what was done again, in the time of PART_ENCODE, and is taken off there */
    PART_COUNT
};

/* The names of the parts in JSON and in tables. */
struct part_name {
    const char *key, *title;
};

extern const struct part_name part_names[PART_COUNT];

/* Whether a part is told: those that few runs have, such as verifying, only where they took time. */
bool part_is_told(enum part part, double seconds);

struct timing {
    pthread_mutex_t lock;
    double began;
    double seconds[PART_COUNT];
    struct trace *trace; /* where each charge is an event too; NULL: nowhere */
};

/* Starts the wall clock. */
void timing_begin(struct timing *timing);

/* Charges what went by since `since`, a time of clock_seconds, to a part that the host does. `what` and the
 * slice (negative: none) name the trace's event. */
void timing_charge(struct timing *timing, enum part part, const char *what, int slice, double since);

/* Since `since` the host did `part` while it is being charged for `within`. */
void timing_charge_within(struct timing *timing, enum part part, enum part within, const char *what,
                          double since);

/* The seconds of every part so far. */
void timing_seconds(struct timing *timing, double seconds[PART_COUNT]);

/* Seconds since timing_begin. */
double timing_total(const struct timing *timing);

/* ---------------------------------------------------------------- trace
 *
 * What happened when, as a file for Perfetto or chrome://tracing. */

/* The rows of the timeline, from top to bottom. */
enum trace_row {
    TRACE_START, /* the device being opened, kernels being built */
    TRACE_READER,
    TRACE_UPLOAD,
    TRACE_DEVICE,
    TRACE_DOWNLOAD,
    TRACE_WRITER,
    TRACE_HOST, /* what stages do without the device; left out where there is nothing */
    TRACE_ROW_COUNT
};

enum { TRACE_NAME_SIZE = 48 };

struct trace_event {
    enum trace_row row;
    int slice; /* negative: none */
    double begin, end;
    char name[TRACE_NAME_SIZE]; /* "blur: product" */
};

struct trace {
    pthread_mutex_t lock;
    double began; /* what the file's times count from */
    struct trace_event *events;
    size_t count, capacity;
    bool lost; /* memory ran out: some events are missing */
};

void trace_begin(struct trace *trace);

/* `name` is copied; times as clock_seconds gives them; a negative slice is none. */
void trace_add(struct trace *trace, enum trace_row row, const char *name, int slice, double begin,
               double end);

/* Writes all events in the order of their rows and times as JSON, the array form of Chrome's trace events. */
enum status trace_write(struct trace *trace, const char *path, struct error *error);

void trace_free(struct trace *trace);

#endif
