/* Reports of a command: messages on stderr, a line of JSON for each file (--report), --timing and --trace.
 *
 *     job ─▶ result ─┬─ warnings, failures ─▶ stderr       timing events ─┬─ sums ─▶ table, JSON, "seconds"
 *                    ├─ progress                                          └─ all of them ─▶ trace
 *                    └─ a line ─▶ --report
 *
 * Only results_add prints and counts the outcome of a job. A line of --report is written when its job ends,
 * in one write. So a kill loses only the lines of unfinished files, and several processes can share a report
 * (not on NFS). The work continues if the report cannot be written. Times are written at the end: table, JSON
 * and trace are views of one list of events (base/timing.h). */
#include "batch/report.h"

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "batch/conflicts.h"
#include "device/program.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- --report */

static enum status report_write_error(const struct results *results, struct error *error)
{
    return fail(error, STATUS_FAILED, "%s: cannot write the report: %s", results->report_name,
                strerror(errno));
}

enum { DIGITS = 12 }; /* significant digits of numbers */

static void put_seconds(struct json_writer *line, const char *key, double seconds)
{
    json_put_number(line, key, round(1e6 * seconds) / 1e6, DIGITS);
}

/* Writes the busy seconds of each phase, into an object that is open. */
static void put_parts(struct json_writer *line, const struct times *times)
{
    for (int i = 0; i < PHASE_COUNT; i++)
        if (phase_is_reported((enum phase)i, times->seconds[i]))
            put_seconds(line, phase_names[i].key, times->seconds[i]);
}

/* Writes the size of a picture, or null if it is unknown. */
static void put_size(struct json_writer *line, const char *key, int width, int height, int channels)
{
    if (!json_begin_optional(line, key, '{', width > 0))
        return;
    json_put_integer(line, "width", width);
    json_put_integer(line, "height", height);
    json_put_integer(line, "channels", channels);
    json_end(line, '}');
}

void report_noise(struct json_writer *line, const struct noise_summary *noise)
{
    if (!json_begin_optional(line, "noise", '[', noise->count > 0))
        return;
    for (int i = 0; i < noise->count; i++) {
        json_begin(line, NULL, '[');
        for (int level = 0; level < noise->levels; level++)
            json_put_number(line, NULL, round(1e3 * (double)noise->sigma[i][level]) / 1e3, DIGITS);
        json_end(line, ']');
    }
    json_end(line, ']');
}

/* Prints the job's line. All lines have the same keys; missing values are null. `state` is the text of
 * "status". A job that was not tried has no exit status. */
static void print_result(FILE *out, const struct job *job, const struct result *result, const char *state)
{
    const bool has_failed = result->status != STATUS_OK, has_result = job->has_result;
    const bool was_processed = has_result && !result->skipped;
    static const char *const scopes[] = {[SCOPE_FILE] = "file",
                                         [SCOPE_STACK] = "file",
                                         [SCOPE_FOLDER] = "folder",
                                         [SCOPE_DISK] = "disk",
                                         [SCOPE_ALL] = "machine"};
    struct json_writer line = {.out = out};
    json_begin(&line, NULL, '{');
    json_put_string(&line, "input", job->is_stack_result ? NULL : job->input);
    json_put_string(&line, "output", job->output);
    json_put_string(&line, "status", state);
    json_put_string(&line, "error", has_failed ? result->error.text : NULL);
    if (has_result)
        json_put_integer(&line, "exit", (long long)result->status);
    else
        json_put_null(&line, "exit");
    /* The reason says what a caller must change before it tries the file again (docs/cluster.md). */
    json_put_string(&line, "reason",
                    !has_failed                      ? NULL
                    : result->status == STATUS_USAGE ? "usage"
                    : result->error.is_out_of_memory ? "memory"
                                                     : scopes[result->error.scope]);
    json_put_string(&line, "stage", has_failed ? result->error.stage : NULL);
    const char *cursor = result->warnings; /* lines of a text */
    struct word word;
    json_begin(&line, "warnings", '[');
    while (result->warnings[0] != '\0' && text_next_word(&cursor, '\n', &word)) {
        char text[WARNINGS_SIZE];
        snprintf(text, sizeof text, "%.*s", (int)word.length, word.start);
        json_put_string(&line, NULL, text);
    }
    json_end(&line, ']');
    put_size(&line, "from", result->width, result->height, result->channels);
    put_size(&line, "to", result->output_width, result->output_height, result->output_channels);
    report_noise(&line, &result->noise);
    const struct alignment *found = &result->alignment;
    const struct affine *map = &found->affine;
    const double numbers[] = {map->xx, map->xy, map->x, map->yx, map->yy, map->y};
    if (json_begin_optional(&line, "align", '{', found->found)) {
        json_begin(&line, "matrix", '[');
        for (int i = 0; i < 6; i++)
            json_put_number(&line, NULL, numbers[i], DIGITS);
        json_end(&line, ']');
        json_put_number(&line, "confidence", round(1e3 * found->confidence) / 1e3, DIGITS);
        json_end(&line, '}');
    }
    json_put_string(&line, "found", result->found[0] ? result->found : NULL);
    json_put_integer(&line, "bytes_in", (long long)result->bytes_in);
    json_put_integer(&line, "bytes_out", (long long)result->bytes_out);
    if (json_begin_optional(&line, "seconds", '{', was_processed)) {
        put_parts(&line, &result->times);
        put_seconds(&line, "total", result->times.total);
        json_end(&line, '}');
    }
    json_put_positive(&line, "group", was_processed ? result->group : 0);
    json_put_string(&line, "device", was_processed ? result->device : NULL);
    json_end(&line, '}');
    fputc('\n', out);
}

