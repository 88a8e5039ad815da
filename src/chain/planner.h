/* Makes a plan: the shapes of a chain for one image, and slices that fit the caches and the memory. */
#ifndef CLIMG_CHAIN_PLANNER_H
#define CLIMG_CHAIN_PLANNER_H

#include "chain/plan.h"
#include "image/format.h"

/* Input of plan_make. Unknown fields are zero. */
struct plan_request {
    const struct chain *chain; /* lives as long as the plan */
    struct shape input;        /* of the page */
    enum sample_type in, out;  /* samples of the input and output files */
    bool converted;            /* samples become values by a curve or --range, not by a factor alone */
    uint64_t reader_memory;    /* bytes of the reader */
    uint64_t reader_limit; /* bytes that the reader may decode ahead, a share of --memory-limit. The reader
                            * uses up to twice as many. 0: `reader_memory` does not depend on that limit */
    struct writer_options writer; /* without a format, no bytes are counted for the writer */
    int compression;              /* of the input; the writer may use the same (struct image_info) */
    bool lossless;                /* the input's compression is lossless */
};

/* Computes the shape after each step, and chooses the slices. On CPU devices a slice fits the caches; on
 * GPUs, copies and kernels of different slices overlap. Chains with a large halo are sliced only if the whole
 * image takes much memory. The whole image is one slice if a stage must see all of it, for --edge wrap, and
 * for a group. Slices get fewer rows until they fit the run's memory limit and the device's memory.
 *
 * Fails if a stage refuses the shape, or if the smallest slice does not fit the memory limit. Frees unused
 * memory of the run if it has a limit. The caller frees the plan with plan_free after success. */
enum status plan_make(struct plan *plan, const struct plan_request *request, struct run *run,
                      struct error *error);

#endif
