#include "batch/report.h"

#include "base/files.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status cannot_write(const struct journal *journal, struct error *error)
{
    return fail(error, STATUS_FAILED, "%s: cannot write the report: %s", journal->path, strerror(errno));
}

/* Ends a line that a full disk or a power cut left incomplete, so that the next one starts anew. */
static enum status end_last_line(const struct journal *journal, struct error *error)
{
    char last = '\n';
    off_t size = lseek(journal->file, 0, SEEK_END);
    if (size > 0 && pread(journal->file, &last, 1, size - 1) == 1 && last != '\n' &&
        write(journal->file, "\n", 1) != 1)
        return cannot_write(journal, error);
    return STATUS_OK;
}

/* Overwrites the file, or appends to it (`append`, with --resume). */
static enum status open_journal(struct journal *journal, const char *path, bool append, struct error *error)
{
    bool standard = path && strcmp(path, "-") == 0;
    *journal = (struct journal){.path = path ? side_name(path) : NULL, .file = -1};
    if (!path)
        return STATUS_OK;
    journal->file = standard
                        ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                        : open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666);
    if (journal->file < 0)
        return cannot_write(journal, error);
    return append && !standard ? end_last_line(journal, error) : STATUS_OK;
}

enum { DIGITS = 10 };

/* Microseconds; more digits would be noise. */
static void put_seconds(struct json_writer *line, const char *key, double seconds)
{
    json_put_number(line, key, round(1e6 * seconds) / 1e6, DIGITS);
}

static void put_parts(struct json_writer *line, const struct times *times)
{
    json_begin(line, "seconds", '{');
    for (int i = 0; i < PART_COUNT; i++)
        if (part_is_reported((enum part)i, times->seconds[i]))
            put_seconds(line, part_names[i].key, times->seconds[i]);
    put_seconds(line, "total", times->total);
    json_end(line, '}');
}

static void put_sizes(struct json_writer *line, const char *key, int width, int height, int channels)
{
    if (width <= 0) {
        json_put_null(line, key);
        return;
    }
    json_begin(line, key, '{');
    json_put_whole(line, "width", width);
    json_put_whole(line, "height", height);
    json_put_whole(line, "channels", channels);
    json_end(line, '}');
}

void report_noise(struct json_writer *line, const struct result *result)
{
    if (result->noise_count == 0) {
        json_put_null(line, "noise");
        return;
    }
    json_begin(line, "noise", '[');
    for (int i = 0; i < result->noise_count; i++) {
        json_begin(line, NULL, '[');
        for (int level = 0; level < result->noise_levels; level++)
            json_put_number(line, NULL, round(1e3 * (double)result->noise[i][level]) / 1e3, DIGITS);
        json_end(line, ']');
    }
    json_end(line, ']');
}

static void put_alignment(struct json_writer *line, const struct alignment *found)
{
    const struct affine *map = &found->affine;
    const double numbers[] = {map->xx, map->xy, map->x, map->yx, map->yy, map->y};
    if (!found->found) {
        json_put_null(line, "align");
        return;
    }
    json_begin(line, "align", '{');
    json_begin(line, "matrix", '[');
    for (int i = 0; i < 6; i++)
        json_put_number(line, NULL, numbers[i], DIGITS);
    json_end(line, ']');
    json_put_number(line, "confidence", round(1e3 * found->confidence) / 1e3, DIGITS);
    json_end(line, '}');
}

/* Each line of the text is a warning. */
static void put_warnings(struct json_writer *line, const char *warnings)
{
    char text[WARNINGS_SIZE];
    json_begin(line, "warnings", '[');
    while (warnings[0] != '\0') {
        int length = (int)strcspn(warnings, "\n");
        snprintf(text, sizeof text, "%.*s", length, warnings);
        json_put_text(line, NULL, text);
        warnings += length + (warnings[length] == '\n');
    }
    json_end(line, ']');
}

