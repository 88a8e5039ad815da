/* Implements progress.h. The lines:
 *
 *     climg: 12 of 40 files, 1 failed, 85.2 MP/s, 120.4 MB/s, 0:07 left      several files
 *     climg: 5 of 12 files, 1 left out, 85.2 MP/s, 120.4 MB/s, 0:02 left     the pictures of a stack
 *     climg: 800 of 4096 rows, 85.2 MP/s, 0:03 left: scan.tif                a single file of one page
 *     climg: 2 of 12 pages, 85.2 MP/s, 0:03 left: scan.tif                   of several pages
 *     climg: 240 frames, 85.2 MP/s: standard input                           of unknown number
 *     climg: 40 files, 1 failed, in 9.8 s, 84.9 MP/s, 119.6 MB/s, longest part: reading, 61%
 *
 * The time left is the number of input bytes that are left, divided by the rate since the device was ready,
 * as starting and compiling happen once. Lines that replace each other are drawn with stderr locked
 * (flockfile). */
#include "batch/progress.h"

#include "base/text.h"
#include "base/timing.h"
#include "batch/result.h"
#include "batch/resume.h"
#include "device/launch_serializer.h"
#include "engine/stage.h"
#include "image/output/output.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Seconds. */
static const double REDRAW_INTERVAL = 0.1;  /* minimum time between two drawings */
static const double FIRST_DRAW_DELAY = 0.5; /* before the first line about a single file or a compiler */
static const double LONGEST_SHOWN = 9999 * 3600.0; /* longest time that is shown */

enum { LINE_SIZE = 256 }; /* bytes of a line; the rest is cut off */

/* Global, as progress_interrupted, a signal handler, and progress_poll get no struct progress. */
static atomic_bool is_drawn;         /* the line is on the terminal */
static atomic_bool has_outputs;      /* each file has an output of its own */
static atomic_bool can_resume;       /* --resume will skip the files that are done */
static atomic_bool watches_compiler; /* progress_poll draws a line while a compiler runs */
/* Numbers of files, without the result of a stack. */
static struct {
    atomic_size_t total;    /* 0 for a single file, and with --quiet or --dry-run */
    atomic_size_t finished; /* with a result */
    atomic_size_t failed;   /* of `finished`: failed, without left_out */
    atomic_size_t skipped;  /* of `finished`: done by an earlier run (--resume) */
    atomic_size_t left_out; /* of `finished`: inputs that failed and were left out of their stack */
} counts;

void progress_erase(void)
{
    flockfile(stderr);
    if (atomic_exchange(&is_drawn, false))
        fputs("\r\033[K", stderr);
    fflush(stderr);
    funlockfile(stderr);
}

/* Draws the line in place of the last one. A line as wide as the terminal would wrap and could not be erased.
 * So it is cut to fewer bytes than the terminal has columns; no character of UTF-8 has fewer bytes than
 * columns. */
static void draw_line(const char *line)
{
    char shown[LINE_SIZE];
    struct winsize size;
    const bool has_size = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    const size_t length = utf8_fit(line, strlen(line), has_size ? size.ws_col - 1U : 79);
    snprintf(shown, sizeof shown, "%.*s", (int)length, line);
    flockfile(stderr); /* workers and the thread that waits for signals draw lines */
    fputs("\r\033[K", stderr);
    print_visible(stderr, shown);
    fflush(stderr);
    atomic_store(&is_drawn, true);
    funlockfile(stderr);
}

void progress_poll(void)
{
    static bool is_shown; /* the line about the compiler was drawn */
    const bool is_long = atomic_load(&watches_compiler) && compiling_seconds() >= FIRST_DRAW_DELAY;
    if (is_long == is_shown)
        return;
    is_shown = is_long;
    flockfile(stderr); /* progress_end clears watches_compiler, then erases: check it again under the lock */
    if (is_long && atomic_load(&watches_compiler))
        draw_line("climg: preparing kernels for this device, once");
    else
        progress_erase();
    funlockfile(stderr);
}

/* Returns the job's share of the work: its bytes, or 1 if they are not known. */
static double job_weight(const struct job *job)
{
    return job->bytes > 0 ? (double)job->bytes : 1;
}

