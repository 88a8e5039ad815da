/* The programs of a page's chain, built before its kernels are launched one after the other. */
#ifndef CLIMG_CHAIN_FORESEE_H
#define CLIMG_CHAIN_FORESEE_H

#include "chain/page.h"

/* Of a page whose first stage `reads` samples itself, whose last stage `writes` them. */
enum status foresee_programs(const struct page *page, bool reads, bool writes, struct error *error);

#endif
