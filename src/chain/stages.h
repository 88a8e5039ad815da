/* A chain's stages, one after the other, on one slice. */
#ifndef CLIMG_CHAIN_STAGES_H
#define CLIMG_CHAIN_STAGES_H

#include "chain/plan.h"

/* Enqueues every stage behind what was moved, each freeing what went in and does not come out: `value` goes
 * in and is what comes out. rows[i] are those of shapes[i], as plan_rows gives them. The last stage writes
 * samples to `raster` unless that is NULL. */
enum status run_stages(const struct plan *plan, struct run *run, const struct rows *rows, struct value *value,
                       const struct raster *raster, struct error *error);

#endif
