/* What became of the jobs: said, written to --report, counted, and turned into the exit status. */
#ifndef CLIMG_BATCH_RESULTS_H
#define CLIMG_BATCH_RESULTS_H

#include "batch/progress.h"

/* --report: a JSON object a line, one for each file, written as it happens: a kill loses nothing but the
 * files under way. */
struct journal {
    const char *path; /* NULL: none is wanted */
    int file;
};

struct results {
    const struct settings *settings;
    size_t count; /* jobs */
    size_t taken, failed;
    bool ended;   /* by a failure that others would share: what fails alike from here on is not said again */
    bool several; /* several files are talked about as such; a single one's message is the command's */
    void (*complain)(const struct error *);
    struct journal journal;
    bool journal_failed;
    struct progress progress;
    struct error single; /* the last failure: of a single file it is the command's */
    enum status single_status;
};

enum status results_begin(struct results *results, const struct settings *settings, const struct list *list,
                          void (*complain)(const struct error *), struct error *error);

/* The one place that takes what became of a job; to be called by one thread at a time. */
void results_take(struct results *results, const struct job *job, const struct result *result);

/* Says something that is not about one job; to be called by one thread at a time, too. */
void results_warn(struct results *results, const struct error *error);

/* `status` with its message where it is a failure of the whole. Else STATUS_PARTIAL if some jobs failed,
 * STATUS_FAILED if all did; the message is then the count. */
enum status results_end(struct results *results, enum status status, struct error *error);

#endif
