/* One page through the chain: reader, device, writer, band after band. */
#ifndef CLIMG_CHAIN_EXECUTE_H
#define CLIMG_CHAIN_EXECUTE_H

#include "base/timing.h"
#include "chain/plan.h"
#include "chain/transfer.h"
#include "image/reader.h"
#include "image/writer.h"

struct page {
    const char *name; /* of the input, for messages */
    struct run *run;
    const struct plan *plan;
    struct conversion from, to;   /* between samples and values, where images go in and come out */
    struct reader *reader;        /* at the first row of the page; of a pyramid, at its first page */
    struct writer *writer;        /* between pages */
    const struct image_info *out; /* the page to write; of a pyramid, the first one */
    struct timing *timing;
};

/* Reads from page->reader, writes whole pages to page->writer. */
enum status execute_page(const struct page *page, struct error *error);

/* Waits for the device, and for failures that only show then; collects the events. */
enum status page_wait(const struct page *page, struct error *error);

#endif
