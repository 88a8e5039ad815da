/* --selftest: runs the test cases on a device, prints the differences and stores the result.
 *
 *     answers.txt ─▶ test case ─▶ chain ─▶ buffers, images ─▶ unsliced, in slices of 7 rows ─▶ comparison
 *
 * An output is right if it differs from the answers by at most 1e-5 of full scale, or of the answer if that
 * is larger: more than ten times the rounding error of a chain. The output's checksum is compared with
 * sums.txt, too. A right output with another checksum ("other bits") is counted, but is no failure. */
#include "selftest/selftest.h"

#include "base/text.h"
#include "base/timing.h"
#include "device/cache.h"
#include "device/device.h"
#include "device/event_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Largest error that passes; full scale is 1. */
static const double TOLERANCE = 1e-5;

enum { SLICE = 7 /* rows of a slice, to test halos */ };

struct selftest_run {
    struct device *device;
    struct run runs[2]; /* by kind of memory */
    struct event_log event_log;
    struct timing timing;
    FILE *out;
    bool verbose;

    /* Numbers of runs. */
    int tried;
    int wrong;      /* with wrong output */
    int not_run;    /* without output, as the run failed */
    int other_bits; /* with right output, but another checksum than in sums.txt */

    /* Results. */
    double largest_error;          /* of right outputs; full scale is 1 */
    char wrong_stages[256];        /* stages with wrong outputs: "--blur, --scale" */
    struct error run_error;        /* error of the first run that failed */
    struct selftest_result result; /* to be stored */
};

