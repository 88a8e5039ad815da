/* How much memory a plan needs, and smaller slices where that is more than --memory-limit. */
#ifndef CLIMG_CHAIN_NEED_H
#define CLIMG_CHAIN_NEED_H

#include "chain/plan.h"

/* Bytes of what climg keeps of an image. */
struct need {
    uint64_t planes, largest; /* the stages' planes on the device, and the largest of them */
    uint64_t samples;         /* in flight on the host */
};

/* What the plan needs with the slices that it has. */
enum status plan_need(const struct plan *plan, const struct run *run, struct need *need, struct error *error);

/* Lowers the plan's slices until climg's own memory (samples in flight, and the stages' planes where the
 * device works in the host's memory) stays below the run's limit. STATUS_FAILED where no slice is small
 * enough. */
enum status plan_fit_memory(struct plan *plan, struct run *run, struct error *error);

#endif
