/* One job through the chain, page by page. */
#ifndef CLIMG_BATCH_CONVERT_H
#define CLIMG_BATCH_CONVERT_H

#include "batch/job.h"

/* Fills in the output's metadata, and how samples become values and values samples; page->plan must be set.
 * metadata_free(&page->out.metadata) is needed only after success. */
enum status job_describe(const struct job *job, const struct worker *worker, struct page *page,
                         struct error *error);

/* Opens the input unless an earlier run has done the job. May be called again. */
enum status convert_begin(struct worker *worker, struct job *job, struct error *error);

/* Renames the finished output to its final name. */
enum status convert_commit(struct worker *worker, const struct job *job, struct error *error);

/* Does the rest of the job and fills in the result, adding to its times. Uses only the worker and constant
 * data; the caller passes the result to results_add. */
void convert(struct worker *worker, struct job *job, struct result *result);

#endif
