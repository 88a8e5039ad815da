#include "batch/times.h"

#include "base/json_write.h"
#include "base/text.h"
#include "device/program.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Drivers keep what they built; a program that came from there is ready sooner than any compiler. */
static const double CACHED_BUILD = 0.03;

static const struct {
    const char *key, *title;
} parts[PART_COUNT] = {
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

const char *times_part_key(enum part part)
{
    return parts[part].key;
}

bool times_has_part(enum part part, double seconds)
{
    return seconds > 0 || (part != PART_PREPARE && part != PART_REGISTRATION && part != PART_VERIFY);
}

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

void times_table(FILE *out, struct worker *worker)
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
        if (!times_has_part((enum part)i, busy.seconds[i]))
            continue;
        snprintf(title, sizeof title, "%s%s", parts[i].title,
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

void times_json(FILE *out, struct worker *worker)
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
        if (times_has_part((enum part)i, busy.seconds[i]))
            fprintf(out, "%s\"%s\": %.6f", i ? ", " : "", parts[i].key, busy.seconds[i]);
    fprintf(out, "}, \"build_cached\": %s, \"programs\": [", cached(worker) ? "true" : "false");
    struct listing listing = {.out = out};
    programs_tell(&worker->device, print_program, &listing);
    fprintf(out, "], \"total\": %.6f}\n", busy.total);
}