void results_print_undone(FILE *out, const struct job *job, const char *status, const struct error *why)
{
    struct result result = {.status = why ? STATUS_FAILED : STATUS_OK, .bytes_in = job->bytes};
    if (why)
        result.error = *why;
    print_result(out, job, &result, status);
}

/* Appends the job's line in one write. If `result` is NULL, the job was not tried for the reason `why`. */
static enum status report_file_append(const struct results *results, const struct job *job,
                                      const struct result *result, const struct error *why,
                                      struct error *error)
{
    if (!results->report_name)
        return STATUS_OK;
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    if (out && !result)
        results_print_undone(out, job, "not tried", why);
    else if (out && results->print_line)
        results->print_line(out, job, result);
    else if (out)
        print_result(out, job, result,
                     result->status != STATUS_OK ? "failed"
                     : result->skipped           ? "skipped"
                                                 : "done");
    bool is_whole = out && !ferror(out);
    is_whole = out && fclose(out) == 0 && is_whole;
    enum status status = STATUS_OK;
    if (!is_whole)
        status = fail_memory(error, "%s: out of memory for the report", results->report_name);
    else if (!write_whole(results->report_file, line, size))
        status = report_write_error(results, error);
    free(line);
    return status;
}

enum status results_begin(struct results *results, const struct settings *settings,
                          const struct resume *resume, const struct job_list *list,
                          void (*report_error)(const struct error *), struct error *error)
{
    const char *path = settings->dry_run ? NULL : settings->report;
    *results = (struct results){
        .settings = settings, .several = list->several && list->count > 1, .report_error = report_error};
    progress_begin(&results->progress, settings, resume, list);
    if (!path)
        return STATUS_OK;

    /* Open the report to overwrite it, or with --resume to append to it. */
    const int standard = named_descriptor(path);
    results->report_name = aux_name(path);
    results->report_file =
        standard >= 0
            ? fcntl(standard, F_DUPFD_CLOEXEC, 0)
            : open(path, (settings->resume ? O_RDWR : O_WRONLY | O_TRUNC) | O_CREAT | O_APPEND | O_CLOEXEC,
                   0666);
    if (results->report_file < 0)
        return report_write_error(results, error);
    if (!settings->resume || standard >= 0)
        return STATUS_OK;

    /* End the last line if a full disk or a power cut left it incomplete. */
    char last = '\n';
    const off_t size = lseek(results->report_file, 0, SEEK_END);
    const bool is_cut = size > 0 && pread(results->report_file, &last, 1, size - 1) == 1 && last != '\n';
    return is_cut && write(results->report_file, "\n", 1) != 1 ? report_write_error(results, error)
                                                               : STATUS_OK;
}

