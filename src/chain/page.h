/* A page on its way through the chain, from its reader to its writer (passes.c).
 *
 * A page borrows everything that it points to. Thread safety: a page belongs to one worker. During flow_page,
 * only the reader thread uses its reader and only the writer thread its writer. */
#ifndef CLIMG_CHAIN_PAGE_H
#define CLIMG_CHAIN_PAGE_H

#include "chain/plan.h"
#include "engine/transfer.h"
#include "image/reader.h"
#include "image/writer.h"

struct page {
    struct run *run;
    const struct plan *plan;
    const struct page *analysed_page;    /* in an analysis pass, the page that it is for; else NULL */
    struct conversion input_conversion;  /* from samples to values */
    struct conversion output_conversion; /* from values to samples */

    struct reader *reader; /* at the first row of the page; for a pyramid, at its first page */
    struct writer *writer; /* before the page to write */
    struct image_info out; /* the page to write; for a pyramid, the first one. Owns its metadata */

    struct clipping *clipping; /* clipping counters, increased if output_conversion.counts_clipping */
    /* Called after each slice with the number of output rows enqueued so far, for a progress bar. `output` is
     * the shape of the whole output. May be NULL. */
    void (*report_rows)(void *report_context, int rows, const struct shape *output);
    void *report_context;
};

/* Reads a page from page->reader, runs the analysis passes and then the chain, and writes the output to
 * page->writer. The caller ends the page of an image (writer_end_page); the pages of a pyramid are ended
 * here. Of several failures the first in page order is reported. */
enum status flow_page(const struct page *page, struct error *error);

/* Processes all slices of a page, after its analysis passes, or all parts of an analysis pass (flow.c). */
enum status flow_slices(const struct page *page, struct error *error);

/* Runs only the analysis pass of a step, without a writer. The noise that it finds is in
 * run->results.noise. */
enum status analyse_page(const struct page *page, size_t step, struct error *error);

#endif
