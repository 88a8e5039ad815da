/* One page through the chain, from its reader to its writer (flow.c).
 *
 * Thread safety: a page belongs to one worker. While it flows, its reader is used by the reader thread and
 * its writer by the writer thread only. */
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
    const struct page *of;      /* in an analysis pass the page that it is for; else NULL */
    struct conversion from, to; /* between samples and values, at either end */
    struct reader *reader;      /* at the first row of the page; for a pyramid, at its first page */
    struct writer *writer;      /* between pages */
    struct image_info out;      /* the page to write; for a pyramid, the first one */
    struct timing *timing;
    /* Called with the number of output rows that are done. May be NULL. */
    void (*watch)(void *watcher, int rows, const struct shape *of);
    void *watcher;
    struct clipping *clipping; /* clipping counters, added to if to.counted */
};

/* Reads a page from page->reader, runs the chain, analysis passes first, and writes it to page->writer. The
 * pages of a pyramid are written whole. Of an image all rows are written; the caller ends the page. */
enum status flow_page(const struct page *page, struct error *error);

/* Runs the analysis pass of a step alone. The noise that it finds is in run->results.noise. */
enum status analyse_page(const struct page *page, size_t step, struct error *error);

#endif
