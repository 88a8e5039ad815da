/* Timing: sums of events of host and device for --timing and --report, and with --trace the list of all
 * events.
 *
 * Reader, device and writer work at the same time, so the sum of all phases may exceed the elapsed time. Out
 * of memory, sums of kernels and events are dropped without a message, and timing_write_trace fails. Names
 * are not copied and must outlive the struct timing.
 *
 * Thread safety: any thread may call any function, except timing_begin, timing_write_trace and timing_free.
 */
#ifndef CLIMG_BASE_TIMING_H
#define CLIMG_BASE_TIMING_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the seconds of a monotonic clock with an arbitrary zero. */
double clock_seconds(void);

/* The kinds of work of a command. */
enum phase {
    PHASE_START,        /* finding the device and creating its context */
    PHASE_BUILD,        /* compiling programs, or loading them from a cache */
    PHASE_PREPARE,      /* reading the files of stages, such as a kernel or a reference picture */
    PHASE_DECODE,       /* reader thread */
    PHASE_UPLOAD,       /* from host to device */
    PHASE_STAGES,       /* running kernels, including unpack and pack */
    PHASE_REGISTRATION, /* aligning pictures, on the host */
    PHASE_DOWNLOAD,     /* from device to host */
    PHASE_ENCODE,       /* writer thread, without PHASE_VERIFY */
    PHASE_VERIFY,       /* waiting for the second computation of --verify, and the comparison */
    PHASE_COUNT
};

/* The names of a phase in reports. */
struct phase_name {
    const char *key;   /* in JSON: "start_up" */
    const char *title; /* in tables: "start-up" */
};

extern const struct phase_name phase_names[PHASE_COUNT];

/* True if a report lists the phase. Parts that few commands have, such as PHASE_VERIFY, are listed only if
 * they took time. */
bool phase_is_reported(enum phase phase, double seconds);

/* An interval of work. */
struct timing_event {
    enum phase phase;
    const char *name;  /* the kernel, or the host's activity */
    const char *owner; /* the stage that enqueued the kernel; NULL for other events */
    int owner_index;   /* position of that stage in the chain */
    int slice;         /* negative: none */
    int count;         /* PHASE_BUILD: number of programs built together; 0 means 1 */
    uint64_t bytes;    /* bytes that the device read and wrote, or that were transferred */
    double begin, end; /* times of clock_seconds */
};

/* Sum of the events of one phase, or of one kernel in one stage. */
struct timing_sum {
    const char *name, *owner; /* kernels only */
    int owner_index;
    int count;      /* number of events, or of programs */
    uint64_t bytes; /* total */
    double seconds; /* total */
};

struct timing {
    double began;      /* time of timing_begin */
    bool keeps_events; /* for timing_write_trace */

    pthread_mutex_t lock; /* guards everything below */
    struct timing_sum phases[PHASE_COUNT];
    struct timing_sum *kernels; /* in the order of their first launch */
    size_t kernel_count;
    struct timing_event *events; /* all events; only if keeps_events is set */
    size_t event_count;
    bool is_incomplete; /* out of memory: some sums or events are missing */
};

/* Initialises the struct and records the start time. `keeps_events`: for timing_write_trace. */
void timing_begin(struct timing *timing, bool keeps_events);

/* Adds an event, which is copied. */
void timing_add_event(struct timing *timing, const struct timing_event *event);

/* Adds an event of the host that lasted from `begin` (clock_seconds) until now. Negative slice: none. */
void timing_add(struct timing *timing, enum phase phase, const char *name, int slice, double begin);

/* Like timing_add without a slice, for work inside an event of the phase `within`. Subtracts the seconds from
 * that phase, so that they count once. */
void timing_add_within(struct timing *timing, enum phase phase, enum phase within, const char *name,
                       double begin);

/* Returns the sum of a phase. */
struct timing_sum timing_phase(struct timing *timing, enum phase phase);

/* Adds the sums of another timing, which no other thread uses any more. Its events are not copied. */
void timing_merge(struct timing *timing, struct timing *other);

/* Writes all events, sorted by row (thread or device) and time, as Chrome's trace events for Perfetto. "-"
 * is stdout. Fails also if the trace is incomplete. */
enum status timing_write_trace(struct timing *timing, const char *path, struct error *error);

/* Frees sums, events and the lock, not the struct. */
void timing_free(struct timing *timing);

#endif
