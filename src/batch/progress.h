/* Progress: the redrawn line on a terminal, the lines of -v, the summary, and the message of a run that a
 * signal ends.
 *
 *     progress_begin ─▶ progress_add for each job, progress_rows in between ─▶ progress_end
 *
 * A process has one struct progress at a time, as a signal handler has no context. Thread safety:
 * progress_add and progress_rows may be called by all workers; progress_show_compiling, by the thread that
 * waits for signals, and progress_erase by any thread; progress_interrupted also in a signal handler. The
 * others are called by the main thread while no workers run. */
#ifndef CLIMG_BATCH_PROGRESS_H
#define CLIMG_BATCH_PROGRESS_H

#include "batch/files.h"

#include <pthread.h>
#include <signal.h>

struct resume;
struct shape;

/* The line of --progress on a terminal, which is redrawn, and the lines of -v, one for each file. */
struct progress {
    /* Constant. */
    bool has_line;       /* redraws the line */
    bool has_file_lines; /* prints a line for each file */
    bool has_summary;    /* prints a line at the end */
    double began;        /* time of clock_seconds at the start */

    pthread_mutex_t lock; /* protects the following fields, and `share` of all jobs */
    double last_drawn;    /* time of the last drawing */
    /* Bytes of inputs. Files of unknown size count as one byte. */
    double pending_bytes;   /* of files that are not done */
    double processed_bytes; /* the part of pending_bytes that went through the chain */
    double done_bytes;      /* of files that are done */
    double rate_since;      /* start of the measurement of the rate: when the device was ready for the first
                             * finished file, or the first drawing after rows were done; 0 before */
    double rate_bytes;      /* done_bytes + processed_bytes at that time */
    /* For the summary. */
    uint64_t bytes, pixels;     /* bytes read and written; pixels of inputs */
    double seconds[PART_COUNT]; /* busy seconds of all files */
    double file_seconds;        /* from the start to the end of each file, added up */
};

/* Initialises the progress, before the workers start. From then on progress_interrupted prints the number of
 * files that are done. */
void progress_begin(struct progress *progress, const struct settings *settings, const struct job_list *list);

/* Subtracts from pending_bytes the files that --resume will probably skip, so that the time left is right.
 * Call it before the workers start. */
void progress_subtract_done(struct progress *progress, const struct resume *resume,
                            const struct job_list *list);

/* Sent when the driver has compiled for half a second. The thread that waits for signals then calls
 * progress_show_compiling, which shows the user why nothing happens. */
#define SIGNAL_COMPILING SIGRTMIN
void progress_show_compiling(void);

/* Erases the line, so that something else can be printed. */
void progress_erase(void);

/* Counts a finished job, and prints its line, or redraws the line if the last time was a while ago.
 * `is_left_out`: it failed, and its stack goes on without it. */
void progress_add(struct progress *progress, const struct job *job, const struct result *result,
                  bool is_left_out);

/* Callback for page.watch (chain/page.h): updates the progress when `rows` output rows of the current page,
 * in total, are enqueued. `page` is the shape of the page's output. `job` points to a struct job with its
 * `progress` set. */
void progress_rows(void *job, int rows, const struct shape *page);

/* Erases the line, and prints a summary if it was requested (has_summary). */
void progress_end(struct progress *progress);

/* Prints on stderr the number of files that were done before signal `number` ended the run. */
void progress_interrupted(int number);

#endif
