/* One page through the chain: reader, device, writer, band after band. */
#ifndef CLIMG_CHAIN_EXECUTE_H
#define CLIMG_CHAIN_EXECUTE_H

#include "base/timing.h"
#include "chain/plan.h"
#include "chain/transfer.h"
#include "image/reader.h"
#include "image/writer.h"

enum { OWNER_UNPACK = -1, OWNER_PACK = -2 }; /* of profile records; other owners are steps of the chain */

struct page {
    const char *name; /* of the input, for messages */
    struct run *run;
    const struct plan *plan;
    struct conversion from, to;
    struct reader *reader; /* at the first row of the page */
    struct writer *writer; /* after writer_begin_page */
    struct timing *timing;
};

enum status execute_page(const struct page *page, struct error *error);

#endif
