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
    struct conversion from, to; /* between samples and values, where images go in and come out */
    struct reader *reader;      /* at the first row of the page; of a pyramid, at its first page */
    struct writer *writer;      /* between pages */
    struct image_info out;      /* the page to write; of a pyramid, the first one */
    struct timing *timing;
    void (*watch)(void *watcher, int rows, int of); /* is told how far the page is; NULL: nobody */
    void *watcher;
    struct clipping *clipping; /* what to->counted counts is added to it */
};

#endif
