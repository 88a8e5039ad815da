/* --progress: one line on a terminal that is drawn over and over. -v: a line a file. */
#ifndef CLIMG_BATCH_PROGRESS_H
#define CLIMG_BATCH_PROGRESS_H

#include "batch/list.h"
#include "batch/result.h"

struct progress {
    bool draws;  /* the line that changes */
    bool rows;   /* the same of the rows of a single file */
    bool prints; /* a line a file */
    uint64_t bytes_left, bytes_read, bytes_written, pixels;
    const char *input;          /* of the single file */
    double began, drawn;        /* by clock_seconds */
    double seconds[PART_COUNT]; /* busy, of all files */
    double work_seconds;        /* from each file's begin to its end, added up */
};

/* Of a list that is about to be worked on. From here on an interruption tells how far it got. */
void progress_begin(struct progress *progress, const struct settings *settings, const struct list *list);

/* Takes the line away, so that something else can be written. */
void progress_erase(void);

/* A job is done: prints its line, or draws the line anew if the last time was a while ago. */
void progress_take(struct progress *progress, const struct job *job, const struct result *result);

/* How far a single file is: a `watch` of chain/page.h. */
void progress_rows(void *progress, int rows, int of);

/* Takes the line away and says what was done in all, if anything was shown before. */
void progress_end(struct progress *progress);

/* Says on stderr what was done when a signal ends the run. Safe in a signal handler. */
void progress_interrupted(int number);

#endif
