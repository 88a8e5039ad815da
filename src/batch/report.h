/* Reports what happened to the jobs: messages, --report, times and the exit status.
 *
 *     results_begin ─▶ results_add for each job, progress_rows in between ─▶ results_end ─▶ report_times
 *
 * Thread safety: results_add and results_print are called by one thread at a time (the worker pool's lock).
 * The others are called by the main thread while no workers run. */
#ifndef CLIMG_BATCH_REPORT_H
#define CLIMG_BATCH_REPORT_H

#include "batch/files.h"
#include "batch/progress.h"
#include "batch/result.h"

struct json_writer;

/* Writes "noise": for each colour the noise of each level, or null. */
void report_noise(struct json_writer *line, const struct noise_summary *noise);

/* The file of --report. */
struct report_file {
    const char *path; /* for messages; NULL without a report */
    int file;         /* descriptor; -1: closed */
};

/* The outcome of the command so far. */
struct results {
    /* Constant. */
    const struct settings *settings;
    size_t count; /* number of jobs */
    bool several; /* more than one file: failures are printed when they happen. The failure of a single file
                   * is returned as the command's */
    void (*report_error)(const struct error *);

    struct progress progress; /* has its own lock */

    /* Protected by the worker pool's lock. */
    size_t added, failed; /* number of results, and of failures among them */
    size_t left_out;      /* number of inputs of a stack that failed and were left out of it */
    bool is_stopped;      /* a failure that all other files would share ended the work; it is printed once */
    struct report_file report;
    bool is_report_incomplete; /* a failure of writing it was printed */
    struct error last_failure; /* of a job */
    enum status last_failure_status;
};

/* Opens the report and begins the progress; call results_end after success. `report_error` prints a message.
 */
enum status results_begin(struct results *results, const struct settings *settings,
                          const struct job_list *list, void (*report_error)(const struct error *),
                          struct error *error);

/* Prints and counts the result of a job and writes it to the report. */
void results_add(struct results *results, struct job *job, const struct result *result);

/* Prints a line of JSON for a job without a result: `status` is "planned" or "not tried". `why` is the
 * reason, or NULL. */
void results_print_undone(FILE *out, const struct job *job, const char *status, const struct error *why);

/* Prints a message in place of the line of progress. */
void results_print(const struct results *results, const struct error *error);

/* Ends progress and report, with a line for each job of the list that was not tried. `status` is the status
 * of the command so far; if it is a failure, *error is its message, the reason of these lines. Returns
 *
 *     `status`         if it is a failure of the whole command, with its message
 *     STATUS_PARTIAL   if some of several files failed, with their number as message; or if all files are
 *                      done and the report is incomplete
 *     STATUS_FAILED    if all of several files failed, with their number as message
 *     the file's own   status and message if a single file failed */
enum status results_end(struct results *results, const struct job_list *list, enum status status,
                        struct error *error);

/* Writes --timing and --trace after the work, which began at `began` (clock_seconds) and ended with `status`.
 * `workers` has one worker for each device, with the measurements of all workers on it. Returns `status`, or
 * STATUS_FAILED if a file cannot be written. If the work failed, too, `report_error` gets the file's error.
 */
enum status report_times(struct worker *const *workers, int count, const struct settings *settings,
                         double began, enum status status, void (*report_error)(const struct error *),
                         struct error *error);

#endif