enum status results_begin_reading(struct results *results, struct job_list *list,
                                  const struct command *command, void (*report_error)(const struct error *),
                                  struct error *error)
{
    const struct settings *settings = &command->settings;
    *list = (struct job_list){0};
    /* Without arguments the input is stdin, and climg would wait for a user to type a picture. */
    if (command->input_count > 0 && strcmp(command->inputs[0], "-") == 0 && isatty(STDIN_FILENO))
        return fail(error, STATUS_USAGE, "no file is named; climg --%s%s%s photo.jpg is an example",
                    mode_name(settings->mode), settings->compare ? " " : "",
                    settings->compare ? settings->compare : "");
    if (conflicts_check_names(command, error) != STATUS_OK)
        return STATUS_USAGE;
    enum status status = job_list_make(list, command, error);
    if (status != STATUS_OK)
        return status;
    job_list_print_left_out(list, settings);
    job_list_keep_shard(list, &settings->part);
    status = command->prepare_process ? command->prepare_process(command, list, error) : STATUS_OK;
    return status == STATUS_OK ? results_begin(results, settings, NULL, list, report_error, error) : status;
}

void results_print(const struct results *results, const struct error *error)
{
    flockfile(stderr); /* so that no other thread draws the line in between */
    progress_erase();
    results->report_error(error);
    funlockfile(stderr);
}

static void print_report_failure(struct results *results, const struct error *error)
{
    if (!results->is_report_incomplete)
        results_print(results, error);
    results->is_report_incomplete = true;
}

void results_add(struct results *results, struct job *job, const struct result *result)
{
    struct error error;
    const bool is_left_out =
        result->status != STATUS_OK && job_is_stack_input(job) && result->error.scope == SCOPE_FILE;
    job->has_result = true;
    if (result->status == STATUS_OK) {
        /* Print the warnings, lines of a text, unless --quiet is given. result->depth_warning, which all
         * files of a batch may have, is printed once. */
        const char *cursor = result->warnings;
        struct word word;
        while (!results->settings->quiet && result->warnings[0] != '\0' &&
               text_next_word(&cursor, '\n', &word)) {
            struct error line;
            const bool is_depth = results->several && word_equals(word, result->depth_warning);
            if (is_depth && strstr(results->depth_warnings, result->depth_warning) != NULL)
                continue;
            error_set(&line, "%s: warning: %.*s%s", job_input_name(job), (int)word.length, word.start,
                      is_depth ? "; this warning is printed once" : "");
            if (is_depth)
                text_add_item(results->depth_warnings, sizeof results->depth_warnings, "\n",
                              result->depth_warning);
            results_print(results, &line);
        }
    } else if (is_left_out) {
        /* The stack goes on without this input: no failure of the command. */
        struct error line;
        if (job->merged_pages > 0)
            error_set(&line, "%s; its pages before that (%d) are merged", result->error.text,
                      job->merged_pages);
        else
            error_set(&line, "%s; left out", result->error.text);
        results->left_out++;
        if (!results->settings->quiet)
            results_print(results, &line);
    } else {
        /* A failure that stopped the work is printed once: jobs that other workers have begun fail for the
         * same reason. */
        results->failed++;
        if (results->several && !(results->is_stopped && result->error.scope != SCOPE_FILE))
            results_print(results, &result->error);
        /* Keep the first failure that ends the work: it is the reason why files are not tried. */
        if (!results->is_stopped) {
            results->last_failure = result->error;
            results->last_failure_status = result->status;
        }
    }
    results->added++;
    progress_add(&results->progress, job, result, is_left_out);
    if (report_file_append(results, job, result, NULL, &error) != STATUS_OK)
        print_report_failure(results, &error);
}

