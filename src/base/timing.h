/* How long each part of the work was busy, and the wall clock. Parts work at the same time, so they do not
 * add up to it. Any thread may call. */
#ifndef CLIMG_BASE_TIMING_H
#define CLIMG_BASE_TIMING_H

#include "base/trace.h"

#include <pthread.h>

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

/* What JSON and people call the parts. */
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

#endif
