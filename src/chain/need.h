/* How much memory a plan needs. */
#ifndef CLIMG_CHAIN_NEED_H
#define CLIMG_CHAIN_NEED_H

#include "chain/plan.h"

/* Bytes of what climg keeps of an image. */
struct need {
    uint64_t planes, largest; /* the stages' planes on the device, and the largest of them */
    uint64_t samples;         /* on the host */
    uint64_t held;            /* of them, those that stay whatever the slices are */
};

/* What the plan needs with the slices that it has. */
enum status plan_need(const struct plan *plan, const struct run *run, struct need *need, struct error *error);

#endif
