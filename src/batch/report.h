/* Reports the outcomes of jobs: messages, --report, --timing, --trace and the exit status.
 *
 *     results_begin ─▶ results_add for each job, progress_rows in between ─▶ results_end ─▶ report_times
 *
 * Thread safety: one thread at a time may call results_add and results_print (the worker pool's lock). The
 * main thread calls the others while no workers run. */
#ifndef CLIMG_BATCH_REPORT_H
#define CLIMG_BATCH_REPORT_H

#include "batch/files.h"
#include "batch/progress.h"
#include "batch/result.h"

struct json_writer;

/* Writes the key "noise": a list for each colour with the noise of each level, or null. */
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
    bool several; /* more than one file: failures are printed at once. Else the failure of the file is
                   * returned as the command's */
    void (*report_error)(const struct error *);

    struct progress progress; /* has its own lock */

    /* Protected by the worker pool's lock. */
    size_t added, failed; /* number of results, and of failures among them */
    size_t left_out;      /* number of inputs of a stack that failed and were left out of it */
    bool is_stopped;      /* the work ended after a failure that all other files would share */
    struct report_file report;
    bool is_report_incomplete; /* writing it failed, and this was printed */
    struct error last_failure; /* message of the last job that failed */
    enum status last_failure_status;
};

/* Opens the report and begins the progress; call results_end after success. `report_error` prints a message.
 */
enum status results_begin(struct results *results, const struct settings *settings,
                          const struct job_list *list, void (*report_error)(const struct error *),
                          struct error *error);

/* Prints and counts the result of a job and writes it to the report. */
void results_add(struct results *results, struct job *job, const struct result *result);

/* Prints a line of JSON for a job without a result. `status` is the text of its "status", such as "not
 * tried". `why` is the reason, or NULL. */
void results_print_undone(FILE *out, const struct job *job, const char *status, const struct error *why);

/* Erases the line of progress and prints a message. */
void results_print(const struct results *results, const struct error *error);

/* Ends progress and report. The report gets a line for each job of the list that was not tried. `status` is
 * the status of the command so far; if it is a failure, *error is its message and the reason in these lines.
 * Returns
 *
 *     `status`           if it is a failure
 *     STATUS_PARTIAL     if some of several files failed, with the number of them as the message; or if all
 *                        files are done, but the report is incomplete
 *     STATUS_FAILED      if all of several files failed, with the number of them as the message
 *     the file's status  if a single file failed, with its message */
enum status results_end(struct results *results, const struct job_list *list, enum status status,
                        struct error *error);

/* Writes --timing and --trace after the work, which began at `began` (clock_seconds) and ended with `status`.
 * `workers` has one worker for each device, with the measurements of all workers on it. Returns `status`, or
 * STATUS_FAILED if only a file failed. If both failed, calls `report_error` with the error of the file. */
enum status report_times(struct worker *const *workers, int count, const struct settings *settings,
                         double began, enum status status, void (*report_error)(const struct error *),
                         struct error *error);

#endif
