/* One slice through the chain: unpack, stages, pack.
 *
 *     input samples ─▶ (move) ─▶ unpack ─▶ stage … stage ─▶ pack ─▶ output samples
 *
 * slice_run is the only code that knows this order. It enqueues and never waits. Where samples come from and
 * where they go is a struct slice_io: the ring of staging buffers between reader and writer thread (flow.c),
 * the staging memory of a group (group.c), or nothing for a dry run (slice_dry_run), which allocates on an
 * imaginary device to find out how much memory and which programs a plan needs.
 *
 * Thread safety: a struct run belongs to one thread; so does a slice. */
#ifndef CLIMG_CHAIN_SLICE_H
#define CLIMG_CHAIN_SLICE_H

#include "chain/plan.h"
#include "chain/transfer.h"

/* Access to the samples of a slice. A raster stays valid for kernels until it is released or submitted. A
 * pyramid is loaded and stored in a file's pages instead. All enqueue and return a status; `context` is the
 * owner's. */
struct slice_io {
    enum status (*acquire_input)(void *context, struct raster *in, struct error *error);
    enum status (*release_input)(void *context, struct error *error);
    enum status (*acquire_output)(void *context, struct raster *out, struct error *error);
    enum status (*submit_output)(void *context, struct error *error);
    enum status (*load_pyramid)(void *context, struct value *pyramid, struct error *error);
    enum status (*store_pyramid)(void *context, const struct value *pyramid, struct error *error);
};

/* Shortcuts at the ends of a chain. */
struct ends {
    bool reads;  /* the first stage reads samples itself */
    bool writes; /* the last stage writes samples itself */
    bool moves;  /* the whole chain is one step that moves samples */
};

struct slice {
    struct run *run;
    const struct plan *plan;
    const struct conversion *from, *to; /* between samples and values at either end */
    struct ends ends;
    const struct slice_io *io;
    void *context;
    struct rows out; /* output rows; of an analysis pass the rows of its part */
    int most_rows;   /* the most rows that entered the stages in a slice so far; begins with 0 */
};

/* Returns a slice of all output rows; the caller changes `out` before each slice_run. */
struct slice slice_begin(const struct plan *plan, struct run *run, const struct conversion *from,
                         const struct conversion *to, const struct slice_io *io, void *context);

/* Enqueues the slice. On failure the input or the output may not have been released or submitted. */
enum status slice_run(struct slice *slice, struct error *error);

/* True if the chain is one step that moves samples and the conversion leaves them unchanged: samples of the
 * file are then the samples of the output. */
bool plan_moves_samples(const struct plan *plan, const struct conversion *from, const struct conversion *to);

/* Enqueue an analysis pass (struct analysis of engine/stage.h): its beginning, and its end after the last
 * part. slice_run enqueues the parts. */
enum status analysis_begin(const struct plan *analysis, struct run *run, struct error *error);
enum status analysis_end(const struct plan *analysis, struct run *run, struct error *error);

/* Memory and programs of a plan, found by a dry run. */
struct dry_run {
    uint64_t planes, largest; /* bytes of all planes on the device when they are most, and of the largest */
};

/* Runs the stages of the plan, analysis passes included, on an imaginary device that counts allocations and
 * launches nothing. Of many slices some are enough: at most `slices` after the first one. `programs` collects
 * what has to be compiled; may be NULL. */
enum status slice_dry_run(const struct plan *plan, const struct run *run, const struct conversion *from,
                          const struct conversion *to, int slices, struct program_list *programs,
                          struct dry_run *result, struct error *error);

/* Compiles the programs of a plan together before its kernels are launched one after the other: GPU drivers
 * compile several at once. A failure to compile is reported by the launch. */
enum status prebuild_programs(const struct plan *plan, struct run *run, const struct conversion *from,
                              const struct conversion *to, struct error *error);

#endif
