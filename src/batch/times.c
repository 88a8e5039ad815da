#include "batch/report.h"

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "batch/worker_pool.h"
#include "device/program.h"

#include <string.h>

/* Drivers cache programs; building faster than this means that it came from the cache. */
static const double CACHED_BUILD = 0.03;

static double gigabytes_per_second(const struct profile_sum *sum)
{
    return sum->seconds > 0 ? 1e-9 * (double)sum->bytes / sum->seconds : 0;
}

static bool cached(const struct worker *worker)
{
    return worker->device.slowest_build < CACHED_BUILD;
}

static double frame_rate(const struct worker *worker)
{
    const double seconds = worker->frames.last - worker->frames.first;
    return seconds > 0 ? worker->frames.count / seconds : 0;
}

/* A table: device time of each kernel by stage, busy time of each part, and wall-clock time. Parts overlap.
 */
static void print_table(FILE *out, struct worker *worker)
{
    const struct times busy = worker_times(worker);
    fprintf(out, "%s, %s memory\n", worker->device.name,
            worker->run.memory == MEMORY_IMAGE ? "image" : "buffer");
    fprintf(out, "%-18s %-18s %8s %10s %10s %8s\n", "stage", "kernel", "launches", "device ms", "MB moved",
            "GB/s");
    for (size_t i = 0; i < worker->profile.sum_count; i++) {
        const struct profile_sum *sum = &worker->profile.sums[i];
        fprintf(out, "%-18s %-18s %8d %10.3f %10.1f %8.1f\n", sum->owner.name, sum->name, sum->launches,
                1e3 * sum->seconds, 1e-6 * (double)sum->bytes, gigabytes_per_second(sum));
    }
    fprintf(out, "%-18s %-18s %8s %10.3f\n\n%-36s %10s %6s\n", "all kernels", "", "",
            1e3 * busy.seconds[PART_STAGES], "part", "busy ms", "%");
    for (int i = 0; i < PART_COUNT; i++) {
        const double share = busy.total > 0 ? busy.seconds[i] / busy.total : 0;
        char title[64];
        if (!part_is_told((enum part)i, busy.seconds[i]))
            continue;
        snprintf(title, sizeof title, "%s%s", part_names[i].title,
                 i != PART_BUILD  ? ""
                 : cached(worker) ? " (from the driver's cache)"
                                  : " (compiled)");
        fprintf(out, "%-36s %10.1f %6.1f\n", title, 1e3 * busy.seconds[i], 100 * share);
    }
    fprintf(out, "%-36s %10.1f\n", "wall clock", 1e3 * busy.total);
    if (worker->frames.count > 0)
        fprintf(out, "%-36s %10d %10.1f a second\n", "frames", worker->frames.count, frame_rate(worker));
}

struct listing {
    FILE *out;
    bool begun;
};

static void print_program(void *context, const char *file, const char *options, int edge)
{
    struct listing *listing = context;
    char rule[32] = "";
    if (edge >= 0)
        snprintf(rule, sizeof rule, " -DEDGE=%d", edge);
    fputs(listing->begun ? ", " : "", listing->out);
    /* File names and numbers need no escaping. */
    fprintf(listing->out, "\"%s.cl %s%s\"", file, options, rule);
    listing->begun = true;
}

/* The same as a JSON object on one line; times in seconds, sizes in bytes. */
static void print_json(FILE *out, struct worker *worker)
{
    const struct times busy = worker_times(worker);
    struct json_writer line = {.out = out};
    json_begin(&line, NULL, '{');
    json_put_text(&line, "device", worker->measured ? worker->device.name : NULL);
    json_put_text(&line, "memory", worker->run.memory == MEMORY_IMAGE ? "image" : "buffer");
    fputs(", \"stages\": [", out);
    for (size_t i = 0; i < worker->profile.sum_count; i++) {
        const struct profile_sum *sum = &worker->profile.sums[i];
        fprintf(out,
                "%s{\"stage\": \"%s\", \"kernel\": \"%s\", \"launches\": %d, \"device_seconds\": %.9f, "
                "\"bytes\": %llu, \"gb_per_s\": %.3f}",
                i ? ", " : "", sum->owner.name, sum->name, sum->launches, sum->seconds,
                (unsigned long long)sum->bytes, gigabytes_per_second(sum));
    }
    fputs("], \"parts\": {", out);
    for (int i = 0; i < PART_COUNT; i++)
        if (part_is_told((enum part)i, busy.seconds[i]))
            fprintf(out, "%s\"%s\": %.6f", i ? ", " : "", part_names[i].key, busy.seconds[i]);
    fprintf(out, "}, \"build_cached\": %s, \"programs\": [", cached(worker) ? "true" : "false");
    struct listing listing = {.out = out};
    programs_tell(&worker->device, print_program, &listing);
    fputs("], ", out);
    if (worker->frames.count > 0)
        fprintf(out, "\"frames\": %d, \"frames_per_s\": %.3f, ", worker->frames.count, frame_rate(worker));
    fprintf(out, "\"total\": %.6f}\n", busy.total);
}

/* Writes what the workers on each device measured. */
static enum status write_timing(struct worker_pool *pool, const struct timing_option *timing, double began,
                                struct error *error)
{
    FILE *file = timing->file ? side_open(timing->file, "the times", error) : stderr;
    enum status status = file ? STATUS_OK : STATUS_FAILED;
    for (int i = 0; status == STATUS_OK && i < pool->devices; i++) {
        struct worker *sum = worker_pool_sum(pool, i, error);
        status = sum ? STATUS_OK : STATUS_FAILED;
        /* JSON is written in any case: an empty file would be none. */
        if (!sum || (!sum->measured && (timing->form == TIMING_TABLE || i > 0)))
            continue;
        sum->timing.seconds[PART_PREPARE] = sum->context->chain->prepared;
        sum->timing.began = began;
        (timing->form == TIMING_JSON ? print_json : print_table)(file, sum);
    }
    if (!file || file == stderr)
        return status;
    struct error ignored;
    enum status closed = side_close(file, timing->file, "the times", status == STATUS_OK ? error : &ignored);
    return status == STATUS_OK ? closed : status;
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
    if (settings->trace) {
        struct trace *trace =
            &worker_pool_sum(pool, 0, &trouble)->trace; /* with --trace there is one worker */
        status = add_file(status, trace_write(trace, settings->trace, &trouble), &trouble, complain, error);
    }
    return status;
}
