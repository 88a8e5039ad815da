#include "base/timing.h"

#include "base/clock.h"

void timing_begin(struct timing *timing)
{
    *timing = (struct timing){.began = clock_seconds()};
    timing->since = timing->began;
}

enum phase timing_enter(struct timing *timing, enum phase phase)
{
    enum phase before = timing->current;
    double now = clock_seconds();
    timing->seconds[before] += now - timing->since;
    timing->since = now;
    timing->current = phase;
    return before;
}

double timing_total(struct timing *timing)
{
    timing_enter(timing, timing->current);
    return timing->since - timing->began;
}
