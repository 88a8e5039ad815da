/* One page through the chain, from its reader to its writer (passes.c).
 *
 * A page borrows everything it points to. Thread safety: a page belongs to one worker. During flow_page, only
 * the reader thread uses its reader and only the writer thread its writer. */
#ifndef CLIMG_CHAIN_PAGE_H
#define CLIMG_CHAIN_PAGE_H

#include "base/timing.h"
#include "chain/plan.h"
#include "chain/transfer.h"
#include "image/reader.h"
#include "image/writer.h"

struct page {
    struct run *run;
    const struct plan *plan;
    const struct page *of; /* in an analysis pass the page that it is for; else NULL */
    struct conversion input_conversion,
        output_conversion; /* of samples to values, and of values to samples */

    struct reader *reader; /* at the first row of the page; for a pyramid, at its first page */
    struct writer *writer; /* between pages */
    struct image_info out; /* the page to write; for a pyramid, the first one. Owns its metadata */

    struct timing *timing;
    struct clipping *clipping; /* clipping counters, increased if output_conversion.counts_clipping */
    /* Called after each slice with the total number of output rows that are enqueued. `output` is the shape
     * of the whole output. May be NULL. */
    void (*watch)(void *watcher, int rows, const struct shape *output);
    void *watcher;
};

/* Reads a page from page->reader, runs the chain, analysis passes first, and writes it to page->writer. An
 * image is written up to its last row, and the caller ends the page. The pages of a pyramid are begun and
 * ended here. Of several failures the first in page order is reported. */
enum status flow_page(const struct page *page, struct error *error);

/* Processes the slices of a page whose analysis passes are done, or the parts of one pass (flow.c). */
enum status flow_slices(const struct page *page, struct error *error);

/* Runs the analysis pass of a step alone, and needs no writer. The noise that it finds is in
 * run->results.noise. */
enum status analyse_page(const struct page *page, size_t step, struct error *error);

#endif
