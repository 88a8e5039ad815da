/* A first step that moves samples (moves_samples of engine/stage.h), before there are planes. */
#ifndef CLIMG_CHAIN_MOVING_H
#define CLIMG_CHAIN_MOVING_H

#include "chain/plan.h"
#include "chain/transfer.h"

/* Whether it is all that is done: the file's samples are what is written. */
bool moving_is_all(const struct plan *plan, const struct conversion *from, const struct conversion *to);

/* Memory for the samples that come out of it, to be given to planes_release. */
enum status moving_room(const struct plan *plan, struct run *run, enum sample_type type, struct rows rows,
                        struct planes *room, struct error *error);

/* Enqueues the step: all samples that go into the plan are in `in`; `out` takes rows[1] of shapes[1]. */
enum status move_samples(const struct plan *plan, struct run *run, const struct rows *rows,
                         const struct raster *in, const struct raster *out, struct error *error);

/* The same into a room for samples of `from`'s type, of which *raster, `in` before, says what is there. */
enum status move_aside(const struct plan *plan, struct run *run, const struct conversion *from,
                       const struct rows *rows, struct raster *raster, struct planes *room,
                       struct error *error);

#endif
