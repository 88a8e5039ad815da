/* Pyramids between device and coefficient files: a lowpass page, then one page of complex numbers for each
 * orientation of each level. */
#ifndef CLIMG_CHAIN_PYRAMID_IO_H
#define CLIMG_CHAIN_PYRAMID_IO_H

#include "chain/page.h"

/* Reads the pages of page->reader, which stands at the first one, into the planes of a pyramid whose shape is
 * set; allocates them. */
enum status pyramid_load(const struct page *page, struct value *pyramid, struct error *error);

/* Writes every page, the first one with page->out's metadata. */
enum status pyramid_store(const struct page *page, const struct value *pyramid, struct error *error);

#endif
