/* A chain's stages, one after the other, on one slice. */
#ifndef CLIMG_CHAIN_STAGES_H
#define CLIMG_CHAIN_STAGES_H

#include "chain/plan.h"

/* What becomes of samples at the ends of a chain: its first stage reads them itself, its last one writes
 * them; all that is done is that they are moved. */
struct ends {
    bool reads, writes, moves;
};

/* The first two, where a stage may take the samples at either end as they are (conversion_is_plain). */
struct ends stages_ends(const struct plan *plan, bool plain_in, bool plain_out);

/* Enqueues every stage behind what was moved, each freeing what went in and does not come out: `value` goes
 * in and is what comes out. rows[i] are those of shapes[i], as plan_rows gives them. The last stage writes
 * samples to `raster` unless that is NULL. */
enum status run_stages(const struct plan *plan, struct run *run, const struct rows *rows, struct value *value,
                       const struct raster *raster, struct error *error);

#endif
