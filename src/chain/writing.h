/* The writer's column: encodes the output rows of one slice after the other. */
#ifndef CLIMG_CHAIN_WRITING_H
#define CLIMG_CHAIN_WRITING_H

#include "chain/column.h"
#include "chain/page.h"

struct writing {
    const struct page *page;
    struct column column;
    size_t pitch;
};

/* Starts the thread where the plan has several slices. writing_free is needed also after a failure. */
enum status writing_begin(struct writing *writing, const struct page *page, struct error *error);

/* A slot for a slice, the host's turn; NULL: writing failed, and writing_end says how. */
struct slot *writing_next(struct writing *writing);

/* The device was asked to fill the slot and hand it back. */
void writing_deliver(struct writing *writing, struct slot *slot);

/* Returns when everything that was delivered is written. */
enum status writing_end(struct writing *writing, struct error *error);

void writing_free(struct writing *writing);

#endif
