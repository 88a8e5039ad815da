/* What is told of a job while it goes on, and what is kept of it when it is over. */
#ifndef CLIMG_BATCH_SETTLE_H
#define CLIMG_BATCH_SETTLE_H

#include "batch/job.h"

/* A line of --verbose: "climg: INPUT: ...". */
void job_tell(const struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a line to the warnings; of several pages that give the same reason it is told once. */
void result_warn(struct result *result, const char *text);

/* Notes the sizes of a page that is about to go through, and with --verbose says what was decided. */
void job_note(const struct job *job, const struct worker *worker, const struct page *page,
              struct result *result);

/* Notes the noise that stages estimated: after a page, or for the image of that number after a group, while
 * the job's input is as it was. */
void noise_note(const struct worker *worker, const struct job *job, int image, struct result *result);

/* Notes where --align found the page, also where that was not sure enough. */
void alignment_note(const struct worker *worker, const struct job *job, struct result *result);

/* Closes the job. A failure's message gets the file's name here, and nowhere else. */
void job_settle(struct job *job, const struct worker *worker, enum status status, struct result *result);

#endif
