/* One slice through a chain's stages. */
#ifndef CLIMG_CHAIN_STAGES_H
#define CLIMG_CHAIN_STAGES_H

#include "chain/page.h"
#include "chain/plan.h"
#include "chain/transfer.h"

/* What becomes of samples at the ends of a chain: its first stage reads them itself, its last one writes
 * them; all that is done is that they are moved. */
struct ends {
    bool reads, writes, moves;
};

/* The first two; `plain` says of the samples at either end whether a stage may take them as they are
 * (conversion_is_plain). */
struct ends stages_ends(const struct plan *plan, const struct run *run, bool plain_in, bool plain_out);

/* All three, for a page. */
struct ends page_ends(const struct page *page);

/* Enqueues every stage behind what was moved, each freeing what went in and does not come out: `value` goes
 * in and is what comes out. rows[i] are those of shapes[i], as plan_rows gives them. The last stage writes
 * samples to `raster` unless that is NULL. */
enum status run_stages(const struct plan *plan, struct run *run, const struct rows *rows, struct value *value,
                       const struct raster *raster, struct error *error);

/* Enqueues what a survey does with its parts: before the first, with one whose rows are in `value`, behind
 * the last. */
enum status begin_survey(const struct plan *survey, struct run *run, struct error *error);
enum status take_part(const struct plan *survey, struct run *run, const struct value *value, struct rows part,
                      struct error *error);
enum status end_survey(const struct plan *survey, struct run *run, struct error *error);

/* ---------------------------------------------------------------- a first step that moves samples
 *
 * It works before there are planes: moves_samples of struct traits. */

/* Whether it is all that is done: the file's samples are what is written. */
bool moving_is_all(const struct plan *plan, const struct conversion *from, const struct conversion *to);

/* Enqueues the step: all samples that go into the plan are in `in`; `out` takes rows[1] of shapes[1]. */
enum status move_samples(const struct plan *plan, struct run *run, const struct rows *rows,
                         const struct raster *in, const struct raster *out, struct error *error);

/* The same into a room for samples of `from`'s type, to be given to planes_release; *raster, `in` before,
 * says what is there. */
enum status move_aside(const struct plan *plan, struct run *run, const struct conversion *from,
                       const struct rows *rows, struct raster *raster, struct planes *room,
                       struct error *error);

/* Does what run_slice of flow.c does, on an imagined device and without reader and writer: rows `out` come
 * out, of a survey its part; `rows` as for run_stages. */
enum status rehearse_slice(const struct plan *plan, struct run *run, struct rows out, const struct rows *rows,
                           const struct ends *ends, const struct conversion *from,
                           const struct conversion *to, struct error *error);

/* Builds the programs of the page's chain together, before its kernels are launched one after the other: on
 * GPUs several compile at once. They are found by sending the first slice through on an imagined device. What
 * fails here is left to the launch to tell. */
enum status foresee_programs(const struct page *page, struct error *error);

#endif
