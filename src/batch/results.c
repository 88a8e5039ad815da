#include "batch/results.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Kept apart from the struct because a signal handler can be handed nothing. All 0: no batch is under way. */
static struct {
    atomic_size_t total, taken, failed, skipped;
} counts;

enum status results_begin(struct results *results, const struct settings *settings, const struct list *list,
                          void (*complain)(const struct error *), struct error *error)
{
    *results = (struct results){
        .settings = settings, .count = list->count, .several = list->several, .complain = complain};
    atomic_store(&counts.taken, 0);
    atomic_store(&counts.failed, 0);
    atomic_store(&counts.skipped, 0);
    enum status status =
        journal_open(&results->journal, settings->dry_run ? NULL : settings->report, settings->resume, error);
    if (status != STATUS_OK || settings->dry_run)
        return status;
    progress_begin(&results->progress, settings, list);
    atomic_store(&counts.total, results->several && !settings->quiet ? list->count : 0);
    return STATUS_OK;
}

/* The work is worth more than its report: it goes on without. */
static void journal_lost(struct results *results, const struct error *error)
{
    if (!results->journal_failed)
        results->complain(error);
    results->journal_failed = true;
}

/* Each line is one. */
static void tell_warnings(struct results *results, const struct job *job, const struct result *result)
{
    const char *text = results->settings->quiet ? "" : result->warnings;
    while (text[0] != '\0') {
        struct error line;
        int length = (int)strcspn(text, "\n");
        fail(&line, STATUS_OK, "%s: warning: %.*s", job_input_name(job), length, text);
        progress_erase();
        results->complain(&line);
        text += length + (text[length] == '\n');
    }
}

void results_take(struct results *results, const struct job *job, const struct result *result)
{
    struct error error;
    if (result->skipped)
        atomic_fetch_add(&counts.skipped, 1);
    if (result->status != STATUS_OK) {
        atomic_fetch_add(&counts.failed, 1);
        progress_erase();
        if (results->several && !(results->ended && result->error.reach != REACH_FILE))
            results->complain(&result->error);
        results->single = result->error;
        results->single_status = result->status;
    }
    if (result->status == STATUS_OK)
        tell_warnings(results, job, result);
    atomic_fetch_add(&counts.taken, 1);
    if (journal_write(&results->journal, job, result, &error) != STATUS_OK) {
        progress_erase();
        journal_lost(results, &error);
    }
    progress_take(&results->progress, job, result);
}

void results_warn(struct results *results, const struct error *error)
{
    progress_erase();
    results->complain(error);
}

enum status results_end(struct results *results, enum status status, struct error *error)
{
    struct error lost;
    size_t failed = atomic_load(&counts.failed), taken = atomic_load(&counts.taken);
    atomic_store(&counts.total, 0);
    progress_end(&results->progress);
    if (journal_close(&results->journal, &lost) != STATUS_OK)
        journal_lost(results, &lost);
    if (status != STATUS_OK)
        return status;
    if (failed == 0 && results->journal_failed)
        return fail(error, STATUS_PARTIAL, "%s: the report is not complete; the files are done",
                    results->journal.path);
    if (failed == 0)
        return STATUS_OK;
    if (!results->several) {
        *error = results->single;
        return results->single_status;
    }
    status = failed < taken ? STATUS_PARTIAL : STATUS_FAILED;
    if (taken < results->count)
        return fail(error, status,
                    "%zu of %zu files failed, and %zu were not tried, as they would fail alike", failed,
                    results->count, results->count - taken);
    return fail(error, status, "%zu of %zu files failed", failed, taken);
}

/* A line put together without stdio, which a signal may have interrupted. */
struct line {
    char text[256];
    size_t length;
};

static void add_text(struct line *line, const char *text)
{
    for (; *text && line->length < sizeof line->text; text++)
        line->text[line->length++] = *text;
}

static void add_number(struct line *line, size_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    add_text(line, digits + at);
}

static const char *signal_name(int number)
{
    switch (number) {
    case SIGINT:
        return "SIGINT";
    case SIGTERM:
        return "SIGTERM";
    case SIGHUP:
        return "SIGHUP";
    case SIGABRT:
        return "SIGABRT";
    case SIGQUIT:
        return "SIGQUIT";
    case SIGXCPU:
        return "SIGXCPU";
    default:
        return "a signal";
    }
}

void results_interrupted(int number)
{
    size_t total = atomic_load(&counts.total), failed = atomic_load(&counts.failed),
           skipped = atomic_load(&counts.skipped);
    int before = errno;
    if (total == 0 && progress_stands())
        (void)!write(STDERR_FILENO, "\r\033[K", 4);
    errno = before;
    if (total == 0)
        return;
    struct line line = {.length = 0};
    add_text(&line, progress_stands() ? "\r\033[Kclimg: stopped by " : "climg: stopped by ");
    add_text(&line, signal_name(number));
    add_text(&line, ": ");
    add_number(&line, atomic_load(&counts.taken) - failed);
    add_text(&line, " of ");
    add_number(&line, total);
    add_text(&line, " files are done");
    if (skipped > 0) {
        add_text(&line, ", ");
        add_number(&line, skipped);
        add_text(&line, " of them by an earlier run");
    }
    if (failed > 0) {
        add_text(&line, ", ");
        add_number(&line, failed);
        add_text(&line, " failed");
    }
    add_text(&line, "; --resume goes on from here\n");
    (void)!write(STDERR_FILENO, line.text, line.length);
    errno = before;
}
