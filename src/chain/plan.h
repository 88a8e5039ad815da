/* Plans: a chain for one image with all shapes, slices and row ranges.
 *
 *     shapes[0] ─ step 0 ─▶ shapes[1] ─ step 1 ─▶ ... ─▶ shapes[count]
 *
 * plan_make (planner.h) makes plans. Row ranges are computed backwards: from the output rows of a slice to
 * the input rows that it needs. A plan does not own its chain; plan_free frees its shapes. Copies of a plan
 * share its shapes and must not be freed.
 *
 * Thread safety: read-only while a page is processed. */
#ifndef CLIMG_CHAIN_PLAN_H
#define CLIMG_CHAIN_PLAN_H

#include "chain/chain.h"
#include "device/cost.h"
#include "engine/run.h"
#include "image/image.h"

/* Staging buffers on each side of a page that is sliced: one for the reader's or writer's thread, one for the
 * device, and one between them. Two would do if every slice took equally long. */
enum { PLAN_SLOTS = 3 };

struct plan {
    /* The chain. */
    const struct chain *chain;
    struct shape *shapes; /* chain->count + 1 of them; shapes[i] enters step i */
    enum edge edge;
    const struct step *analysis; /* the step that this analysis pass is for, whose input is the plan's output;
                                  * NULL if the plan is for a page */

    /* The samples of the files. */
    enum sample_type in, out; /* valid if that end is an image */
    int moved; /* 1 if the first step moves samples before they become planes, else 0. With 1, all input
                * samples stay in memory */
    bool opponent_in, opponent_out; /* the first stage reads, the last one writes opponent colours */

    /* The slices. plan_set_slice sets everything from `slice` on. */
    bool sliceable;       /* rows can be processed in slices */
    struct interval made; /* output rows to compute: all, or a part that --verify computes again */
    int slice;            /* output rows of a slice; the last one may have fewer */
    int slices;           /* number of slices */
    int input_rows;       /* most input rows that a slice needs */
    int tallest;          /* most rows of any value in a slice */
    int overlap_rows;     /* most input rows that two neighbouring slices share */
    double headroom; /* most rows that enter the stages, divided by the rows of the first slice, which has
                      * no halo above. 1.01 if memory is freed and allocated again instead (plan_outgrows) */
};

/* Returns the shape of a file's page as the input of a chain: one image. */
struct shape image_shape(const struct image_info *info);

/* Returns the shape at the end of the chain. */
const struct shape *plan_output(const struct plan *plan);

/* Computes the rows of every shape that the output rows `out` need: rows[i] of shapes[i]. `rows` has room for
 * chain->count + 1 ranges. Samples that are moved are needed whole. */
void plan_rows(const struct plan *plan, struct interval out, struct interval *rows);

/* Return the output rows of a slice, and the input rows that it needs. */
struct interval plan_slice(const struct plan *plan, int slice);
struct interval plan_slice_input(const struct plan *plan, int slice);

/* True if a stage has a large halo (struct stage_caps), so that slices are high. */
bool plan_has_large_halo(const struct plan *plan);

/* True if a stage needs an analysis pass unless it gets the whole image at once. */
bool plan_may_need_analysis(const struct plan *plan);

/* True if the step needs its analysis pass with the present slices: no slice has all of its input. */
bool plan_needs_analysis(const struct plan *plan, size_t step);

/* Makes the plan of the step's analysis pass. *chain becomes the chain of the steps before it. Both borrow
 * from `plan` and are not freed. */
void plan_analysis(const struct plan *plan, size_t step, struct chain *chain, struct plan *analysis);

/* Sets the height of slices, and all members that depend on it. */
void plan_set_slice(struct plan *plan, int slice);

/* Restricts the plan to some output rows, in slices of at most the present height. */
void plan_set_part(struct plan *plan, struct interval part);

/* True if a slice with these rows needs larger planes than the slices before it; then their memory should be
 * freed. *most is the most rows that entered the stages so far, 0 before the first slice; updated. */
bool plan_outgrows(const struct plan *plan, const struct interval *rows, int *most);

/* True if all stages only move pixels, and none after the first removes or adds any. plan_inverse_map and the
 * output's size then describe the chain. */
bool plan_only_moves(const struct plan *plan);

/* Returns the map from output to input positions of the whole chain (`inverse_map` of engine/stage.h). Stages
 * that make another picture count as the identity. */
struct affine plan_inverse_map(const struct plan *plan);

/* Sets the number of images of a group in all shapes. */
void plan_set_images(struct plan *plan, int images);

/* Returns 2, 4 or 8 if the reader may reduce the picture by this factor, else 1: the first stage that reads
 * pixels accepts it (reads_reduced), and at least twice the size of its output remains. Blocks of pixels have
 * equal weights, so a smaller rest would blur the output. */
int chain_reduction(const struct chain *chain, const struct shape *shape);

/* Estimates the work of a chain on `images` images of one shape, without a device or a plan. Bytes are
 * counted with `sample_size` bytes for each sample of the files. */
struct workload chain_workload(const struct chain *chain, const struct shape *shape, int sample_size,
                               double images);

/* Frees the shapes. May be called twice, and on a zeroed plan. */
void plan_free(struct plan *plan);

#endif
