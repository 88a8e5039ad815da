/* Progress: the redrawn line on a terminal, the lines of -v, the summary, and the message of a run that a
 * signal ends.
 *
 *     progress_begin ─▶ progress_add for each job, progress_rows in between ─▶ progress_end
 *
 * A process has one struct progress at a time, as a signal handler has no context.
 *
 * Thread safety: any worker may call progress_add and progress_rows, any thread progress_erase. The thread
 * that waits for signals calls progress_poll. progress_interrupted is async-signal-safe. The main
 * thread calls the others while no workers run. */
#ifndef CLIMG_BATCH_PROGRESS_H
#define CLIMG_BATCH_PROGRESS_H

#include "batch/files.h"

#include <pthread.h>

struct resume;
struct shape;

/* The state of the line of --progress, which is redrawn on a terminal, of the lines of -v, one for each file,
 * and of the summary. */
struct progress {
    /* Constant. */
    bool has_line;       /* draw the line */
    bool has_file_lines; /* print a line for each file */
    bool has_summary;    /* print a line at the end */
    double began;        /* time of clock_seconds at the start */

    pthread_mutex_t lock; /* protects the following fields, and `share` and `is_expected_done` of all jobs */
    double last_drawn;    /* time of the last drawing */

    /* Bytes of inputs. Files of unknown size count as one byte. */
    double pending_bytes;   /* of files that are not done, without is_expected_done */
    double processed_bytes; /* of the rows of pending files that went through the chain */
    double done_bytes;      /* of files that are done */

    /* The rate is measured from the time when the device was ready for the first finished file, or from the
     * first drawing after rows were done. */
    double rate_since; /* that time; 0 before */
    double rate_bytes; /* done_bytes + processed_bytes at that time */

    /* For the summary. */
    uint64_t bytes, pixels;      /* bytes read and written; pixels of inputs */
    double seconds[PHASE_COUNT]; /* busy seconds of all files */
    double file_seconds;         /* seconds from the start to the end of each file, added up */
};

/* Initialises the progress, without the files that --resume will probably skip, so that the time left is
 * right; `resume` may be NULL. Call it before the workers start. From then until progress_end,
 * progress_interrupted prints the number of files that are done. */
void progress_begin(struct progress *progress, const struct settings *settings, const struct resume *resume,
                    const struct job_list *list);

/* Draws a line when the driver has compiled for half a second in total, and erases it when it is done. One
 * thread calls it every 0.1 s. */
void progress_poll(void);

/* Erases the line before something else is printed. */
void progress_erase(void);

/* Counts a finished job. Prints its line with -v, or redraws the line of --progress if that is due.
 * `is_left_out`: the job failed, and its stack goes on without it. */
void progress_add(struct progress *progress, const struct job *job, const struct result *result,
                  bool is_left_out);

/* Callback for page.report_rows (chain/page.h): updates the progress after the first `rows` output rows of
 * the current page were enqueued. `page` is the shape of the page's output. `job` points to a struct job with
 * its `progress` set. */
void progress_rows(void *job, int rows, const struct shape *page);

/* Erases the line, prints the summary, and destroys the lock. */
void progress_end(struct progress *progress);

/* For several files with an output each, prints on stderr the number of files that were done before signal
 * `number` ended the run. Otherwise only erases the line. */
void progress_interrupted(int number);

#endif
