#include "batch/report.h"

/* Drivers keep what they built; a program that came from there is ready sooner than any compiler. */
static const double CACHED_BUILD = 0.03;

static const struct {
    const char *key, *title;
} parts[PHASE_COUNT] = {
    [PHASE_OTHER] = {"other", "other"},
    [PHASE_START] = {"start_up", "start-up"},
    [PHASE_BUILD] = {"build", "kernel build"},
    [PHASE_DECODE] = {"decode", "decode"},
    [PHASE_UPLOAD] = {"upload", "upload"},
    [PHASE_DEVICE] = {"stages", "stages"},
    [PHASE_LAUNCH] = {"launch", "launch and wait"},
    [PHASE_DOWNLOAD] = {"download", "download"},
    [PHASE_ENCODE] = {"encode", "encode"},
};

static const enum phase order[] = {PHASE_START,  PHASE_BUILD,    PHASE_DECODE, PHASE_UPLOAD, PHASE_DEVICE,
                                   PHASE_LAUNCH, PHASE_DOWNLOAD, PHASE_ENCODE, PHASE_OTHER};

const char *report_part_key(enum phase phase)
{
    return parts[phase].key;
}

static double gigabytes_per_second(const struct profile_sum *sum)
{
    return sum->seconds > 0 ? 1e-9 * (double)sum->bytes / sum->seconds : 0;
}

/* Kernels are built when first launched, inside the time of the stages: charge them to their own part, and so
 * what the device spent neither on kernels nor on building. PoCL makes native code when a kernel first runs,
 * which shows there. */
static double settle(struct session *session)
{
    struct timing *timing = &session->timing;
    double total = timing_total(timing), kernels = 0;
    for (size_t i = 0; i < session->profile.sum_count; i++)
        kernels += session->profile.sums[i].seconds;
    double rest = timing->seconds[PHASE_DEVICE] - session->device.build_seconds - kernels;
    timing->seconds[PHASE_BUILD] += session->device.build_seconds;
    timing->seconds[PHASE_DEVICE] =
        rest > 0 ? kernels : kernels + rest; /* a device may compute side by side */
    timing->seconds[PHASE_LAUNCH] = rest > 0 ? rest : 0;
    session->device.build_seconds = 0;
    return total;
}

static bool cached(const struct session *session)
{
    return session->device.slowest_build < CACHED_BUILD;
}

void report_table(FILE *out, struct session *session)
{
    double total = settle(session), device_seconds = 0;
    fprintf(out, "%s, %s memory\n", session->device.name,
            session->run.memory == MEMORY_IMAGE ? "image" : "buffer");
    fprintf(out, "%-18s %-18s %8s %10s %10s %8s\n", "stage", "kernel", "launches", "device ms", "MB moved",
            "GB/s");
    for (size_t i = 0; i < session->profile.sum_count; i++) {
        const struct profile_sum *sum = &session->profile.sums[i];
        device_seconds += sum->seconds;
        fprintf(out, "%-18s %-18s %8d %10.3f %10.1f %8.1f\n", sum->owner.name, sum->name, sum->launches,
                1e3 * sum->seconds, 1e-6 * (double)sum->bytes, gigabytes_per_second(sum));
    }
    fprintf(out, "%-18s %-18s %8s %10.3f\n\n%-36s %10s %6s\n", "all kernels", "", "", 1e3 * device_seconds,
            "part", "wall ms", "%");
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        double seconds = session->timing.seconds[order[i]];
        char title[64];
        snprintf(title, sizeof title, "%s%s", parts[order[i]].title,
                 order[i] != PHASE_BUILD ? ""
                 : cached(session)       ? " (from the driver's cache)"
                                         : " (compiled)");
        fprintf(out, "%-36s %10.1f %6.1f\n", title, 1e3 * seconds, total > 0 ? 100 * seconds / total : 0);
    }
    fprintf(out, "%-36s %10.1f\n", "total", 1e3 * total);
}

/* Device names are free text. */
static void print_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if ((unsigned char)*text >= 0x20)
            fputc(*text, out);
    }
    fputc('"', out);
}

void report_json(FILE *out, struct session *session)
{
    double total = settle(session);
    fputs("{\"device\": ", out);
    print_string(out, session->device.name);
    fprintf(out, ", \"memory\": \"%s\", \"stages\": [",
            session->run.memory == MEMORY_IMAGE ? "image" : "buffer");
    for (size_t i = 0; i < session->profile.sum_count; i++) {
        const struct profile_sum *sum = &session->profile.sums[i];
        fprintf(out,
                "%s{\"stage\": \"%s\", \"kernel\": \"%s\", \"launches\": %d, \"device_seconds\": %.9f, "
                "\"bytes\": %llu, \"gb_per_s\": %.3f}",
                i ? ", " : "", sum->owner.name, sum->name, sum->launches, sum->seconds,
                (unsigned long long)sum->bytes, gigabytes_per_second(sum));
    }
    fputs("], \"parts\": {", out);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        fprintf(out, "%s\"%s\": %.6f", i ? ", " : "", parts[order[i]].key, session->timing.seconds[order[i]]);
    fprintf(out, "}, \"build_cached\": %s, \"total\": %.6f}\n", cached(session) ? "true" : "false", total);
}
