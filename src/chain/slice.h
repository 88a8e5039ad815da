/* One slice through the chain: unpack, stages, pack.
 *
 *     input samples ─▶ (move) ─▶ unpack ─▶ stage … stage ─▶ pack ─▶ output samples
 *
 * Only slice_run knows this order. It enqueues and never waits. Source and destination of the samples are a
 * struct slice_io, of which there are three: the ring of staging buffers between reader and writer thread
 * (flow.c), the staging memory of a group (group.c), and none for a dry run (slice_dry_run), which allocates
 * on an imaginary device to find out how much memory and which programs a plan needs.
 *
 * Thread safety: a slice belongs to the thread of its run. */
#ifndef CLIMG_CHAIN_SLICE_H
#define CLIMG_CHAIN_SLICE_H

#include "chain/plan.h"
#include "chain/transfer.h"

/* Access to the samples of a slice. `context` is the owner's.
 *
 * Images: each acquired raster is released or submitted once; until then kernels may use it. Pyramids, which
 * have one file page for each subband, are loaded and stored instead. The two functions are NULL if there are
 * no pyramids. */
struct slice_io {
    enum status (*acquire_input)(void *context, struct raster *in, struct error *error);
    enum status (*release_input)(void *context, struct error *error);
    enum status (*acquire_output)(void *context, struct raster *out, struct error *error);
    enum status (*submit_output)(void *context, struct error *error);
    enum status (*load_pyramid)(void *context, struct value *pyramid, struct error *error);
    enum status (*store_pyramid)(void *context, const struct value *pyramid, struct error *error);
};

struct slice {
    /* The same for all slices of a page. */
    struct run *run;
    const struct plan *plan;
    const struct conversion *from, *to; /* between samples and values at either end */
    bool first_reads_samples;           /* the first stage reads samples, not planes */
    bool last_writes_samples;           /* the last stage writes samples */
    bool only_moves_samples;            /* the whole chain is one step that moves samples */
    const struct slice_io *io;
    void *context; /* of `io` */

    /* This slice. */
    struct interval out; /* output rows; in an analysis pass the rows of its part */
    int most_rows;       /* most rows that entered the stages in a slice so far */
};

/* Returns a slice of all output rows of the plan. For others, the caller sets `out` before each slice_run.
 * The slice borrows all arguments. */
struct slice slice_begin(const struct plan *plan, struct run *run, const struct conversion *from,
                         const struct conversion *to, const struct slice_io *io, void *context);

/* Enqueues the slice. On failure, the input may be acquired and not released, and the output acquired and not
 * submitted. */
enum status slice_run(struct slice *slice, struct error *error);

/* True if the chain is one step that moves samples and the conversion leaves them unchanged: samples of the
 * file are then the samples of the output. */
bool plan_keeps_file_samples(const struct plan *plan, const struct conversion *from,
                             const struct conversion *to);

/* Enqueue an analysis pass (struct analysis of engine/stage.h): its beginning, and its end after the last
 * part. slice_run enqueues the parts. */
enum status analysis_begin(const struct plan *analysis, struct run *run, struct error *error);
enum status analysis_end(const struct plan *analysis, struct run *run, struct error *error);

/* Memory of a plan, found by a dry run. */
struct dry_run {
    uint64_t planes;  /* most bytes of planes on the device at one time */
    uint64_t largest; /* bytes of the largest allocation */
};

/* Runs the stages of the plan, analysis passes included, on an imaginary device that counts allocations and
 * launches nothing. Runs the first slice and at most `slices` others, evenly spread. `programs` collects the
 * programs to be compiled; may be NULL. */
enum status slice_dry_run(const struct plan *plan, const struct run *run, const struct conversion *from,
                          const struct conversion *to, int slices, struct program_list *programs,
                          struct dry_run *result, struct error *error);

/* Compiles all programs of a plan before its kernels are launched one after the other, as GPU drivers compile
 * several programs at once. A failure to compile is reported by the launch. */
enum status prebuild_programs(const struct plan *plan, struct run *run, const struct conversion *from,
                              const struct conversion *to, struct error *error);

#endif
