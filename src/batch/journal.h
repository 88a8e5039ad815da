/* --report: a JSON object a line, one for each file, written as it happens: a kill loses nothing but the
 * files under way. */
#ifndef CLIMG_BATCH_JOURNAL_H
#define CLIMG_BATCH_JOURNAL_H

#include "batch/job.h"

struct journal {
    const char *path; /* NULL: none is wanted */
    int file;
};

/* Begins the file anew, or goes on with it where `append` (the lines of the runs that --resume goes on from).
 */
enum status journal_open(struct journal *journal, const char *path, bool append, struct error *error);

/* Writes what became of a job, in one write, so that several processes may share a file (not on NFS). */
enum status journal_write(struct journal *journal, const struct job *job, const struct result *result,
                          struct error *error);

/* Says whether all was written. Fine where none is wanted. */
enum status journal_close(struct journal *journal, struct error *error);

#endif
