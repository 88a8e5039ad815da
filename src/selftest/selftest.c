/* Puts the questions to a device and remembers what it found. */
#include "selftest/selftest.h"

#include "base/timing.h"
#include "device/cache.h"
#include "device/device.h"
#include "device/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The largest error that passes, of full scale. Rounding stays below a tenth of it. */
static const double TOLERANCE = 1e-5;

enum { SLICE = 7 /* rows */, NAMES_SIZE = 256 };

struct exam {
    struct device *device;
    struct run runs[2]; /* by memory */
    struct profile profile;
    struct timing timing;
    FILE *out;
    bool verbose;
    int asked, wrong, unanswered;
    int other;               /* right answers whose bits are not those of exact devices */
    double largest;          /* of the errors that are right */
    char failed[NAMES_SIZE]; /* the stages that gave wrong answers */
    struct selftest_result result;
    struct error trouble; /* the first that came instead of an answer */
};

/* What questions without a stage ask about. */
static const char SAMPLES[] = "samples";

static const char *stage_name(const struct question *question)
{
    return question->stage[0] ? question->stage : SAMPLES;
}

/* "--scale 4, 21x9, 1 channel of 16 bit, mirror". */
static void selftest_describe(const struct question *question, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s, %s of %dx%d, %d channels, %s to %s%s%s", question->stage[0] ? "--" : "",
             stage_name(question), question->value[0] ? " " : "", question->value,
             question->levels ? "pyramid" : "image", question->width, question->height, question->channels,
             sample_name(question->in), sample_name(question->out), question->linear ? ", linear, " : ", ",
             edge_words[question->edge]);
}

static void note_failure(struct exam *exam, const struct question *question, double error)
{
    const char *name = stage_name(question);
    char word[48];
    snprintf(word, sizeof word, "%s%s", question->stage[0] ? "--" : "", name);
    size_t used = strlen(exam->failed), length = strlen(word);
    bool named = used >= length && strcmp(exam->failed + used - length, word) == 0; /* they come in a row */
    exam->wrong++;
    if (!named)
        snprintf(exam->failed + used, NAMES_SIZE - used, "%s%s", used > 0 ? ", " : "", word);
    if (exam->wrong == 1)
        snprintf(exam->result.stage, sizeof exam->result.stage, "%.31s", word);
    exam->result.error = fmax(exam->result.error, error);
}

static const char *memory_word(enum memory memory)
{
    return memory == MEMORY_IMAGE ? "image" : "buffer";
}

static const char *slice_word(int slice)
{
    return slice > 0 ? ", in slices" : "";
}

/* One way of asking; *error grows to its error. `sum` is that of exact devices; *got becomes this one's. */
static void ask_so(struct exam *exam, const struct question *question, const struct chain *chain,
                   enum memory memory, int slice, uint32_t sum, uint32_t *got, double *error)
{
    struct marks marks;
    char text[256];
    bool sliced = false;
    struct error trouble = {.text = ""};
    enum status status =
        question_ask(question, chain, &exam->runs[memory], &exam->timing, slice, &sliced, &marks, &trouble);
    if (slice > 0 && !sliced && status == STATUS_OK)
        return;
    exam->asked++;
    if (status == STATUS_OK && marks.error <= TOLERANCE) {
        *error = fmax(*error, marks.error);
        *got = marks.sum;
        exam->other += marks.sum != sum;
        if (marks.sum != sum && exam->verbose) {
            selftest_describe(question, text, sizeof text);
            fprintf(exam->out, "  OTHER BITS %s; %s memory%s\n", text, memory_word(memory),
                    slice_word(slice));
        }
        return;
    }
    selftest_describe(question, text, sizeof text);
    fprintf(exam->out, "  %s %s; %s memory%s: ", status == STATUS_OK ? "WRONG" : "NO ANSWER", text,
            memory_word(memory), slice_word(slice));
    if (status == STATUS_OK) {
        fprintf(exam->out, "sample %zu is %.9g, not %.9g\n", marks.worst, marks.got, marks.expected);
        note_failure(exam, question, marks.error);
        return;
    }
    fprintf(exam->out, "%s\n", trouble.text);
    if (exam->unanswered++ == 0)
        exam->trouble = trouble;
    profile_discard(&exam->profile);
}

