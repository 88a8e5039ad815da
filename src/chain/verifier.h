/* Where --verify computes again: the other memory or class of kernels of a device, or another device. */
#ifndef CLIMG_CHAIN_VERIFIER_H
#define CLIMG_CHAIN_VERIFIER_H

#include "base/timing.h"
#include "chain/plan.h"
#include "device/profile.h"
#include "settings/settings.h"

struct verifier {
    double share; /* of an output's rows, from 0 to 1 */
    bool open;
    bool elsewhere; /* on another device */
    struct device device;
    struct run run;
    struct profile profile;
    struct timing timing;
    uint64_t chance; /* the state of a generator */
};

/* For pages that go through `run`, whose device was opened as `opened`. Another device that --verify names
 * must not have failed --selftest, unless `force`. verifier_close is needed also after a failure. */
enum status verifier_open(struct verifier *verifier, const struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error);

/* On the same device, chooses what `first` does not use for a page with that plan. */
void verifier_choose_way(struct verifier *verifier, const struct run *first, const struct plan *plan);

/* A number below `below`, at random. */
uint64_t verifier_draw(struct verifier *verifier, uint64_t below);

/* Safe on a zeroed one. */
void verifier_close(struct verifier *verifier);

#endif
