/* The programs of a page's chain, built before its kernels are launched one after the other. */
#ifndef CLIMG_CHAIN_FORESEE_H
#define CLIMG_CHAIN_FORESEE_H

#include "chain/page.h"
#include "chain/stages.h"

enum status foresee_programs(const struct page *page, const struct ends *ends, struct error *error);

#endif
