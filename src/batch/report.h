/* Reports what happened to the jobs: messages, --report, progress and the exit status. */
#ifndef CLIMG_BATCH_REPORT_H
#define CLIMG_BATCH_REPORT_H

#include "batch/list.h"

#include <pthread.h>
#include <signal.h>

struct shape;

/* --progress: one line on a terminal, redrawn again and again. -v: a line for each file. */
struct progress {
    pthread_mutex_t lock;
    bool draws;   /* redraws the line */
    bool prints;  /* prints a line for each file */
    bool summary; /* and one at the end */
    /* Bytes of inputs: of those that are not done, as far as those are through, of those that are done. */
    double left, under_way, done;
    double first, first_done;   /* when the first rows or the first file came out, and how much did */
    uint64_t bytes, pixels;     /* read and written; that came in */
    double began, drawn;        /* by clock_seconds, as `first` is */
    double seconds[PART_COUNT]; /* busy seconds of all files */
    double work_seconds;        /* from the start to the end of each file, added up */
};

/* Call it before the work starts; from then on progress_interrupted says how far it got. */
void progress_begin(struct progress *progress, const struct settings *settings, const struct list *list);

/* Sent when the driver has compiled for so long that the user should know. The thread that waits for signals
 * then calls progress_show_compiling. */
#define PROGRESS_SIGNAL SIGRTMIN
void progress_show_compiling(void);

/* Erases the line, so that something else can be printed. */
void progress_erase(void);

/* After a job: prints its line, or redraws the line if the last time was a while ago. */
void progress_take(struct progress *progress, const struct job *job, const struct result *result);

/* Shows how far a job is, which knows its progress: a `watch` for chain/page.h. */
void progress_rows(void *job, int rows, const struct shape *of);

/* Erases the line and prints a summary if anything was shown before. */
void progress_end(struct progress *progress);

/* Says on stderr what was done before a signal ended the run. Safe in a signal handler. */
void progress_interrupted(int number);

/* "noise": lists of levels for each colour, or null. */
struct json_writer;
void report_noise(struct json_writer *line, const struct result *result);

/* --report: one line of JSON for each file, written as it is done, so that a kill loses only the files under
 * way. */
struct journal {
    const char *path; /* NULL: no report */
    int file;
};

struct results {
    const struct settings *settings;
    size_t count; /* jobs */
    size_t taken, failed;
    bool ended;   /* by a failure that all other files would share; it is reported once */
    bool several; /* messages name files; with a single file the message is the command's */
    void (*complain)(const struct error *);
    struct journal journal;
    bool journal_failed;
    struct progress progress;
    struct error single; /* the last failure; with a single file it is the command's */
    enum status single_status;
};

enum status results_begin(struct results *results, const struct settings *settings, const struct list *list,
                          void (*complain)(const struct error *), struct error *error);

/* Takes the result of a job: prints, writes the report, counts. One thread at a time. */
void results_take(struct results *results, const struct job *job, const struct result *result);

/* Prints a message in place of the line of progress. One thread at a time. */
void results_say(const struct results *results, const struct error *error);

/* A failure of the whole command is returned as it is. Otherwise STATUS_PARTIAL if some jobs failed,
 * STATUS_FAILED if all did; the message is then the count. */
enum status results_end(struct results *results, enum status status, struct error *error);

struct worker_pool;

/* --timing and --trace: writes what the workers measured since `began`, after its work. Returns `status`, the
 * outcome of the work; if a file cannot be written, that is a failure unless the work failed: then it is only
 * reported by `complain`. */
enum status times_tell(struct worker_pool *pool, const struct settings *settings, double began,
                       enum status status, void (*complain)(const struct error *), struct error *error);

#endif
