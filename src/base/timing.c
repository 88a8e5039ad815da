/* Sums of events for --timing and --report, and the list of all events for --trace.
 *
 * Each event is added to the sum of its phase and, for a kernel's launch, to the sum of that kernel and
 * stage. Events are kept only for a trace, as a long batch has millions. A command has tens of kernels,
 * so their sums are an array that is searched linearly. */
#include "base/timing.h"

#include "base/files.h"
#include "base/json.h"

#include <math.h>
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

const struct phase_name phase_names[PHASE_COUNT] = {
    [PHASE_START] = {"start_up", "start-up"},
    [PHASE_BUILD] = {"build", "kernel build"},
    [PHASE_PREPARE] = {"prepare", "reading files of stages"},
    [PHASE_DECODE] = {"decode", "decode"},
    [PHASE_UPLOAD] = {"upload", "upload"},
    [PHASE_STAGES] = {"stages", "stages"},
    [PHASE_REGISTRATION] = {"registration", "registration"},
    [PHASE_DOWNLOAD] = {"download", "download"},
    [PHASE_ENCODE] = {"encode", "encode"},
    [PHASE_VERIFY] = {"verify", "verify"},
};

bool phase_is_reported(enum phase phase, double seconds)
{
    return seconds > 0 || (phase != PHASE_PREPARE && phase != PHASE_REGISTRATION && phase != PHASE_VERIFY);
}

void timing_begin(struct timing *timing, bool keeps_events)
{
    *timing = (struct timing){.began = clock_seconds(), .keeps_events = keeps_events};
    pthread_mutex_init(&timing->lock, NULL);
}

/* Returns the sum of a kernel in one stage; adds it if it is missing. Returns NULL if out of memory. Called
 * with the lock held. Names of stages are compared by address. */
static struct timing_sum *find_or_add_kernel(struct timing *timing, const char *name, const char *stage,
                                             int index)
{
    for (size_t i = 0; i < timing->kernel_count; i++) {
        struct timing_sum *kernel = &timing->kernels[i];
        if (kernel->owner_index == index && kernel->owner == stage && strcmp(kernel->name, name) == 0)
            return kernel;
    }
    void *grown = realloc(timing->kernels, (timing->kernel_count + 1) * sizeof *timing->kernels);
    if (!grown) {
        timing->is_incomplete = true;
        return NULL;
    }
    timing->kernels = grown;
    timing->kernels[timing->kernel_count] =
        (struct timing_sum){.name = name, .owner = stage, .owner_index = index};
    return &timing->kernels[timing->kernel_count++];
}

static void add_sum(struct timing_sum *sum, const struct timing_sum *more)
{
    sum->count += more->count;
    sum->bytes += more->bytes;
    sum->seconds += more->seconds;
}

void timing_add_event(struct timing *timing, const struct timing_event *event)
{
    const struct timing_sum sum = {.count = event->count > 0 ? event->count : 1,
                                   .bytes = event->bytes,
                                   .seconds = event->end - event->begin};
    pthread_mutex_lock(&timing->lock);
    add_sum(&timing->phases[event->phase], &sum);
    struct timing_sum *kernel =
        event->owner ? find_or_add_kernel(timing, event->name, event->owner, event->owner_index) : NULL;
    if (kernel)
        add_sum(kernel, &sum);

    /* Append the event to the list; drop it if out of memory. */
    if (timing->keeps_events) {
        struct error ignored;
        struct timing_event *events =
            array_grow(timing->events, timing->event_count, sizeof *events, "events", &ignored);
        timing->is_incomplete = timing->is_incomplete || !events;
        timing->events = events ? events : timing->events;
        if (events)
            events[timing->event_count++] = *event;
    }
    pthread_mutex_unlock(&timing->lock);
}

void timing_add(struct timing *timing, enum phase phase, const char *name, int slice, double begin)
{
    timing_add_event(
        timing, &(struct timing_event){
                    .phase = phase, .name = name, .slice = slice, .begin = begin, .end = clock_seconds()});
}

void timing_add_within(struct timing *timing, enum phase phase, enum phase within, const char *name,
                       double begin)
{
    const double seconds = clock_seconds() - begin;
    timing_add(timing, phase, name, -1, begin);
    pthread_mutex_lock(&timing->lock);
    timing->phases[within].seconds -= seconds;
    pthread_mutex_unlock(&timing->lock);
}

struct timing_sum timing_phase(struct timing *timing, enum phase phase)
{
    pthread_mutex_lock(&timing->lock);
    const struct timing_sum sum = timing->phases[phase];
    pthread_mutex_unlock(&timing->lock);
    return sum;
}