void progress_begin(struct progress *progress, const struct settings *settings, const struct resume *resume,
                    const struct job_list *list)
{
    const bool is_check = settings->mode == MODE_CHECK, only_reads = (settings->mode & MODES_READING) != 0;
    const bool is_silent = settings->quiet || settings->dry_run || (only_reads && !is_check);
    const bool several = list->several && !is_silent;
    const bool wanted = settings->progress == PROGRESS_OPTION_ALWAYS ||
                        (settings->progress == PROGRESS_OPTION_AUTO && isatty(STDERR_FILENO));
    struct error ignored;
    *progress = (struct progress){.began = clock_seconds()};
    pthread_mutex_init(&progress->lock, NULL);
    atomic_store(&counts.finished, 0);
    atomic_store(&counts.failed, 0);
    atomic_store(&counts.skipped, 0);
    atomic_store(&counts.left_out, 0);
    atomic_store(&counts.total, several ? list->count : 0);
    atomic_store(&has_outputs, !list->is_stack && !only_reads);
    /* With --in-place some formats, and --strip, leave no record of what was done. */
    atomic_store(&can_resume, !settings->in_place || resume_check(settings, list, &ignored) == STATUS_OK);
    progress->has_file_lines = several && settings->verbose && !is_check;
    progress->has_line = wanted && !is_silent && !settings->verbose;
    progress->has_summary = several && (progress->has_line || progress->has_file_lines);
    if (!list->several && settings->progress == PROGRESS_OPTION_AUTO)
        progress->last_drawn =
            progress->began + FIRST_DRAW_DELAY - REDRAW_INTERVAL; /* nothing is drawn for a quick file */
    for (size_t i = 0; i < list->count; i++) {
        struct job *job = &list->jobs[i];
        job->is_expected_done = progress->has_line && resume && resume_expects_done(resume, job);
        progress->pending_bytes += job->is_expected_done ? 0 : job_weight(job);
    }
    atomic_store(&watches_compiler, progress->has_line);
}

/* Appends the pixels and the bytes, read and written, per second. */
static void append_rates(char *line, const struct progress *progress, double elapsed)
{
    if (elapsed > 0 && progress->pixels > 0)
        text_append(line, LINE_SIZE, ", %.1f MP/s, %.1f MB/s", 1e-6 * (double)progress->pixels / elapsed,
                    1e-6 * (double)progress->bytes / elapsed);
}

/* Appends the numbers of files that were skipped, that failed and that were left out. */
static void append_counts(char *line)
{
    size_t skipped = atomic_load(&counts.skipped), failed = atomic_load(&counts.failed),
           left_out = atomic_load(&counts.left_out);
    if (skipped > 0)
        text_append(line, LINE_SIZE, ", %zu done before", skipped);
    if (failed > 0)
        text_append(line, LINE_SIZE, ", %zu failed", failed);
    if (left_out > 0)
        text_append(line, LINE_SIZE, ", %zu left out", left_out);
}

/* Returns the seconds since the measurement of the rate began, and sets *done to the bytes since then. Both
 * are 0 before any rows are done. The first call after that begins the measurement, unless progress_add has.
 */
static double rate_period(struct progress *progress, double now, double *done)
{
    const double all = progress->done_bytes + progress->processed_bytes;
    *done = 0;
    if (all == 0)
        return 0;
    if (progress->rate_since == 0) {
        progress->rate_since = now;
        progress->rate_bytes = all;
    }
    *done = all - progress->rate_bytes;
    return now - progress->rate_since;
}

/* Appends ", 0:07 left", or ", 1:02:03 left": the time for the remaining bytes, if `done` bytes took
 * `elapsed` seconds. */
static void append_time_left(char *line, const struct progress *progress, double elapsed, double done)
{
    if (done <= 0)
        return;
    const double left = elapsed * fmax(progress->pending_bytes - progress->processed_bytes, 0) / done;
    const int seconds = (int)fmin(left + 0.5, LONGEST_SHOWN);
    if (seconds >= 3600)
        text_append(line, LINE_SIZE, ", %d:%02d:%02d left", seconds / 3600, seconds / 60 % 60, seconds % 60);
    else
        text_append(line, LINE_SIZE, ", %d:%02d left", seconds / 60, seconds % 60);
}

/* Draws the line for several files. */
static void draw_files(struct progress *progress, double now)
{
    char line[LINE_SIZE] = "";
    double done, elapsed = rate_period(progress, now, &done);
    text_append(line, sizeof line, "climg: %zu of %zu files", atomic_load(&counts.finished),
                atomic_load(&counts.total));
    append_counts(line);
    append_rates(line, progress, now - progress->began);
    append_time_left(line, progress, elapsed, done);
    draw_line(line);
}