static enum status ask_all_ways(struct exam *exam, const struct question *question, uint32_t sum,
                                struct error *error)
{
    struct chain chain;
    char text[256];
    double largest = 0;
    uint32_t got = 0;
    enum status status = question_chain(question, &chain, error);
    if (status != STATUS_OK)
        error_prefix(error, "--selftest");
    int memories = exam->device->has_images ? 2 : 1;
    for (int memory = 0; status == STATUS_OK && memory < memories; memory++) {
        ask_so(exam, question, &chain, (enum memory)memory, 0, sum, &got, &largest);
        ask_so(exam, question, &chain, (enum memory)memory, SLICE, sum, &got, &largest);
    }
    chain_free(&chain);
    exam->largest = fmax(exam->largest, largest);
    selftest_describe(question, text, sizeof text);
    if (status == STATUS_OK && exam->verbose)
        fprintf(exam->out, "  %.1e  %08x  %s\n", largest, got, text);
    return status;
}

/* The kernels that ran, each once. */
static void tell_kernels(const struct exam *exam)
{
    fputs("  kernels:", exam->out);
    for (size_t i = 0; i < exam->timing.kernel_count; i++) {
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told = told || strcmp(exam->timing.kernels[k].name, exam->timing.kernels[i].name) == 0;
        if (!told)
            fprintf(exam->out, " %s", exam->timing.kernels[i].name);
    }
    fputc('\n', exam->out);
}

static void conclude(struct exam *exam, double seconds)
{
    struct error ignored = {.text = ""};
    struct selftest_result *result = &exam->result;
    const struct timing_sum built = timing_part(&exam->timing, PART_BUILD);
    char *path = NULL;
    time_t now = time(NULL);
    struct tm date;
    const int right = exam->asked - exam->wrong - exam->unanswered;
    result->passed = exam->wrong == 0;
    result->error = result->passed ? exam->largest : result->error;
    if (gmtime_r(&now, &date))
        strftime(result->date, sizeof result->date, "%Y-%m-%d", &date);
    if (exam->verbose)
        tell_kernels(exam);
    fprintf(exam->out,
            "%d of %d answers right, the largest error of those %.1e; %.2f s, %.2f of them to build %d "
            "programs\n%d of them are the same bits as on other devices\n",
            right, exam->asked, exam->largest, seconds, built.seconds, built.count, right - exam->other);
    if (result->passed && exam->device->environment->ask)
        fputs("not remembered: these were not all questions\n", exam->out);
    else if (result->passed && exam->unanswered > 0)
        fputs("not remembered: some questions have no answer\n", exam->out);
    else if (selftest_result_save(exam->device, result, &path, &ignored) == STATUS_OK)
        fprintf(exam->out, "remembered in %s\n", path);
    else
        fprintf(exam->out, "not remembered: %s\n", ignored.text);
    free(path);
}

static enum status examine(struct device *device, bool verbose, FILE *out, struct error *error)
{
    struct exam exam = {.device = device, .out = out, .verbose = verbose};
    const char *text = selftest_answers, *sums = selftest_sums;
    struct question question;
    double since = clock_seconds();
    device->profile = &exam.profile;
    timing_begin(&exam.timing, false);
    exam.profile.timing = &exam.timing;
    for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++)
        run_init(&exam.runs[memory], device, (enum memory)memory, EDGE_CLAMP);
    fprintf(out, "%s, %s, %s, driver %s; kernels for %s, buffers%s\n", device->name, device->platform_name,
            device->version, device->driver, device->class == DEVICE_CPU ? "CPUs" : "GPUs",
            device->has_images ? " and images" : "");
    enum status status = STATUS_OK;
    while (status == STATUS_OK && question_next(&text, &question)) {
        char *end;
        const uint32_t sum = (uint32_t)strtoul(sums, &end, 16);
        sums = end;
        if (stage_is_wanted(device->environment, stage_name(&question)))
            status = ask_all_ways(&exam, &question, sum, error);
    }
    device_finish(device);
    for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++)
        run_free(&exam.runs[memory]);
    if (status == STATUS_OK)
        conclude(&exam, clock_seconds() - since);
    profile_free(&exam.profile);
    timing_free(&exam.timing);
    device->profile = NULL;
    if (status == STATUS_OK && exam.wrong > 0)
        status =
            fail(error, STATUS_FAILED, "%s: wrong answers from %s; climg does not use it without --force",
                 device->name, exam.failed);
    else if (status == STATUS_OK && exam.unanswered > 0)
        status = fail(error, STATUS_FAILED, "%s: %d of %d questions have no answer: %s", device->name,
                      exam.unanswered, exam.asked, exam.trouble.text);
    return status;
}

enum status selftest(const struct settings *settings, FILE *out, struct error *error)
{
    struct device device = {0};
    enum status status = device_find(settings->device, &settings->environment, true, &device, error);
    if (status == STATUS_OK)
        status = examine(&device, settings->verbose, out, error);
    device_close(&device);
    return status;
}
