/* Converts a job, page by page. Thread safety: uses only the worker, its job and data that is constant during
 * the work, so each worker may convert its own job. */
#ifndef CLIMG_BATCH_CONVERT_H
#define CLIMG_BATCH_CONVERT_H

#include "batch/result.h"

/* Fills in page->out, with metadata, and both conversions of the page. page->plan must be set. After success
 * the caller frees page->out.metadata with metadata_free. */
enum status job_describe(const struct job *job, const struct worker *worker, struct page *page,
                         struct error *error);

/* Opens the input, or sets job->skipped if an earlier run has done the job. May be called twice. */
enum status convert_begin(struct worker *worker, struct job *job, struct error *error);

/* Renames the finished output to its final name, and records it for --resume. */
enum status convert_commit(struct worker *worker, const struct job *job, struct error *error);

/* Opens the job unless it is open, converts it, closes it and fills in the result, whose times are increased.
 * The caller passes the result to results_add. A failure is in the result. */
void convert(struct worker *worker, struct job *job, struct result *result);

#endif
