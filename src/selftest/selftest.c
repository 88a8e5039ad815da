/* --selftest: runs the test cases on a device, prints the differences and stores the result.
 *
 * Each case runs in buffers and in images, unsliced and in slices of 7 rows, so that halos and borders
 * of slices are covered. An answer is right within 1e-5 of full scale; kernels differ by rounding only,
 * below a tenth of that. On exact devices the bits must also agree with sums.txt; other bits are
 * reported, but are no failure. */
#include "selftest/selftest.h"

#include "base/timing.h"
#include "device/cache.h"
#include "device/device.h"
#include "device/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Largest error that passes; full scale is 1. Rounding stays below a tenth of it. */
static const double TOLERANCE = 1e-5;

enum { SLICE = 7 /* rows */, NAMES_SIZE = 256 };

/* Progress and results of a self-test. */
struct selftest_run {
    struct device *device;
    struct run runs[2]; /* by kind of memory */
    struct profile profile;
    struct timing timing;
    FILE *out;
    bool verbose;
    int tried, wrong, not_run;     /* number of runs: all, with wrong output, failed */
    int other_bits;                /* right outputs with other bits than exact devices */
    double largest_error;          /* largest error of right outputs */
    char wrong_stages[NAMES_SIZE]; /* stages with wrong outputs */
    struct selftest_result result;
    struct error run_error; /* first error of a case that did not run */
};

/* Name of test cases without a stage. */
static const char SAMPLES[] = "samples";

/* Returns the name of a case's stage for messages. */
static const char *stage_name(const struct test_case *test_case)
{
    return test_case->stage[0] ? test_case->stage : SAMPLES;
}

/* Describes a test case: "--scale 4, image of 21x9, 1 channels, uint16 to uint16, mirror". */
static void selftest_describe(const struct test_case *test_case, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s, %s of %dx%d, %d channels, %s to %s%s%s", test_case->stage[0] ? "--" : "",
             stage_name(test_case), test_case->value[0] ? " " : "", test_case->value,
             test_case->levels ? "pyramid" : "image", test_case->width, test_case->height,
             test_case->channels, sample_name(test_case->in), sample_name(test_case->out),
             test_case->linear ? ", linear, " : ", ", edge_words[test_case->edge]);
}

/* Notes a wrong output and, once, its stage. */
static void note_failure(struct selftest_run *run, const struct test_case *test_case, double error)
{
    const char *name = stage_name(test_case);
    char word[48];
    snprintf(word, sizeof word, "%s%s", test_case->stage[0] ? "--" : "", name);
    size_t used = strlen(run->wrong_stages), length = strlen(word);
    bool named = used >= length &&
                 strcmp(run->wrong_stages + used - length, word) == 0; /* a stage's cases are consecutive */
    run->wrong++;
    if (!named)
        snprintf(run->wrong_stages + used, NAMES_SIZE - used, "%s%s", used > 0 ? ", " : "", word);
    if (run->wrong == 1)
        snprintf(run->result.stage, sizeof run->result.stage, "%.31s", word);
    run->result.error = fmax(run->result.error, error);
}

static const char *memory_word(enum memory memory)
{
    return memory == MEMORY_IMAGE ? "image" : "buffer";
}

static const char *slice_word(int slice)
{
    return slice > 0 ? ", in slices" : "";
}

/* Runs a case in one kind of memory, unsliced or in slices. `sum` is the CRC of exact devices; *got
 * receives this one's, and *error grows to this error. */
static void run_once(struct selftest_run *run, const struct test_case *test_case, const struct chain *chain,
                     enum memory memory, int slice, uint32_t sum, uint32_t *got, double *error)
{
    struct comparison comparison;
    char text[256];
    bool sliced = false;
    struct error run_error = {.text = ""};
    enum status status = test_case_run(test_case, chain, &run->runs[memory], &run->timing, slice, &sliced,
                                       &comparison, &run_error);
    if (slice > 0 && !sliced && status == STATUS_OK)
        return;
    run->tried++;
    if (status == STATUS_OK && comparison.error <= TOLERANCE) {
        *error = fmax(*error, comparison.error);
        *got = comparison.sum;
        run->other_bits += comparison.sum != sum;
        if (comparison.sum != sum && run->verbose) {
            selftest_describe(test_case, text, sizeof text);
            fprintf(run->out, "  OTHER BITS %s; %s memory%s\n", text, memory_word(memory), slice_word(slice));
        }
        return;
    }
    selftest_describe(test_case, text, sizeof text);
    fprintf(run->out, "  %s %s; %s memory%s: ", status == STATUS_OK ? "WRONG" : "NO ANSWER", text,
            memory_word(memory), slice_word(slice));
    if (status == STATUS_OK) {
        fprintf(run->out, "sample %zu is %.9g, not %.9g\n", comparison.worst, comparison.got,
                comparison.expected);
        note_failure(run, test_case, comparison.error);
        return;
    }
    fprintf(run->out, "%s\n", run_error.text);
    if (run->not_run++ == 0)
        run->run_error = run_error;
    profile_discard(&run->profile);
}

