/* One slice through the chain: unpack, stages, pack.
 *
 *     input samples ─▶ (move) ─▶ unpack ─▶ stage … stage ─▶ pack ─▶ output samples
 *
 * Only slice_run knows this order. It enqueues and does not wait. Its callers have the samples in the slots
 * of the reader and writer threads (flow.c), in the staging buffers of a group (group.c), or nowhere: a dry
 * run (slice_dry_run) finds out how much memory and which programs a plan needs.
 *
 * Thread safety: a slice belongs to the thread of its run. */
#ifndef CLIMG_CHAIN_SLICE_H
#define CLIMG_CHAIN_SLICE_H

#include "chain/plan.h"
#include "engine/transfer.h"

struct slice {
    /* The same for all slices of a page. */
    struct run *run;
    const struct plan *plan;
    const struct conversion *from, *to; /* from input samples to values, and from values to output samples */
    bool first_reads_samples;           /* the first stage reads samples, not planes */
    bool last_writes_samples;           /* the last stage writes samples */
    bool only_moves_samples;            /* slice_only_moves_samples */

    /* This slice. */
    struct interval out; /* output rows; in an analysis pass, the rows of a part */
    int most_rows;       /* most rows that entered the stages in a slice so far */
};

/* Returns a slice of all output rows of the plan, and prepares the run's memory for it. To run several
 * slices, the caller sets `out` before each slice_run. The slice borrows all arguments. */
struct slice slice_begin(const struct plan *plan, struct run *run, const struct conversion *from,
                         const struct conversion *to);

/* Enqueues the slice: reads the samples `in`, writes the samples `out` (none in an analysis pass).
 *
 *     input is a pyramid     *pyramid is the input; slice_run releases its planes. `in` is not used
 *     output is a pyramid    *pyramid receives the output; the caller releases its planes. `out` is not used
 */
enum status slice_run(struct slice *slice, const struct raster *in, const struct raster *out,
                      struct value *pyramid, struct error *error);

/* True if all steps move samples and the conversion leaves them unchanged: samples of the
 * file are then the samples of the output. */
bool slice_only_moves_samples(const struct plan *plan, const struct conversion *from,
                              const struct conversion *to);

/* Begin an analysis pass (struct analysis of engine/stage.h), and end it after the last part. slice_run
 * enqueues the parts. */
enum status analysis_begin(const struct plan *analysis, struct run *run, struct error *error);
enum status analysis_end(const struct plan *analysis, struct run *run, struct error *error);

/* Memory of a plan, found by a dry run. */
struct dry_run_memory {
    uint64_t planes;  /* most bytes of planes on the device at one time */
    uint64_t largest; /* bytes of the largest allocation */
};

/* Runs the stages of the plan, analysis passes included, on a dry-run device (device.h), which only counts
 * allocations. Runs the first slice and at most `slices` others, evenly spread. `adds_programs`: adds the
 * programs of all launches to the device's, for programs_build. */
enum status slice_dry_run(const struct plan *plan, const struct run *run, const struct conversion *from,
                          const struct conversion *to, int slices, bool adds_programs,
                          struct dry_run_memory *result, struct error *error);

#endif
