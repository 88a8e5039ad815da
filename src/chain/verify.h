/* --verify: computes random rows of the output again in another way and compares them before they are
 * written.
 *
 *     reader ──▶ copy ──▶ chain ──────────────▶ copy ──▶ writer
 *                  └────▶ chain, other way ──▶ compare
 *
 * The other way is the other kind of memory, the other kernel variant, or another device. All give the
 * same bits (kernels/exact.h), so any difference is a failure.
 *
 * A verifier owns its device and run. Thread safety: it belongs to one worker; verify_page uses the
 * worker's reader and writer threads. */
#ifndef CLIMG_CHAIN_VERIFY_H
#define CLIMG_CHAIN_VERIFY_H

#include "chain/memory_run.h"
#include "device/profile.h"
#include "settings/settings.h"

/* The second computation: its device, run and random generator. */
struct verifier {
    double share; /* fraction of the output's rows to verify, 0 to 1 */
    bool open;
    bool other_device; /* --verify=DEVICE: compute on another device */
    struct device device;
    struct run run;
    struct profile profile;
    struct timing timing;
    uint64_t random_state; /* state of the random generator */
};

/* Opens the verifier for pages of `run`, whose device is `opened`. Another device named by --verify must
 * not have failed --selftest, unless `force`. Call verifier_close also after a failure. */
enum status verifier_open(struct verifier *verifier, const struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error);

/* If the verifier uses the same device, selects the kind of memory or kernel variant that `first` does
 * not use for this plan. */
void verifier_choose_way(struct verifier *verifier, const struct run *first, const struct plan *plan);

/* Frees the verifier. Safe on a zeroed one. */
void verifier_close(struct verifier *verifier);

/* Runs flow_page and verifies some of the page's rows before they are written. */
enum status verify_page(struct verifier *verifier, const struct page *page, struct error *error);

/* Output rows of an image, or all pages of a pyramid, and the inputs that they were computed from. */
struct piece {
    struct rows in, out;       /* input and output rows; for a pyramid, of the image */
    struct input_page *inputs; /* the rows `in`, or all input pages of a pyramid */
    size_t input_count;
    struct sample_array output;
};

/* Frees the piece's samples. */
void piece_clear(struct piece *piece);

/* Computes the piece again on the verifier's run; `plan` is the page's plan for that run. Fails if the
 * outputs differ; the message has the position and both values. */
enum status recheck(struct verifier *verifier, const struct page *page, const struct plan *plan,
                    const struct piece *piece, struct error *error);

#endif
