/* Converts a job, page by page. Thread safety: workers may convert their jobs at the same time; apart from
 * worker and job, these functions only read data that is constant while workers run. */
#ifndef CLIMG_BATCH_CONVERT_H
#define CLIMG_BATCH_CONVERT_H

#include "batch/result.h"

/* Returns the conversion of the chain's values to samples of the output. `from` is the input's conversion,
 * `shape` the shape of the values, and `out` describes the samples. */
struct conversion job_output_conversion(const struct job *job, const struct worker *worker,
                                        const struct conversion *from, const struct shape *shape,
                                        const struct image_info *out);

/* Fills in page->out, including metadata, and both conversions of the page. page->plan must be set. After
 * success the caller frees page->out.metadata with metadata_free. */
enum status job_describe(const struct job *job, const struct worker *worker, struct page *page,
                         struct error *error);

/* Opens the job, or sets job->skipped if an earlier run has done it (--resume). Does nothing if the job is
 * open or skipped. */
enum status convert_begin(struct worker *worker, struct job *job, struct error *error);

/* Renames the finished output to its final name, and records it for --resume. Does nothing for an input of a
 * stack. */
enum status convert_commit(struct worker *worker, const struct job *job, struct error *error);

/* Opens the job unless it is open, converts and closes it, and fills in the result, also after a failure.
 * Adds to result->times and overwrites the rest of *result. The caller passes the result to results_add. */
void convert(struct worker *worker, struct job *job, struct result *result);

#endif
