/* One page through the chain: reader, device, writer, each at work on another slice. */
#ifndef CLIMG_CHAIN_FLOW_H
#define CLIMG_CHAIN_FLOW_H

#include "chain/page.h"

/* Reads a page from page->reader and writes it to page->writer: a pyramid's pages whole, of an image all
 * rows, behind which the caller ends the page. Stages that want a survey have theirs first: survey.c. */
enum status flow_page(const struct page *page, struct error *error);

/* The survey of a step alone, and what it says of noise (struct estimate). */
enum status survey_page(const struct page *page, size_t step, struct error *error);

/* The page's slices alone, after its surveys; or those of a survey, which is begun, and of which nothing is
 * written. */
enum status flow_slices(const struct page *page, struct error *error);

#endif