void timing_merge(struct timing *timing, struct timing *other)
{
    pthread_mutex_lock(&timing->lock);
    for (int i = 0; i < PHASE_COUNT; i++)
        add_sum(&timing->phases[i], &other->phases[i]);
    for (size_t i = 0; i < other->kernel_count; i++) {
        const struct timing_sum *from = &other->kernels[i];
        struct timing_sum *kernel = find_or_add_kernel(timing, from->name, from->owner, from->owner_index);
        if (kernel)
            add_sum(kernel, from);
    }
    timing->is_incomplete = timing->is_incomplete || other->is_incomplete;
    pthread_mutex_unlock(&timing->lock);
}

/* ---------------------------------------------------------------- trace
 *
 * The format is "Trace Event Format", JSON array form: "M" events name the rows, which Chrome and Perfetto
 * call threads, and "X" events are intervals in microseconds. */

/* The rows of the timeline, from top to bottom. */
enum row { ROW_START, ROW_READER, ROW_UPLOAD, ROW_DEVICE, ROW_DOWNLOAD, ROW_WRITER, ROW_HOST, ROW_COUNT };

static const char *const row_names[ROW_COUNT] = {"start-up", "reader", "upload", "device",
                                                 "download", "writer", "host"};

static const enum row phase_rows[PHASE_COUNT] = {
    [PHASE_START] = ROW_START,       [PHASE_BUILD] = ROW_START,       [PHASE_PREPARE] = ROW_START,
    [PHASE_DECODE] = ROW_READER,     [PHASE_UPLOAD] = ROW_UPLOAD,     [PHASE_STAGES] = ROW_DEVICE,
    [PHASE_REGISTRATION] = ROW_HOST, [PHASE_DOWNLOAD] = ROW_DOWNLOAD, [PHASE_ENCODE] = ROW_WRITER,
    [PHASE_VERIFY] = ROW_WRITER,
};

/* Orders events by row, then by time, for qsort. */
static int compare_events(const void *left, const void *right)
{
    const struct timing_event *a = left, *b = right;
    if (phase_rows[a->phase] != phase_rows[b->phase])
        return phase_rows[a->phase] < phase_rows[b->phase] ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Begins an event of type "M" or "X"; end_event ends it. */
static void begin_event(struct json_writer *out, const char *name, const char *type, enum row row)
{
    json_begin(out, NULL, '{');
    json_put_string(out, "name", name);
    json_put_string(out, "ph", type);
    json_put_integer(out, "pid", 1);
    json_put_integer(out, "tid", row);
}

static void end_event(struct json_writer *out)
{
    json_end(out, '}');
    fputc('\n', out->out);
}

enum status timing_write_trace(struct timing *timing, const char *path, struct error *error)
{
    enum { DIGITS = 15 }; /* significant digits: nanoseconds of up to ten days */
    FILE *file = aux_open(path, "the trace", error);
    if (!file)
        return STATUS_FAILED;
    struct json_writer out = {.out = file};
    if (timing->event_count > 0)
        qsort(timing->events, timing->event_count, sizeof *timing->events, compare_events);
    json_begin(&out, NULL, '[');
    fputc('\n', file);

    /* Name the rows and fix their order. The host's row, the last one, is omitted if it is empty. */
    const bool has_host =
        timing->event_count > 0 && phase_rows[timing->events[timing->event_count - 1].phase] == ROW_HOST;
    for (int i = 0; i < 2 * (has_host ? ROW_COUNT : ROW_HOST); i++) {
        const bool is_name = i % 2 == 0;
        begin_event(&out, is_name ? "thread_name" : "thread_sort_index", "M", (enum row)(i / 2));
        json_begin(&out, "args", '{');
        if (is_name)
            json_put_string(&out, "name", row_names[i / 2]);
        else
            json_put_integer(&out, "sort_index", i / 2);
        json_end(&out, '}');
        end_event(&out);
    }

    /* Write the intervals. */
    for (size_t i = 0; i < timing->event_count; i++) {
        const struct timing_event *event = &timing->events[i];
        char name[128], slice[24] = "";
        if (event->slice >= 0)
            snprintf(slice, sizeof slice, ", slice %d", event->slice);
        snprintf(name, sizeof name, "%s%s%s%s", event->owner ? event->owner : "", event->owner ? ": " : "",
                 event->name, slice);
        begin_event(&out, name, "X", phase_rows[event->phase]);
        json_put_number(&out, "ts", round(1e9 * (event->begin - timing->began)) / 1e3, DIGITS);
        json_put_number(&out, "dur", round(1e9 * (event->end - event->begin)) / 1e3, DIGITS);
        end_event(&out);
    }
    json_end(&out, ']');
    fputc('\n', file);
    enum status status = aux_close(file, path, "the trace", error);
    if (status != STATUS_OK)
        return status;
    return timing->is_incomplete
               ? fail_memory(error, "%s: the trace is incomplete: out of memory", aux_name(path))
               : STATUS_OK;
}

void timing_free(struct timing *timing)
{
    free(timing->events);
    free(timing->kernels);
    pthread_mutex_destroy(&timing->lock);
}
