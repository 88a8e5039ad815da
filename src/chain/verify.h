/* --verify: rows of an output, chosen at random, are computed again in another way and compared.
 *
 *     reader ──▶ kept ──▶ chain ──▶ kept ──▶ writer
 *                  └──▶ chain, another way ─▶ ╪
 *
 * The other way is the other kind of memory or class of kernels, or another device. Both ways round
 * differently, and what a stage makes of a rounding may be large (the square root of nearly nothing, a
 * threshold): where samples differ, the chain goes once more over inputs that were moved by about as much,
 * and a sample that moves as far proves nothing. Any other difference is a failure. */
#ifndef CLIMG_CHAIN_VERIFY_H
#define CLIMG_CHAIN_VERIFY_H

#include "chain/page.h"
#include "chain/verifier.h"

/* flow_page, with some of the page verified before it is written; `name` is the input's, for messages. */
enum status verify_page(struct verifier *verifier, const struct page *page, const char *name,
                        struct error *error);

#endif
