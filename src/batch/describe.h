/* What a page that is written says, and how its samples become values and back. */
#ifndef CLIMG_BATCH_DESCRIBE_H
#define CLIMG_BATCH_DESCRIBE_H

#include "batch/result.h"

/* Fills in what the page is to say about itself, and how samples become values and back; page->plan is set.
 * metadata_free(&page->out.metadata) is needed only where it succeeded. */
enum status job_describe(const struct job *job, const struct worker *worker, struct page *page,
                         struct error *error);

/* Behind an image's last row: adds what the input says there, and ends the page. */
enum status job_end_page(const struct job *job, struct worker *worker, const struct page *page,
                         struct result *result);

#endif