/* Returns the name of a case's stage for messages and CLIMG_STAGES. */
static const char *stage_name(const struct test_case *test_case)
{
    return test_case->stage[0] ? test_case->stage : "samples";
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

/* Runs a case in one kind of memory, unsliced (0) or in slices of `slice` rows, and counts and prints the
 * outcome. Does nothing if the case cannot be sliced. `sum` is the CRC-32 in sums.txt. If the output is
 * right, sets *got to its CRC-32, and *error to its error if that is larger. */
static void run_once(struct selftest_run *run, const struct test_case *test_case, const struct chain *chain,
                     enum memory memory, int slice, uint32_t sum, uint32_t *got, double *error)
{
    struct comparison comparison;
    char text[256];
    bool sliced = false;
    struct error run_error = {.text = ""};
    const bool has_run = test_case_run(test_case, chain, &run->runs[memory], slice, &sliced, &comparison,
                                       &run_error) == STATUS_OK;
    if (slice > 0 && !sliced && has_run)
        return;
    run->tried++;
    const bool is_right = has_run && comparison.error <= TOLERANCE,
               is_exact = is_right && comparison.sum == sum;
    if (is_right) {
        *error = fmax(*error, comparison.error);
        *got = comparison.sum;
        run->other_bits += !is_exact;
    }
    if (is_exact || (is_right && !run->verbose))
        return;
    selftest_describe(test_case, text, sizeof text);
    fprintf(run->out, "  %s %s; %s memory%s",
            is_right  ? "OTHER BITS"
            : has_run ? "WRONG"
                      : "FAILED",
            text, memory == MEMORY_IMAGE ? "image" : "buffer", slice > 0 ? ", in slices" : "");
    if (!has_run) {
        fprintf(run->out, ": %s", run_error.text);
        if (run->not_run++ == 0)
            run->run_error = run_error;
        event_log_discard(&run->event_log);
    } else if (!is_right) {
        fprintf(run->out, ": sample %zu is %.9g, not %.9g", comparison.worst, comparison.got,
                comparison.expected);
        snprintf(text, sizeof text, "%s%s", test_case->stage[0] ? "--" : "", stage_name(test_case));
        text_add_item(run->wrong_stages, sizeof run->wrong_stages, ", ", text);
        if (run->wrong++ == 0)
            snprintf(run->result.stage, sizeof run->result.stage, "%.31s", text);
        run->result.error = fmax(run->result.error, comparison.error);
    }
    fputc('\n', run->out);
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

/* Prints the summary and stores the result. `seconds` is the duration of the self-test. */
static void finish_selftest(struct selftest_run *run, double seconds)
{
    struct error ignored = {.text = ""};
    struct selftest_result *result = &run->result;
    const struct timing_sum *kernels = run->timing.kernels, built = timing_phase(&run->timing, PHASE_BUILD);
    char *path = NULL;
    time_t now = time(NULL);
    struct tm date;
    const int right = run->tried - run->wrong - run->not_run;
    result->passed = run->wrong == 0;
    result->error = result->passed ? run->largest_error : result->error;
    if (gmtime_r(&now, &date))
        strftime(result->date, sizeof result->date, "%Y-%m-%d", &date);

    /* -v: print the names of the kernels that ran, each once. */
    char names[4096] = "";
    for (size_t i = 0; i < run->timing.kernel_count; i++)
        text_add_item(names, sizeof names, " ", kernels[i].name);
    if (run->verbose)
        fprintf(run->out, "  kernels: %s\n", names);

    /* Print the summary. */
    fprintf(run->out,
            "%d of %d outputs are right (largest error %.1e); %.2f s, %.2f of them to build %d programs\n"
            "%d outputs have the same bits as on other devices\n",
            right, run->tried, run->largest_error, seconds, built.seconds, built.count,
            right - run->other_bits);

    /* Store the result: a failure always, but a pass only if all test cases ran. */
    if (result->passed && run->device->environment->only_stages)
        fputs("not stored: only some test cases ran (CLIMG_STAGES)\n", run->out);
    else if (result->passed && run->not_run > 0)
        fputs("not stored: some test cases failed to run\n", run->out);
    else if (selftest_result_save(run->device, result, &path, &ignored) == STATUS_OK)
        fprintf(run->out, "stored in %s\n", path);
    else
        fprintf(run->out, "not stored: %s\n", ignored.text);
    free(path);
}

enum status selftest(const struct settings *settings, FILE *out, struct error *error)
{
    struct device device = {0};
    struct selftest_run run = {.device = &device, .out = out, .verbose = settings->verbose};
    const char *text = selftest_answers, *sums = selftest_sums;
    struct test_case test_case;
    enum status status = device_open_named(settings->device, &settings->environment, true, &device, error);
    if (status != STATUS_OK) {
        device_close(&device);
        return status;
    }
    const double since = clock_seconds();

    /* Open a run for each kind of memory. */
    device.event_log = &run.event_log;
    timing_begin(&run.timing, false);
    run.event_log.timing = &run.timing;
    for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++)
        run_init(&run.runs[memory], &device, (enum memory)memory, EDGE_CLAMP);
    fprintf(out, "%s, %s, %s, driver %s; kernels for %s, buffers%s\n", device.name, device.platform_name,
            device.version, device.driver, device.variant == VARIANT_CPU ? "CPUs" : "GPUs",
            device.has_images ? " and images" : "");

    /* Run the test cases. Each has a line in sums.txt. */
    while (status == STATUS_OK && test_case_next(&text, &test_case)) {
        char *end;
        const uint32_t sum = (uint32_t)strtoul(sums, &end, 16);
        sums = end;
        if (stage_is_selected(device.environment, stage_name(&test_case)))
            status = run_all_ways(&run, &test_case, sum, error);
    }
    device_finish(&device);
    for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++)
        run_free(&run.runs[memory]);
    if (status == STATUS_OK)
        finish_selftest(&run, clock_seconds() - since);
    event_log_free(&run.event_log);
    timing_free(&run.timing);
    device.event_log = NULL;
    if (status == STATUS_OK && run.wrong > 0)
        status =
            fail(error, STATUS_FAILED, "%s: wrong answers from %s; climg does not use it without --force",
                 device.name, run.wrong_stages);
    else if (status == STATUS_OK && run.not_run > 0)
        status = fail(error, STATUS_FAILED, "%s: %d of %d runs failed: %s", device.name, run.not_run,
                      run.tried, run.run_error.text);
    device_close(&device);
    return status;
}
