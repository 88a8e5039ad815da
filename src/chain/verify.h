/* --verify: rows of an output, chosen at random, are computed again in another way and compared.
 *
 *     reader ──▶ kept ──▶ chain ──▶ kept ──▶ writer
 *                  └──▶ chain, another way ─▶ ╪
 *
 * The other way is the other kind of memory or class of kernels, or another device. Both give the same bits
 * (kernels/exact.h), so any difference is a failure. */
#ifndef CLIMG_CHAIN_VERIFY_H
#define CLIMG_CHAIN_VERIFY_H

#include "chain/memory_run.h"
#include "device/profile.h"
#include "settings/settings.h"

struct verifier {
    double share; /* of an output's rows, from 0 to 1 */
    bool open;
    bool other_device; /* on another device */
    struct device device;
    struct run run;
    struct profile profile;
    struct timing timing;
    uint64_t random_state; /* the state of a generator */
};

/* For pages that go through `run`, whose device was opened as `opened`. Another device that --verify names
 * must not have failed --selftest, unless `force`. verifier_close is needed also after a failure. */
enum status verifier_open(struct verifier *verifier, const struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error);

/* On the same device, chooses what `first` does not use for a page with that plan. */
void verifier_choose_way(struct verifier *verifier, const struct run *first, const struct plan *plan);

/* Safe on a zeroed one. */
void verifier_close(struct verifier *verifier);

/* flow_page, with some of the page verified before it is written. */
enum status verify_page(struct verifier *verifier, const struct page *page, struct error *error);

/* Rows of an image that came out, or all pages of a pyramid, and what they were made of. */
struct piece {
    struct rows in, out;       /* of images */
    struct input_page *inputs; /* the rows `in`, or all pages of a pyramid that went in */
    size_t input_count;
    struct sample_array output;
};

/* Frees what the piece holds. */
void piece_clear(struct piece *piece);

/* Sends what went in through the chain on the verifier's run; `plan` is the page's for that run.
 * STATUS_FAILED where something else came out: the message has the place and both values. */
enum status recheck(struct verifier *verifier, const struct page *page, const struct plan *plan,
                    const struct piece *piece, struct error *error);

#endif
