/* A piece of an output that is computed again and compared: what --verify does with what it kept. */
#ifndef CLIMG_CHAIN_RECHECK_H
#define CLIMG_CHAIN_RECHECK_H

#include "chain/page.h"
#include "chain/verifier.h"

/* Rows of a page that went in. */
struct sheet {
    struct image_info info; /* without metadata */
    struct rows rows;
    unsigned char *samples; /* without padding */
};

/* Rows of an image that came out, or all pages of a pyramid. */
struct piece {
    struct rows in, out; /* of images */
    struct sheet *given; /* the rows `in`, or all pages of a pyramid that went in */
    size_t given_count;
    enum sample_type type;     /* of what came out */
    unsigned char *got;        /* samples that came out, page after page, without padding */
    size_t got_count;          /* the parts of complex ones apart */
    size_t got_size, got_room; /* bytes */
};

enum status piece_add_sheet(struct piece *piece, const struct image_info *info, struct rows rows,
                            struct error *error);

/* Samples that came out. */
enum status piece_add(struct piece *piece, enum sample_type type, const void *samples, size_t count,
                      struct error *error);

/* Frees what it holds. */
void piece_clear(struct piece *piece);

/* Sends what went in through the chain on the verifier's run. STATUS_FAILED where something else came out:
 * the message has the place and both values. */
enum status recheck(struct verifier *verifier, const struct page *page, const struct plan *plan,
                    const struct piece *piece, struct error *error);

#endif
