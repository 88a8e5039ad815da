#include "base/timing.h"

#include "base/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

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

/* ---------------------------------------------------------------- trace */

static const char *const row_names[TRACE_ROW_COUNT] = {
    [TRACE_START] = "start-up", [TRACE_READER] = "reader",     [TRACE_UPLOAD] = "upload",
    [TRACE_DEVICE] = "device",  [TRACE_DOWNLOAD] = "download", [TRACE_WRITER] = "writer",
    [TRACE_HOST] = "host",
};

void trace_begin(struct trace *trace)
{
    *trace = (struct trace){.began = clock_seconds()};
    pthread_mutex_init(&trace->lock, NULL);
}

static struct trace_event *new_event(struct trace *trace)
{
    if (trace->count == trace->capacity) {
        size_t capacity = trace->capacity ? 2 * trace->capacity : 256;
        void *grown = realloc(trace->events, capacity * sizeof *trace->events);
        if (!grown)
            return NULL;
        trace->events = grown;
        trace->capacity = capacity;
    }
    return &trace->events[trace->count++];
}

void trace_add(struct trace *trace, enum trace_row row, const char *name, int slice, double begin, double end)
{
    pthread_mutex_lock(&trace->lock);
    struct trace_event *event = new_event(trace);
    if (event) {
        *event = (struct trace_event){.row = row, .slice = slice, .begin = begin, .end = end};
        snprintf(event->name, sizeof event->name, "%s", name);
    } else {
        trace->lost = true;
    }
    pthread_mutex_unlock(&trace->lock);
}

static int compare(const void *left, const void *right)
{
    const struct trace_event *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Names are of kernels, stages and parts: nothing in them needs escaping. */
static void print_events(FILE *file, const struct trace *trace, int rows)
{
    fputs("[\n", file);
    for (int row = 0; row < rows; row++) {
        fprintf(file,
                "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, \"args\": {\"name\": "
                "\"%s\"}},\n",
                row, row_names[row]);
        fprintf(file,
                "{\"name\": \"thread_sort_index\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, \"args\": "
                "{\"sort_index\": %d}}%s\n",
                row, row, row + 1 < rows || trace->count > 0 ? "," : "");
    }
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_event *event = &trace->events[i];
        char slice[24] = "";
        if (event->slice >= 0)
            snprintf(slice, sizeof slice, ", slice %d", event->slice);
        fprintf(
            file,
            "{\"name\": \"%s%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f}%s\n",
            event->name, slice, (int)event->row, 1e6 * (event->begin - trace->began),
            1e6 * (event->end - event->begin), i + 1 < trace->count ? "," : "");
    }
    fputs("]\n", file);
}

enum status trace_write(struct trace *trace, const char *path, struct error *error)
{
    FILE *file = side_open(path, "the trace", error);
    if (!file)
        return STATUS_FAILED;
    if (trace->count > 0)
        qsort(trace->events, trace->count, sizeof *trace->events, compare);
    const bool host = trace->count > 0 && trace->events[trace->count - 1].row == TRACE_HOST;
    print_events(file, trace, host ? TRACE_ROW_COUNT : TRACE_HOST);
    enum status status = side_close(file, path, "the trace", error);
    if (status != STATUS_OK)
        return status;
    return trace->lost ? fail_memory(error, "%s: out of memory for the whole trace", side_name(path))
                       : STATUS_OK;
}

void trace_free(struct trace *trace)
{
    free(trace->events);
    pthread_mutex_destroy(&trace->lock);
}
