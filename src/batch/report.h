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

/* Writes a line of a report. */
typedef void report_line(FILE *out, const struct job *job, const struct result *result);

/* The outcome of the command so far. */
struct results {
    /* Constant. */
    const struct settings *settings;
    bool several; /* each failure is printed when it happens; otherwise results_end returns the failure of the
                   * only file, or of the stack */
    void (*report_error)(const struct error *);
    report_line *print_line;  /* NULL: the line of a conversion */
    const struct job *merged; /* the result of a stack, which is not in the list; may be NULL */

    struct progress progress; /* has its own lock */

    /* Protected by the worker pool's lock. */
    size_t added, failed;               /* number of results, and of failures among them, without left_out */
    size_t left_out;                    /* number of inputs of a stack that failed and were left out of it */
    char depth_warnings[WARNINGS_SIZE]; /* printed warnings (result.h), one in each line */
    bool is_stopped;                    /* the work ended after a failure that all other files would share */
    const char *report_name;            /* of the file of --report, for messages; NULL without a report */
    int report_file;                    /* descriptor */
    bool is_report_incomplete;          /* writing it failed, and this was printed */
    struct error last_failure; /* of the last job that failed, or of the first one that ended the work */
    enum status last_failure_status;
};

/* Opens the report and begins the progress; call results_end after success. `resume` may be NULL.
 * `report_error` prints a message. */
enum status results_begin(struct results *results, const struct settings *settings,
                          const struct resume *resume, const struct job_list *list,
                          void (*report_error)(const struct error *), struct error *error);

/* Begins a command that reads files and writes none (--info, --check, --compare): checks the command, lists
 * the files of the shard, confines the process, and calls results_begin. Free the list also after a failure.
 */
enum status results_begin_reading(struct results *results, struct job_list *list,
                                  const struct command *command, void (*report_error)(const struct error *),
                                  struct error *error);

/* Prints and counts the result of a job and writes it to the report. */
void results_add(struct results *results, struct job *job, const struct result *result);

/* Prints a line of JSON for a job without a result. `status` is the text of its "status", such as "not tried"
 * or "planned". `why` is the reason of a failure, or NULL. */
void results_print_undone(FILE *out, const struct job *job, const char *status, const struct error *why);

/* Erases the line of progress and prints a message. */
void results_print(const struct results *results, const struct error *error);

/* Ends progress and report. Writes a line to the report for each job that was not tried. `status`
 * is the status of the command so far; if it is a failure, *error is its message, which is also the reason in
 * these lines. Returns
 *
 *     `status`           if it is a failure
 *     STATUS_PARTIAL     if some of the files that were tried failed, with their number as the message; or if
 *                        no file failed, but the report is incomplete
 *     STATUS_FAILED      if all files that were tried failed, with their number as the message (--check: also
 *                        STATUS_PARTIAL, and STATUS_FAILED if the report is incomplete)
 *     the file's status  if `several` is false and the file failed, with its message
 *     STATUS_OK          otherwise */
enum status results_end(struct results *results, const struct job_list *list, enum status status,
                        struct error *error);

/* Writes --timing and --trace. The work began at `began` (clock_seconds) and ended with `status`. `workers`
 * are the leaders of the `count` devices (worker_pool_add_measurements). Returns `status`. If a file cannot
 * be written, returns STATUS_FAILED; if `status` is a failure, too, calls `report_error` with the file's
 * error and returns `status`. */
enum status report_times(struct worker *const *workers, int count, const struct settings *settings,
                         double began, enum status status, void (*report_error)(const struct error *),
                         struct error *error);

#endif