/* Runs a case in all kinds of memory, unsliced and in slices. */
static enum status run_all_ways(struct selftest_run *run, const struct test_case *test_case, uint32_t sum,
                                struct error *error)
{
    struct chain chain;
    char text[256];
    double largest = 0;
    uint32_t got = 0;
    enum status status = test_case_chain(test_case, &chain, error);
    if (status != STATUS_OK)
        error_prefix(error, "--selftest");
    int memories = run->device->has_images ? 2 : 1;
    for (int memory = 0; status == STATUS_OK && memory < memories; memory++) {
        run_once(run, test_case, &chain, (enum memory)memory, 0, sum, &got, &largest);
        run_once(run, test_case, &chain, (enum memory)memory, SLICE, sum, &got, &largest);
    }
    chain_free(&chain);
    run->largest_error = fmax(run->largest_error, largest);
    selftest_describe(test_case, text, sizeof text);
    if (status == STATUS_OK && run->verbose)
        fprintf(run->out, "  %.1e  %08x  %s\n", largest, got, text);
    return status;
}

/* Prints the names of the kernels that ran, each once. */
static void print_kernels(const struct selftest_run *run)
{
    fputs("  kernels:", run->out);
    for (size_t i = 0; i < run->timing.kernel_count; i++) {
        bool is_printed = false;
        for (size_t k = 0; k < i; k++)
            is_printed = is_printed || strcmp(run->timing.kernels[k].name, run->timing.kernels[i].name) == 0;
        if (!is_printed)
            fprintf(run->out, " %s", run->timing.kernels[i].name);
    }
    fputc('\n', run->out);
}

/* Prints the summary and stores the result, unless some cases were left out or failed to run. */
static void finish(struct selftest_run *run, double seconds)
{
    struct error ignored = {.text = ""};
    struct selftest_result *result = &run->result;
    const struct timing_sum built = timing_part(&run->timing, PART_BUILD);
    char *path = NULL;
    time_t now = time(NULL);
    struct tm date;
    const int right = run->tried - run->wrong - run->not_run;
    result->passed = run->wrong == 0;
    result->error = result->passed ? run->largest_error : result->error;
    if (gmtime_r(&now, &date))
        strftime(result->date, sizeof result->date, "%Y-%m-%d", &date);
    if (run->verbose)
        print_kernels(run);
    fprintf(run->out,
            "%d of %d answers right, the largest error of those %.1e; %.2f s, %.2f of them to build %d "
            "programs\n%d of them are the same bits as on other devices\n",
            right, run->tried, run->largest_error, seconds, built.seconds, built.count,
            right - run->other_bits);
    if (result->passed && run->device->environment->ask)
        fputs("not remembered: these were not all questions\n", run->out);
    else if (result->passed && run->not_run > 0)
        fputs("not remembered: some questions have no answer\n", run->out);
    else if (selftest_result_save(run->device, result, &path, &ignored) == STATUS_OK)
        fprintf(run->out, "remembered in %s\n", path);
    else
        fprintf(run->out, "not remembered: %s\n", ignored.text);
    free(path);
}

/* Runs all selected test cases on an open device. */
static enum status test_device(struct device *device, bool verbose, FILE *out, struct error *error)
{
    struct selftest_run run = {.device = device, .out = out, .verbose = verbose};
    const char *text = selftest_answers, *sums = selftest_sums;
    struct test_case test_case;
    double since = clock_seconds();
    device->profile = &run.profile;
    timing_begin(&run.timing, false);
    run.profile.timing = &run.timing;
    for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++)
        run_init(&run.runs[memory], device, (enum memory)memory, EDGE_CLAMP);
    fprintf(out, "%s, %s, %s, driver %s; kernels for %s, buffers%s\n", device->name, device->platform_name,
            device->version, device->driver, device->class == DEVICE_CPU ? "CPUs" : "GPUs",
            device->has_images ? " and images" : "");
    enum status status = STATUS_OK;
    while (status == STATUS_OK && test_case_next(&text, &test_case)) {
        char *end;
        const uint32_t sum = (uint32_t)strtoul(sums, &end, 16);
        sums = end;
        if (stage_is_selected(device->environment, stage_name(&test_case)))
            status = run_all_ways(&run, &test_case, sum, error);
    }
    device_finish(device);
    for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++)
        run_free(&run.runs[memory]);
    if (status == STATUS_OK)
        finish(&run, clock_seconds() - since);
    profile_free(&run.profile);
    timing_free(&run.timing);
    device->profile = NULL;
    if (status == STATUS_OK && run.wrong > 0)
        status =
            fail(error, STATUS_FAILED, "%s: wrong answers from %s; climg does not use it without --force",
                 device->name, run.wrong_stages);
    else if (status == STATUS_OK && run.not_run > 0)
        status = fail(error, STATUS_FAILED, "%s: %d of %d questions have no answer: %s", device->name,
                      run.not_run, run.tried, run.run_error.text);
    return status;
}

enum status selftest(const struct settings *settings, FILE *out, struct error *error)
{
    struct device device = {0};
    enum status status = device_find(settings->device, &settings->environment, true, &device, error);
    if (status == STATUS_OK)
        status = test_device(&device, settings->verbose, out, error);
    device_close(&device);
    return status;
}