/* Draws the line for a single file, after `rows` output rows of its current page. The time left is omitted if
 * the number of pages is unknown, as in a stream of pictures. */
static void draw_rows(struct progress *progress, const struct job *job, int rows, const struct shape *page,
                      double now)
{
    char line[LINE_SIZE] = "";
    double done, elapsed = rate_period(progress, now, &done);
    const int pages = job->page + (rows == page->height);
    if (job->pages == 1)
        text_append(line, sizeof line, "climg: %d of %d rows", rows, page->height);
    else if (job->pages > 0)
        text_append(line, sizeof line, "climg: %d of %d pages", pages, job->pages);
    else
        text_append(line, sizeof line, "climg: %d %s%s", pages,
                    reader_info(job->reader)->video.header ? "frame" : "page", pages == 1 ? "" : "s");
    if (done > 0) /* done / weight: share of the file, or number of pages if `pages` is unknown */
        text_append(line, sizeof line, ", %.1f MP/s",
                    1e-6 * done / job_weight(job) * (job->pages > 0 ? job->pages : 1) * page->width *
                        page->height / elapsed);
    if (job->pages > 0)
        append_time_left(line, progress, elapsed, done);
    text_append(line, sizeof line, ": %s", job_input_name(job));
    draw_line(line);
}

/* True if the line is enabled and was last drawn at least REDRAW_INTERVAL ago; then `now` becomes the time of
 * the last drawing. */
static bool is_due(struct progress *progress, double now)
{
    const bool due = progress->has_line && now - progress->last_drawn >= REDRAW_INTERVAL;
    if (due)
        progress->last_drawn = now;
    return due;
}

void progress_rows(void *context, int rows, const struct shape *page)
{
    struct job *job = context;
    struct progress *progress = job->progress;
    const bool several = atomic_load(&counts.total) > 0;
    double share = job->page + (double)rows / page->height;
    if (job->pages > 0)
        share /= job->pages;
    else if (several)
        share = 0; /* the sum over pages would exceed the job's weight */
    pthread_mutex_lock(&progress->lock);
    if (job->is_expected_done) /* the output was changed, and is written again */
        progress->pending_bytes += job_weight(job);
    job->is_expected_done = false;
    if (share > job->share) { /* not so if the job is done a second time */
        progress->processed_bytes += (share - job->share) * job_weight(job);
        job->share = share;
    }
    const double now = clock_seconds();
    /* After the last rows of a single page, the line would be erased at once, as the file ends. */
    if ((rows < page->height || job->pages != 1) && is_due(progress, now)) {
        if (several)
            draw_files(progress, now);
        else
            draw_rows(progress, job, rows, page, now);
    }
    pthread_mutex_unlock(&progress->lock);
}

void progress_add(struct progress *progress, const struct job *job, const struct result *result,
                  bool is_left_out)
{
    const double now = clock_seconds();
    /* A job that failed because the program is ending is not counted: --resume will do it. */
    if (result->status != STATUS_OK && temporary_is_disabled())
        return;
    if (!job->is_stack_result) {
        atomic_fetch_add(&counts.finished, 1);
        atomic_fetch_add(&counts.failed, result->status != STATUS_OK && !is_left_out);
        atomic_fetch_add(&counts.skipped, result->skipped);
        atomic_fetch_add(&counts.left_out, is_left_out);
    }
    pthread_mutex_lock(&progress->lock);
    /* The rate is measured from the time when the device was ready for the first file that is not skipped. */
    if (progress->rate_since == 0 && !result->skipped)
        progress->rate_since = now - fmax(result->times.total - result->times.seconds[PHASE_START] -
                                              result->times.seconds[PHASE_BUILD],
                                          0);
    /* Move the job's bytes to done_bytes. */
    if (!job->is_expected_done)
        progress->pending_bytes -= job_weight(job);
    progress->processed_bytes -= job->share * job_weight(job);
    if (!result->skipped) {
        progress->done_bytes += job_weight(job);
        progress->bytes += result->bytes_in + result->bytes_out;
        progress->pixels += result->pixels;
        progress->file_seconds += result->times.total;
        for (int i = 0; i < PHASE_COUNT; i++)
            progress->seconds[i] += result->times.seconds[i];
    }
    if (progress->has_file_lines && result->status == STATUS_OK) { /* results_add prints failures */
        char outcome[32] = ": skipped (done)";
        if (!result->skipped)
            snprintf(outcome, sizeof outcome, ", %.3f s", result->times.total);
        flockfile(stderr); /* so that no other worker prints in between */
        fputs("climg: ", stderr);
        if (!job->is_stack_result)
            fprintf(stderr, "%zu of %zu: ", atomic_load(&counts.finished), atomic_load(&counts.total));
        print_visible(stderr, job->is_stack_result ? job->output : job->input);
        if (!job->merge_step) { /* a picture of a stack has no output of its own */
            fputs(" -> ", stderr);
            print_visible(stderr, job->output);
        }
        fprintf(stderr, "%s\n", outcome);
        funlockfile(stderr);
    }
    if (atomic_load(&counts.total) > 0 && is_due(progress, now))
        draw_files(progress, now);
    pthread_mutex_unlock(&progress->lock);
}

