#include "base/timing.h"

#include "base/clock.h"

#include <string.h>

const struct part_name part_names[PART_COUNT] = {
    [PART_START] = {"start_up", "start-up"},
    [PART_BUILD] = {"build", "kernel build"},
    [PART_PREPARE] = {"prepare", "reading files of stages"},
    [PART_DECODE] = {"decode", "decode"},
    [PART_UPLOAD] = {"upload", "upload"},
    [PART_STAGES] = {"stages", "stages"},
    [PART_REGISTRATION] = {"registration", "registration"},
    [PART_DOWNLOAD] = {"download", "download"},
    [PART_ENCODE] = {"encode", "encode"},
    [PART_VERIFY] = {"verify", "verify"},
};

bool part_is_told(enum part part, double seconds)
{
    return seconds > 0 || (part != PART_PREPARE && part != PART_REGISTRATION && part != PART_VERIFY);
}

void timing_begin(struct timing *timing)
{
    *timing = (struct timing){.began = clock_seconds()};
    pthread_mutex_init(&timing->lock, NULL);
}

static enum trace_row row_of(enum part part)
{
    switch (part) {
    case PART_DECODE:
        return TRACE_READER;
    case PART_ENCODE:
        return TRACE_WRITER;
    case PART_REGISTRATION:
        return TRACE_HOST;
    default:
        return TRACE_START;
    }
}

void timing_charge(struct timing *timing, enum part part, const char *what, int slice, double since)
{
    double now = clock_seconds();
    pthread_mutex_lock(&timing->lock);
    timing->seconds[part] += now - since;
    pthread_mutex_unlock(&timing->lock);
    if (timing->trace)
        trace_add(timing->trace, row_of(part), what, slice, since, now);
}

void timing_charge_within(struct timing *timing, enum part part, enum part within, const char *what,
                          double since)
{
    double seconds = clock_seconds() - since;
    timing_charge(timing, part, what, -1, since);
    pthread_mutex_lock(&timing->lock);
    timing->seconds[within] -= seconds;
    pthread_mutex_unlock(&timing->lock);
}

void timing_seconds(struct timing *timing, double seconds[PART_COUNT])
{
    pthread_mutex_lock(&timing->lock);
    memcpy(seconds, timing->seconds, sizeof timing->seconds);
    pthread_mutex_unlock(&timing->lock);
}

double timing_total(const struct timing *timing)
{
    return clock_seconds() - timing->began;
}
