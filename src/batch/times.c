#include "batch/times.h"

#include "base/json_write.h"
#include "base/side.h"
#include "base/text.h"
#include "device/program.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Drivers keep what they built; a program that came from there is ready sooner than any compiler. */
static const double CACHED_BUILD = 0.03;

static double gigabytes_per_second(const struct profile_sum *sum)
{
    return sum->seconds > 0 ? 1e-9 * (double)sum->bytes / sum->seconds : 0;
}

static bool cached(const struct worker *worker)
{
    return worker->device.slowest_build < CACHED_BUILD;
}

static bool writes_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    bool utf8 = locale != (locale_t)0 && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    if (locale != (locale_t)0)
        freelocale(locale);
    return utf8;
}

/* A part's share of the time as a bar, for terminals that can show it (no-color.org). */
static void print_bar(FILE *out, double share, const struct environment *environment)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    enum { COLUMNS = 24, EIGHTHS = 8 };
    const bool coloured = environment->no_color == NULL;
    const int length = (int)lround(fmin(share, 1) * COLUMNS * EIGHTHS);
    fprintf(out, "  %s", coloured ? "\033[36m" : "");
    for (int i = 0; i < length / EIGHTHS; i++)
        fputs("█", out);
    fprintf(out, "%s%s", eighths[length % EIGHTHS], coloured ? "\033[0m" : "");
}

/* For people: device time of every kernel by stage, then how long every part was busy, and the wall clock:
 * parts overlap. */
static void print_table(FILE *out, struct worker *worker)
{
    const struct times busy = worker_times(worker);
    const bool bars = isatty(fileno(out)) && writes_utf8();
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
        fprintf(out, "%-36s %10.1f %6.1f", title, 1e3 * busy.seconds[i], 100 * share);
        if (bars)
            print_bar(out, share, worker->device.environment);
        fputc('\n', out);
    }
    fprintf(out, "%-36s %10.1f\n", "wall clock", 1e3 * busy.total);
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
    /* Of file names and numbers: nothing to be escaped. */
    fprintf(listing->out, "\"%s.cl %s%s\"", file, options, rule);
    listing->begun = true;
}

/* The same as one JSON object on one line; times in seconds, bytes as they are. */
static void print_json(FILE *out, struct worker *worker)
{
    const struct times busy = worker_times(worker);
    fputs("{\"device\": ", out);
    json_print_text(out, worker->device.name);
    fprintf(out, ", \"memory\": \"%s\", \"stages\": [",
            worker->run.memory == MEMORY_IMAGE ? "image" : "buffer");
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
    fprintf(out, "], \"total\": %.6f}\n", busy.total);
}

/* What the workers on each device measured. */
static enum status write_timing(struct crew *crew, const struct timing_option *timing, double began,
                                struct error *error)
{
    FILE *file = timing->file ? side_open(timing->file, "the times", error) : stderr;
    enum status status = file ? STATUS_OK : STATUS_FAILED;
    for (int i = 0; status == STATUS_OK && i < crew->devices; i++) {
        struct worker *sum = crew_sum(crew, i, error);
        status = sum ? STATUS_OK : STATUS_FAILED;
        if (!sum || !sum->measured)
            continue;
        sum->timing.seconds[PART_PREPARE] = sum->chain->prepared;
        sum->timing.began = began;
        (timing->form == TIMING_JSON ? print_json : print_table)(file, sum);
    }
    if (!file || file == stderr)
        return status;
    struct error ignored;
    enum status closed = side_close(file, timing->file, "the times", status == STATUS_OK ? error : &ignored);
    return status == STATUS_OK ? closed : status;
}

/* What becomes of `status` with a file that was written, or else is in trouble. */
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

/* Files are written anew even where nothing was measured: figures of an earlier run would be taken for this
 * one's. */
enum status times_tell(struct crew *crew, const struct settings *settings, double began, enum status status,
                       void (*complain)(const struct error *), struct error *error)
{
    const struct timing_option *timing = &settings->timing;
    struct error trouble;
    bool done = status == STATUS_OK || status == STATUS_PARTIAL;
    if (timing->form != TIMING_ABSENT && (timing->file || done))
        status = add_file(status, write_timing(crew, timing, began, &trouble), &trouble, complain, error);
    if (settings->trace) {
        struct trace *trace = &crew_sum(crew, 0, &trouble)->trace; /* it has one worker then */
        status = add_file(status, trace_write(trace, settings->trace, &trouble), &trouble, complain, error);
    }
    return status;
}
