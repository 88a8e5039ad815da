/* One page on its way through the chain: what the columns share, and who sends it. */
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
    const struct page *of;      /* of a survey: the page that it is for; else NULL */
    struct conversion from, to; /* between samples and values, where images go in and come out */
    struct reader *reader;      /* at the first row of the page; of a pyramid, at its first page */
    struct writer *writer;      /* between pages */
    struct image_info out;      /* the page to write; of a pyramid, the first one */
    struct timing *timing;
    /* Is told how many rows of the output are done; NULL: nobody. */
    void (*watch)(void *watcher, int rows, const struct shape *of);
    void *watcher;
    struct clipping *clipping; /* what to->counted counts is added to it */
};

/* Through the chain (flow.c): reader, device, writer, each at work on another slice. */

/* Reads a page from page->reader and writes it to page->writer: a pyramid's pages whole, of an image all
 * rows, behind which the caller ends the page. Stages that want a survey have theirs first. */
enum status flow_page(const struct page *page, struct error *error);

/* The survey of a step alone, and what it says of noise (struct estimate). */
enum status survey_page(const struct page *page, size_t step, struct error *error);

#endif
