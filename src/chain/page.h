/* One page on its way through the chain: what the columns share. */
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

/* Reads and writes coefficient files: a page for the lowpass, then a page of complex numbers for each
 * orientation of each level. */

/* Reads all pages of page->reader, which is at the first one, into a pyramid whose shape is set. Allocates
 * its planes. */
enum status pyramid_load(const struct page *page, struct value *pyramid, struct error *error);

/* Writes all pages. The first one gets the metadata of page->out. */
enum status pyramid_store(const struct page *page, const struct value *pyramid, struct error *error);

#endif