enum status results_end(struct results *results, const struct job_list *list, enum status status,
                        struct error *error)
{
    const bool is_check = results->settings->mode == MODE_CHECK;
    struct error file_error;
    progress_end(&results->progress);
    const struct error *why = status != STATUS_OK ? error : &results->last_failure;
    for (size_t i = 0; i <= list->count; i++) {
        const struct job *job = i < list->count ? &list->jobs[i] : results->merged;
        if (job && !job->has_result && report_file_append(results, job, NULL, why, &file_error) != STATUS_OK)
            print_report_failure(results, &file_error);
    }
    /* Closing reports a delayed write that failed, as on NFS. */
    if (results->report_name && close(results->report_file) != 0) {
        (void)report_write_error(results, &file_error);
        print_report_failure(results, &file_error);
    }
    if (status != STATUS_OK)
        return status;
    if (results->failed == 0 && results->is_report_incomplete)
        return fail(error, is_check ? STATUS_FAILED : STATUS_PARTIAL,
                    "%s: the report is incomplete; the files are done", results->report_name);
    if (results->failed == 0)
        return STATUS_OK;
    if (!results->several) {
        *error = results->last_failure;
        return results->last_failure_status;
    }
    status = results->failed < results->added || is_check ? STATUS_PARTIAL : STATUS_FAILED;
    const size_t not_tried = list->count - results->added;
    if (not_tried > 0)
        return fail(error, status,
                    "%zu of %zu files failed, and %zu %s not tried, as %s would fail in the same way",
                    results->failed, list->count, not_tried, not_tried == 1 ? "was" : "were",
                    not_tried == 1 ? "it" : "they");
    return fail(error, status, "%zu of %zu files %s", results->failed, results->added,
                is_check ? "are damaged or cannot be read" : "failed");
}

/* ---------------------------------------------------------------- --timing and --trace */

static double gigabytes_per_second(const struct timing_sum *kernel)
{
    return kernel->seconds > 0 ? 1e-9 * (double)kernel->bytes / kernel->seconds : 0;
}

/* Returns the frames of video per second; 0 if unknown. */
static double frame_rate(const struct worker *worker)
{
    const double seconds = worker->frames.ended - worker->frames.began;
    return seconds > 0 ? worker->frames.count / seconds : 0;
}

static const char *memory_name(const struct worker *worker)
{
    return worker->run.memory == MEMORY_IMAGE ? "image" : "buffer";
}

/* Prints two tables: the device time of each kernel of each stage, and the busy time of each phase. Phases
 * overlap, so their sum may exceed the wall-clock time. */
static void print_table(FILE *out, struct worker *worker)
{
    const struct times busy = worker_times(worker);
    if (worker->knows_device)
        fprintf(out, "%s, %s memory\n", worker->device.name, memory_name(worker));
    else
        fputs("no device was needed\n", out);

    /* Kernels, and their sum. */
    fprintf(out, "%-18s %-18s %8s %10s %10s %8s\n", "stage", "kernel", "launches", "device ms", "MB moved",
            "GB/s");
    for (size_t i = 0; i < worker->timing.kernel_count; i++) {
        const struct timing_sum *kernel = &worker->timing.kernels[i];
        fprintf(out, "%-18s %-18s %8d %10.3f %10.1f %8.1f\n", kernel->owner, kernel->name, kernel->count,
                1e3 * kernel->seconds, 1e-6 * (double)kernel->bytes, gigabytes_per_second(kernel));
    }
    fprintf(out, "%-18s %-18s %8s %10.3f\n", "all kernels", "", "", 1e3 * busy.seconds[PHASE_STAGES]);

    /* Parts, wall clock, and frames of a video. */
    fprintf(out, "\n%-36s %10s %6s\n", "part", "busy ms", "%");
    for (int i = 0; i < PHASE_COUNT; i++) {
        const double share = busy.total > 0 ? busy.seconds[i] / busy.total : 0;
        if (phase_is_reported((enum phase)i, busy.seconds[i]))
            fprintf(out, "%-36s %10.1f %6.1f\n", phase_names[i].title, 1e3 * busy.seconds[i], 100 * share);
    }
    fprintf(out, "%-36s %10.1f\n", "wall clock", 1e3 * busy.total);
    if (worker->frames.count > 0)
        fprintf(out, "%-36s %10d %10.1f a second\n", "frames", worker->frames.count, frame_rate(worker));
}

/* Callback of programs_visit: writes the name and the options of a program. Out of memory, omits it. */
static void put_program(void *context, const char *file, const char *options)
{
    struct json_writer *line = context;
    struct error ignored;
    char *text = text_print(&ignored, "%s.cl %s", file, options);
    if (text)
        json_put_string(line, NULL, text);
    free(text);
}

