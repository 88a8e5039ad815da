/* One page through the chain: reader, device, writer, each at work on another slice. */
#ifndef CLIMG_CHAIN_FLOW_H
#define CLIMG_CHAIN_FLOW_H

#include "chain/page.h"

/* Reads a page from page->reader and writes it to page->writer: a pyramid's pages whole, of an image all
 * rows, behind which the caller ends the page. */
enum status flow_page(const struct page *page, struct error *error);

#endif
