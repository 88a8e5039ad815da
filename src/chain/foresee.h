/* The programs of a page's chain, built before its kernels are launched one after the other. */
#ifndef CLIMG_CHAIN_FORESEE_H
#define CLIMG_CHAIN_FORESEE_H

#include "chain/page.h"

/* What becomes of samples at the ends of a page's chain: its first stage reads them itself, its last one
 * writes them; all that is done is that they are moved. */
struct ends {
    bool reads, writes, moves;
};

enum status foresee_programs(const struct page *page, const struct ends *ends, struct error *error);

#endif