/* Prints the content of the tables as a JSON object on one line, in seconds and bytes. */
static void print_json(FILE *out, struct worker *worker)
{
    const struct times busy = worker_times(worker);
    struct json_writer line = {.out = out};
    json_begin(&line, NULL, '{');
    json_put_string(&line, "device", worker->knows_device ? worker->device.name : NULL);
    json_put_string(&line, "memory", memory_name(worker));
    json_begin(&line, "stages", '[');
    for (size_t i = 0; i < worker->timing.kernel_count; i++) {
        const struct timing_sum *kernel = &worker->timing.kernels[i];
        json_begin(&line, NULL, '{');
        json_put_string(&line, "stage", kernel->owner);
        json_put_string(&line, "kernel", kernel->name);
        json_put_integer(&line, "launches", kernel->count);
        json_put_number(&line, "device_seconds", round(1e9 * kernel->seconds) / 1e9, DIGITS);
        json_put_integer(&line, "bytes", (long long)kernel->bytes);
        json_put_number(&line, "gb_per_s", round(1e3 * gigabytes_per_second(kernel)) / 1e3, DIGITS);
        json_end(&line, '}');
    }
    json_end(&line, ']');
    json_begin(&line, "parts", '{');
    put_parts(&line, &busy);
    json_end(&line, '}');
    json_begin(&line, "programs", '[');
    programs_visit(&worker->device, put_program, &line);
    json_end(&line, ']');
    if (worker->frames.count > 0) {
        json_put_integer(&line, "frames", worker->frames.count);
        json_put_number(&line, "frames_per_s", round(1e3 * frame_rate(worker)) / 1e3, DIGITS);
    }
    put_seconds(&line, "total", busy.total);
    json_end(&line, '}');
    fputc('\n', out);
}

static enum status write_timing(struct worker *const *workers, int count, const struct timing_option *timing,
                                double began, struct error *error)
{
    FILE *file = timing->file ? aux_open(timing->file, "the times", error) : stderr;
    if (!file)
        return STATUS_FAILED;
    for (int i = 0; i < count; i++) {
        struct worker *worker = workers[i];
        /* Leave out workers that did nothing. JSON always has the first one, as an empty file is no JSON. */
        const bool is_idle = !worker->knows_device && timing_phase(&worker->timing, PHASE_DECODE).count == 0;
        if (is_idle && (timing->form == TIMING_TABLE || i > 0))
            continue;
        /* Add times that no worker measures. */
        worker->timing.phases[PHASE_PREPARE].seconds = worker->context->chain->prepare_seconds;
        worker->timing.began = began;
        (timing->form == TIMING_JSON ? print_json : print_table)(file, worker);
    }
    return file == stderr ? STATUS_OK : aux_close(file, timing->file, "the times", error);
}

/* Combines the work's status with the status of a file. If both failed, the file's error is printed and the
 * work's status returned. */
static enum status combine_status(enum status status, enum status file_status, const struct error *file_error,
                                  void (*report_error)(const struct error *), struct error *error)
{
    if (file_status == STATUS_OK)
        return status;
    if (status != STATUS_OK) {
        report_error(file_error);
        return status;
    }
    *error = *file_error;
    return STATUS_FAILED;
}

/* Overwrites the files even after a failure, so that they do not keep the times of an earlier run. */
enum status report_times(struct worker *const *workers, int count, const struct settings *settings,
                         double began, enum status status, void (*report_error)(const struct error *),
                         struct error *error)
{
    const struct timing_option *timing = &settings->timing;
    struct error file_error;
    const bool is_done = status == STATUS_OK || status == STATUS_PARTIAL;
    if (timing->form != TIMING_ABSENT && (timing->file || is_done))
        status = combine_status(status, write_timing(workers, count, timing, began, &file_error), &file_error,
                                report_error, error);
    if (settings->trace) { /* then there is one worker */
        struct timing *events = &workers[0]->timing;
        status = combine_status(status, timing_write_trace(events, settings->trace, &file_error), &file_error,
                                report_error, error);
    }
    return status;
}
