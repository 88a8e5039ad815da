/* The reader's column: decodes the input rows of one slice after the other. */
#ifndef CLIMG_CHAIN_READING_H
#define CLIMG_CHAIN_READING_H

#include "chain/column.h"
#include "chain/page.h"

struct reading {
    const struct page *page;
    struct column column;
    size_t pitch;
    unsigned char *carry; /* rows that the next slice needs as well: the device has those of the last one */
    struct rows carried;
    int slice;    /* the next */
    int next_row; /* of the page, that was not decoded yet */
};

/* Starts reading ahead where the plan has several slices, unless those are made of all that is read: then
 * that is one. reading_end and reading_free are needed also after a failure. */
enum status reading_begin(struct reading *reading, const struct page *page, struct error *error);

/* The next slice's rows, the host's turn; NULL: reading failed, and reading_end says how. */
struct slot *reading_next(struct reading *reading);

/* The device has been given the slot's rows and asked to hand them back. */
void reading_return(struct reading *reading, struct slot *slot);

/* Unless it should stop, waits until the rows below the last slice were read too: the file's end is checked
 * there. Nobody reads any more when this returns. */
enum status reading_end(struct reading *reading, bool stop, struct error *error);

void reading_free(struct reading *reading);

#endif
