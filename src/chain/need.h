/* How much memory a plan needs, and smaller bands where that is more than --memory-limit. */
#ifndef CLIMG_CHAIN_NEED_H
#define CLIMG_CHAIN_NEED_H

#include "chain/plan.h"

/* Lowers the plan's bands until climg's own memory (samples in flight, and the stages' planes where the
 * device works in the host's memory) stays below the run's limit. STATUS_FAILED where no band is small
 * enough. */
enum status plan_fit_memory(struct plan *plan, struct run *run, struct error *error);

#endif
