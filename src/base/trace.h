/* What happened when, as a file for Perfetto or chrome://tracing. Any thread may add. */
#ifndef CLIMG_BASE_TRACE_H
#define CLIMG_BASE_TRACE_H

#include "base/error.h"
#include "base/trace_event.h"

#include <pthread.h>
#include <stdbool.h>

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

/* Writes all events in the order of their rows and times: a picture (trace_svg.h) where the path ends in
 * .svg, else JSON, the array form of Chrome's trace events. */
enum status trace_write(struct trace *trace, const char *path, struct error *error);

void trace_free(struct trace *trace);

#endif
