/* Reports what happened to the jobs: messages, --report, progress, times and the exit status.
 *
 *     results_begin ─▶ results_add for each job, progress_rows in between ─▶ results_end ─▶ report_times
 *
 * Thread safety: results_add and results_print are called by one thread at a time (the worker pool's lock);
 * progress_rows by all workers. The rest is called by the main thread without workers. */
#ifndef CLIMG_BATCH_REPORT_H
#define CLIMG_BATCH_REPORT_H

#include "batch/files.h"

#include <pthread.h>
#include <signal.h>

struct shape;

/* The line of --progress on a terminal, which is redrawn, and the lines of -v, one for each file. */
struct progress {
    /* Constant. */
    bool draws;   /* redraws the line */
    bool prints;  /* prints a line for each file */
    bool summary; /* prints a line at the end */
    double began; /* time of clock_seconds at the start */

    pthread_mutex_t lock; /* protects the following fields, and `share` of all jobs */
    double drawn;         /* time of the last drawing */
    /* Work in bytes of inputs. Files of unknown size count as one byte. */
    double left;       /* of files that are not done */
    double under_way;  /* the part of `left` that went through the chain */
    double done;       /* of files that are done */
    double first;      /* time of the first output; 0 before it */
    double first_done; /* done + under_way at that time */
    /* For the summary. */
    uint64_t bytes, pixels;     /* bytes read and written; pixels of inputs */
    double seconds[PART_COUNT]; /* busy seconds of all files */
    double work_seconds;        /* from the start to the end of each file, added up */
};

/* Call it before the work starts. From then on progress_interrupted prints the number of files that are done.
 */
void progress_begin(struct progress *progress, const struct settings *settings, const struct list *list);

struct resume;

/* Leaves out of the work the files that earlier runs have done, as far as their records tell without reading
 * files. Call it before the workers start. */
void progress_leave_out_done(struct progress *progress, const struct resume *resume, const struct list *list);

/* Sent when the driver has compiled for more than half a second. The thread that waits for signals then calls
 * progress_show_compiling, which shows the user why nothing happens. */
#define PROGRESS_SIGNAL SIGRTMIN
void progress_show_compiling(void);

/* Erases the line, so that something else can be printed. Any thread may call. */
void progress_erase(void);

/* Call it after a job: prints its line, or redraws the line if the last time was a while ago. */
void progress_add(struct progress *progress, const struct job *job, const struct result *result);

/* Draws the part of a job that is done: a `watch` for chain/page.h. `job` is a struct job with its `progress`
 * set.
 */
void progress_rows(void *job, int rows, const struct shape *of);

/* Erases the line, and prints a summary if there are several files and lines were shown. */
void progress_end(struct progress *progress);

/* Prints on stderr the number of files that were done before signal `number` ended the run. Safe in a signal
 * handler. */
void progress_interrupted(int number);

struct json_writer;

/* Writes "noise": for each colour a list of levels, or null. */
void report_noise(struct json_writer *line, const struct result *result);

/* The file of --report. */
struct journal {
    const char *path; /* for messages; NULL: no report */
    int file;         /* descriptor; -1: closed */
};

/* The outcome of the command so far. */
struct results {
    /* Constant. */
    const struct settings *settings;
    size_t count; /* number of jobs */
    bool several; /* messages name files; with a single file the message is the command's */
    void (*complain)(const struct error *);

    struct progress progress; /* has its own lock */

    /* Protected by the worker pool's lock. */
    size_t added, failed; /* number of results, and of failures among them */
    size_t left_out;      /* number of inputs of a stack that failed and were left out of it */
    bool has_ended;       /* a failure that all other files would share ended the work; it is reported once */
    struct journal journal;
    bool journal_failed; /* its failure was printed */
    struct error single; /* the last failure; with a single file it is the command's */
    enum status single_status;
};

/* Opens the report and begins the progress; call results_end after success. `complain` prints a message. */
enum status results_begin(struct results *results, const struct settings *settings, const struct list *list,
                          void (*complain)(const struct error *), struct error *error);

/* Prints and counts the result of a job and writes it to the report. */
void results_add(struct results *results, const struct job *job, const struct result *result);

/* Prints a message in place of the line of progress. */
void results_print(const struct results *results, const struct error *error);

/* Ends progress and report. Returns `status` if it is a failure of the whole command, STATUS_PARTIAL if some
 * jobs failed, STATUS_FAILED if all did; the message is then the count. */
enum status results_end(struct results *results, enum status status, struct error *error);

/* Writes --timing and --trace after the work, which began at `began` (clock_seconds) and ended with `status`.
 * `workers` has one worker for each device, with the measurements of all workers on it. Returns `status`, or
 * STATUS_FAILED if a file cannot be written. If the work failed, too, `complain` gets the file's error. */
enum status report_times(struct worker *const *workers, int count, const struct settings *settings,
                         double began, enum status status, void (*complain)(const struct error *),
                         struct error *error);

#endif
