#include "batch/report.h"

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "batch/worker_pool.h"
#include "device/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Drivers cache programs; building faster than this means that it came from the cache. */
static const double CACHED_BUILD = 0.03;

enum { DIGITS = 12 };

static double gigabytes_per_second(const struct timing_sum *kernel)
{
    return kernel->seconds > 0 ? 1e-9 * (double)kernel->bytes / kernel->seconds : 0;
}

static bool is_cached(struct worker *worker)
{
    return timing_part(&worker->timing, PART_BUILD).longest < CACHED_BUILD;
}

static double frame_rate(const struct worker *worker)
{
    const double seconds = worker->frames.last - worker->frames.first;
    return seconds > 0 ? worker->frames.count / seconds : 0;
}

static const char *memory_name(const struct worker *worker)
{
    return worker->run.memory == MEMORY_IMAGE ? "image" : "buffer";
}

/* Prints device time of each kernel by stage, busy time of each part, and wall-clock time. Parts overlap. */
static void print_table(FILE *out, struct worker *worker)
{
    const struct times busy = worker_times(worker);
    fprintf(out, "%s, %s memory\n", worker->device.name, memory_name(worker));
    fprintf(out, "%-18s %-18s %8s %10s %10s %8s\n", "stage", "kernel", "launches", "device ms", "MB moved",
            "GB/s");
    for (size_t i = 0; i < worker->timing.kernel_count; i++) {
        const struct timing_sum *kernel = &worker->timing.kernels[i];
        fprintf(out, "%-18s %-18s %8d %10.3f %10.1f %8.1f\n", kernel->owner, kernel->name, kernel->count,
                1e3 * kernel->seconds, 1e-6 * (double)kernel->bytes, gigabytes_per_second(kernel));
    }
    fprintf(out, "%-18s %-18s %8s %10.3f\n\n%-36s %10s %6s\n", "all kernels", "", "",
            1e3 * busy.seconds[PART_STAGES], "part", "busy ms", "%");
    for (int i = 0; i < PART_COUNT; i++) {
        const double share = busy.total > 0 ? busy.seconds[i] / busy.total : 0;
        char title[64];
        if (!part_is_reported((enum part)i, busy.seconds[i]))
            continue;
        snprintf(title, sizeof title, "%s%s", part_names[i].title,
                 i != PART_BUILD     ? ""
                 : is_cached(worker) ? " (from the driver's cache)"
                                     : " (compiled)");
        fprintf(out, "%-36s %10.1f %6.1f\n", title, 1e3 * busy.seconds[i], 100 * share);
    }
    fprintf(out, "%-36s %10.1f\n", "wall clock", 1e3 * busy.total);
    if (worker->frames.count > 0)
        fprintf(out, "%-36s %10d %10.1f a second\n", "frames", worker->frames.count, frame_rate(worker));
}

static void put_program(void *context, const char *file, const char *options, int edge)
{
    struct json_writer *line = context;
    char *text = NULL;
    struct error ignored;
    text = edge >= 0 ? text_print(&ignored, "%s.cl %s -DEDGE=%d", file, options, edge)
                     : text_print(&ignored, "%s.cl %s", file, options);
    if (text)
        json_put_text(line, NULL, text);
    free(text);
}

/* Prints the same as a JSON object on one line; times in seconds, sizes in bytes. */
static void print_json(FILE *out, struct worker *worker)
{
    const struct times busy = worker_times(worker);
    struct json_writer line = {.out = out};
    json_begin(&line, NULL, '{');
    json_put_text(&line, "device", worker->measured ? worker->device.name : NULL);
    json_put_text(&line, "memory", memory_name(worker));
    json_begin(&line, "stages", '[');
    for (size_t i = 0; i < worker->timing.kernel_count; i++) {
        const struct timing_sum *kernel = &worker->timing.kernels[i];
        json_begin(&line, NULL, '{');
        json_put_text(&line, "stage", kernel->owner);
        json_put_text(&line, "kernel", kernel->name);
        json_put_whole(&line, "launches", kernel->count);
        json_put_number(&line, "device_seconds", round(1e9 * kernel->seconds) / 1e9, DIGITS);
        json_put_whole(&line, "bytes", (long long)kernel->bytes);
        json_put_number(&line, "gb_per_s", round(1e3 * gigabytes_per_second(kernel)) / 1e3, DIGITS);
        json_end(&line, '}');
    }
    json_end(&line, ']');
    json_begin(&line, "parts", '{');
    for (int i = 0; i < PART_COUNT; i++)
        if (part_is_reported((enum part)i, busy.seconds[i]))
            json_put_number(&line, part_names[i].key, round(1e6 * busy.seconds[i]) / 1e6, DIGITS);
    json_end(&line, '}');
    json_put_truth(&line, "build_cached", is_cached(worker));
    json_begin(&line, "programs", '[');
    programs_tell(&worker->device, put_program, &line);
    json_end(&line, ']');
    if (worker->frames.count > 0) {
        json_put_whole(&line, "frames", worker->frames.count);
        json_put_number(&line, "frames_per_s", round(1e3 * frame_rate(worker)) / 1e3, DIGITS);
    }
    json_put_number(&line, "total", round(1e6 * busy.total) / 1e6, DIGITS);
    json_end(&line, '}');
    fputc('\n', out);
}

/* Writes what the workers on each device measured. */
static enum status write_timing(struct worker_pool *pool, const struct timing_option *timing, double began,
                                struct error *error)
{
    FILE *file = timing->file ? side_open(timing->file, "the times", error) : stderr;
    if (!file)
        return STATUS_FAILED;
    for (int i = 0; i < pool->devices; i++) {
        struct worker *sum = worker_pool_sum(pool, i);
        /* JSON is written in any case: an empty file would be none. */
        if (!sum->measured && (timing->form == TIMING_TABLE || i > 0))
            continue;
        sum->timing.parts[PART_PREPARE].seconds = sum->context->chain->prepared;
        sum->timing.began = began;
        (timing->form == TIMING_JSON ? print_json : print_table)(file, sum);
    }
    return file == stderr ? STATUS_OK : side_close(file, timing->file, "the times", error);
}

/* Combines `status` with the outcome of writing a file. */
static enum status add_file(enum status status, enum status written, const struct error *trouble,
                            void (*complain)(const struct error *), struct error *error)
{
    if (written == STATUS_OK)
        return status;
    if (status != STATUS_OK) {
        complain(trouble);
        return status;
    }
    *error = *trouble;
    return STATUS_FAILED;
}

/* Files are overwritten even if nothing was measured, so that nobody takes an earlier run's figures for this
 * one's. */
enum status times_tell(struct worker_pool *pool, const struct settings *settings, double began,
                       enum status status, void (*complain)(const struct error *), struct error *error)
{
    const struct timing_option *timing = &settings->timing;
    struct error trouble;
    bool done = status == STATUS_OK || status == STATUS_PARTIAL;
    if (timing->form != TIMING_ABSENT && (timing->file || done))
        status = add_file(status, write_timing(pool, timing, began, &trouble), &trouble, complain, error);
    if (settings->trace) { /* then there is one worker */
        struct timing *events = &worker_pool_sum(pool, 0)->timing;
        status = add_file(status, timing_write_trace(events, settings->trace, &trouble), &trouble, complain,
                          error);
    }
    return status;
}
