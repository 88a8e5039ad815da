/* Reports what happened to the jobs: messages, --report, progress and the exit status. */
#ifndef CLIMG_BATCH_REPORT_H
#define CLIMG_BATCH_REPORT_H

#include "batch/files.h"

#include <pthread.h>
#include <signal.h>

struct shape;

/* The line of --progress on a terminal, redrawn again and again, and the lines of -v, one for each file. */
struct progress {
    pthread_mutex_t lock;
    bool draws;   /* redraws the line */
    bool prints;  /* prints a line for each file */
    bool summary; /* prints a line at the end */
    /* Bytes of inputs: of files that are not done, their part that went through the chain, of files that are
     * done. */
    double left, under_way, done;
    double first, first_done;   /* time of the first output, and bytes of inputs that were done then */
    uint64_t bytes, pixels;     /* bytes read and written; pixels of inputs */
    double began, drawn;        /* times of clock_seconds: of the start, of the last drawing */
    double seconds[PART_COUNT]; /* busy seconds of all files */
    double work_seconds;        /* from the start to the end of each file, added up */
};

/* Call it before the work starts; from then on progress_interrupted prints how far it got. */
void progress_begin(struct progress *progress, const struct settings *settings, const struct list *list);

/* Sent when the driver has compiled for so long that the user should know. The thread that waits for signals
 * then calls progress_show_compiling. */
#define PROGRESS_SIGNAL SIGRTMIN
void progress_show_compiling(void);

/* Erases the line, so that something else can be printed. */
void progress_erase(void);

/* Call it after a job: prints its line, or redraws the line if the last time was a while ago. */
void progress_add(struct progress *progress, const struct job *job, const struct result *result);

/* Draws how far a job is: a `watch` for chain/page.h. `job` is a struct job that knows its progress. */
void progress_rows(void *job, int rows, const struct shape *of);

/* Erases the line and prints a summary if anything was shown before. */
void progress_end(struct progress *progress);

/* Prints on stderr what was done before a signal ended the run. Safe in a signal handler. */
void progress_interrupted(int number);

struct json_writer;

/* Writes "noise": for each colour a list of levels, or null. */
void report_noise(struct json_writer *line, const struct result *result);

/* The file of --report. */
struct journal {
    const char *path; /* NULL: no report */
    int file;
};

/* The outcome of the command so far. */
struct results {
    const struct settings *settings;
    size_t count; /* jobs */
    size_t added, failed;
    bool has_ended; /* by a failure that all other files would share; it is reported once */
    bool several;   /* messages name files; with a single file the message is the command's */
    void (*complain)(const struct error *);
    struct journal journal;
    bool journal_failed;
    struct progress progress;
    struct error single; /* the last failure; with a single file it is the command's */
    enum status single_status;
};

enum status results_begin(struct results *results, const struct settings *settings, const struct list *list,
                          void (*complain)(const struct error *), struct error *error);

/* Prints and counts the result of a job and writes it to the report. One thread at a time. */
void results_add(struct results *results, const struct job *job, const struct result *result);

/* Prints a message in place of the line of progress. One thread at a time. */
void results_print(const struct results *results, const struct error *error);

/* Ends progress and report. Returns `status` if it is a failure of the whole command, STATUS_PARTIAL if some
 * jobs failed, STATUS_FAILED if all did; the message is then the count. */
enum status results_end(struct results *results, enum status status, struct error *error);

/* Writes --timing and --trace after the work, which began at `began` and ended in `status`. `workers`: one
 * for each device, with what all on it measured. Returns that status; if a file cannot be written, a failure.
 * If the work failed, too, `complain` gets the file's error.
 */
enum status report_times(struct worker *const *workers, int count, const struct settings *settings,
                         double began, enum status status, void (*complain)(const struct error *),
                         struct error *error);

#endif
