/* One page through the chain: reader, device, writer, each at work on another slice. */
#ifndef CLIMG_CHAIN_FLOW_H
#define CLIMG_CHAIN_FLOW_H

#include "chain/page.h"

/* Reads from page->reader, writes whole pages to page->writer. */
enum status flow_page(const struct page *page, struct error *error);

#endif