void progress_end(struct progress *progress)
{
    char line[LINE_SIZE] = "";
    const double elapsed = clock_seconds() - progress->began;
    const size_t files = atomic_load(&counts.finished);
    atomic_store(&watches_compiler, false);
    pthread_mutex_destroy(&progress->lock);
    atomic_store(&counts.total, 0);
    progress_erase();
    if (!progress->has_summary)
        return;
    text_append(line, sizeof line, "climg: %zu file%s", files, files == 1 ? "" : "s");
    append_counts(line);
    text_append(line, sizeof line, ", in %.1f s", elapsed);
    append_rates(line, progress, elapsed);

    /* Append the part that took the most time, and its share of the time of all files. */
    const double *seconds = progress->seconds;
    const struct {
        const char *name;
        double seconds;
    } parts[] = {
        {"reading", seconds[PHASE_DECODE] + seconds[PHASE_PREPARE]},
        {"the device", seconds[PHASE_UPLOAD] + seconds[PHASE_STAGES] + seconds[PHASE_DOWNLOAD]},
        {"aligning", seconds[PHASE_REGISTRATION]},
        {"writing", seconds[PHASE_ENCODE]},
        {"verifying", seconds[PHASE_VERIFY]},
        {"starting", seconds[PHASE_START] + seconds[PHASE_BUILD]},
    };
    size_t most = 0;
    for (size_t i = 1; i < sizeof parts / sizeof parts[0]; i++)
        most = parts[i].seconds > parts[most].seconds ? i : most;
    if (parts[most].seconds > 0) /* its share may exceed 100%, as several threads decode a file */
        text_append(line, sizeof line, ", longest part: %s, %.0f%%", parts[most].name,
                    100 * fmin(parts[most].seconds / progress->file_seconds, 1));
    fprintf(stderr, "%s\n", line);
}

/* ---------------------------------------------------------------- in a signal handler
 *
 * The following functions only call functions that are async-signal-safe (signal-safety(7)): no stdio. */

/* Appends to a line of LINE_SIZE bytes. Text that does not fit is cut off. */
static void append_safely(char *line, const char *text)
{
    size_t at = strlen(line);
    while (*text != '\0' && at < LINE_SIZE - 1)
        line[at++] = *text++;
    line[at] = '\0';
}

/* Appends `before`, the number and `after`. */
static void append_count_safely(char *line, const char *before, size_t count, const char *after)
{
    char digits[24] = "", *first = digits + sizeof digits - 1;
    do
        *--first = (char)('0' + count % 10);
    while ((count /= 10) > 0);
    append_safely(line, before);
    append_safely(line, first);
    append_safely(line, after);
}

void progress_interrupted(int number)
{
    const size_t total = atomic_load(&counts.total), failed = atomic_load(&counts.failed),
                 skipped = atomic_load(&counts.skipped);
    const int saved_errno = errno;
    const char *name = sigabbrev_np(number);
    char line[LINE_SIZE] = "";
    if (atomic_load(&is_drawn))
        append_safely(line, "\r\033[K");
    if (total > 0 && atomic_load(&has_outputs)) {
        append_safely(line, "climg: stopped by SIG");
        append_safely(line, name ? name : "?");
        append_count_safely(line, ": ", atomic_load(&counts.finished) - failed, " of ");
        append_count_safely(line, "", total, " files are done");
        if (skipped > 0)
            append_count_safely(line, ", ", skipped, " of them by an earlier run");
        if (failed > 0)
            append_count_safely(line, ", ", failed, " failed");
        append_safely(line, atomic_load(&can_resume) ? "; --resume goes on from here\n" : "\n");
    }
    (void)!write(STDERR_FILENO, line, strlen(line));
    errno = saved_errno;
}