static void print_result(FILE *out, const struct job *job, const struct result *result)
{
    const bool failed = result->status != STATUS_OK, worked = !result->skipped;
    struct json_writer line = {.out = out};
    json_begin(&line, NULL, '{');
    json_put_text(&line, "input", job->input);
    json_put_text(&line, "output", job->output);
    json_put_text(&line, "status", failed ? "failed" : worked ? "done" : "skipped");
    json_put_text(&line, "error", failed ? result->error.text : NULL);
    put_warnings(&line, result->warnings);
    put_sizes(&line, "from", result->width, result->height, result->channels);
    put_sizes(&line, "to", result->output_width, result->output_height, result->output_channels);
    report_noise(&line, result);
    put_alignment(&line, &result->alignment);
    json_put_text(&line, "found", result->found[0] ? result->found : NULL);
    json_put_whole(&line, "bytes_in", (long long)result->bytes_in);
    json_put_whole(&line, "bytes_out", (long long)result->bytes_out);
    if (worked) {
        put_parts(&line, &result->times);
        json_put_whole(&line, "group", result->group);
    } else {
        json_put_null(&line, "seconds");
        json_put_null(&line, "group");
    }
    json_put_text(&line, "device", worked ? result->device : NULL);
    json_end(&line, '}');
    fputc('\n', out);
}

/* Writes the job's line in one write, so that several processes can share a file (not on NFS). */
static enum status write_journal(struct journal *journal, const struct job *job, const struct result *result,
                                 struct error *error)
{
    if (!journal->path)
        return STATUS_OK;
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size); /* in memory, to be written in one piece */
    if (out)
        print_result(out, job, result);
    bool whole = out && !ferror(out);
    whole = out && fclose(out) == 0 && whole;
    enum status status = STATUS_OK;
    if (!whole)
        status = fail_memory(error, "%s: out of memory for the report", journal->path);
    else if (!write_whole(journal->file, line, size))
        status = cannot_write(journal, error);
    free(line);
    return status;
}

/* Fails if something was not written. May be called without a report. */
static enum status close_journal(struct journal *journal, struct error *error)
{
    int file = journal->file;
    journal->file = -1;
    return journal->path && file >= 0 && close(file) != 0 ? cannot_write(journal, error) : STATUS_OK;
}

enum status results_begin(struct results *results, const struct settings *settings, const struct list *list,
                          void (*complain)(const struct error *), struct error *error)
{
    *results = (struct results){
        .settings = settings, .count = list->count, .several = list->several, .complain = complain};
    enum status status =
        open_journal(&results->journal, settings->dry_run ? NULL : settings->report, settings->resume, error);
    progress_begin(&results->progress, settings, list);
    return status;
}

void results_say(const struct results *results, const struct error *error)
{
    flockfile(stderr); /* nobody draws the line anew in between */
    progress_erase();
    results->complain(error);
    funlockfile(stderr);
}

/* A report that cannot be written does not stop the work. */
static void journal_lost(struct results *results, const struct error *error)
{
    if (!results->journal_failed)
        results_say(results, error);
    results->journal_failed = true;
}

/* Each line of the text is a warning. */
static void tell_warnings(struct results *results, const struct job *job, const struct result *result)
{
    const char *text = results->settings->quiet ? "" : result->warnings;
    while (text[0] != '\0') {
        struct error line;
        int length = (int)strcspn(text, "\n");
        fail(&line, STATUS_OK, "%s: warning: %.*s", job_input_name(job), length, text);
        results_say(results, &line);
        text += length + (text[length] == '\n');
    }
}

void results_take(struct results *results, const struct job *job, const struct result *result)
{
    struct error error;
    if (result->status != STATUS_OK) {
        results->failed++;
        if (results->several && !(results->ended && result->error.reach != REACH_FILE))
            results_say(results, &result->error);
        results->single = result->error;
        results->single_status = result->status;
    }
    if (result->status == STATUS_OK)
        tell_warnings(results, job, result);
    results->taken++;
    progress_take(&results->progress, job, result);
    if (write_journal(&results->journal, job, result, &error) != STATUS_OK)
        journal_lost(results, &error);
}

enum status results_end(struct results *results, enum status status, struct error *error)
{
    struct error lost;
    progress_end(&results->progress);
    if (close_journal(&results->journal, &lost) != STATUS_OK)
        journal_lost(results, &lost);
    if (status != STATUS_OK)
        return status;
    if (results->failed == 0 && results->journal_failed)
        return fail(error, STATUS_PARTIAL, "%s: the report is incomplete; the files are done",
                    results->journal.path);
    if (results->failed == 0)
        return STATUS_OK;
    if (!results->several) {
        *error = results->single;
        return results->single_status;
    }
    status = results->failed < results->taken ? STATUS_PARTIAL : STATUS_FAILED;
    if (results->taken < results->count)
        return fail(error, status,
                    "%zu of %zu files failed, and %zu were not tried, as they would fail in the same way",
                    results->failed, results->count, results->count - results->taken);
    return fail(error, status, "%zu of %zu files failed", results->failed, results->taken);
}
