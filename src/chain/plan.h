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
#include "device/choose.h"
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
    bool converted;           /* samples become values by a curve or --range, not by a factor alone */
    size_t raster_steps; /* number of first steps that move samples before they become planes: all, 1 or 0.
                          * Unless it is 0, all input samples stay in memory */
    bool opponent_in, opponent_out; /* the first stage reads, the last one writes opponent colours */

    /* The slices. plan_set_slice sets everything from slice_rows on. */
    bool sliceable;   /* rows can be processed in slices */
    int slice_rows;   /* output rows of a slice; the last one may have fewer */
    int slices;       /* number of slices */
    int input_rows;   /* most input rows that a slice needs */
    int tallest;      /* most rows of any value in a slice */
    int overlap_rows; /* most input rows that two neighbouring slices share */
    /* Factor by which allocations for the first slice are larger than it needs. Later slices have a halo on
     * both sides, so they need more. 1.01 with a large halo: then plan_outgrows frees memory instead. */
    double headroom;
};

/* Returns the shape of a file's page as the input of a chain: one image. */
struct shape image_shape(const struct image_info *info);

/* Returns the shape at the end of the chain. */
const struct shape *plan_output(const struct plan *plan);

/* Computes the rows of every value that the output rows `out` need: rows[i] of shapes[i]. `rows` has room for
 * chain->count + 1 ranges. If the first step moves samples, it needs the input rows of all slices. */
void plan_rows(const struct plan *plan, struct interval out, struct interval *rows);

/* Returns the output rows of slice `index`. */
struct interval plan_slice(const struct plan *plan, int index);

/* Returns the input rows that these output rows need: the first element of plan_rows. */
struct interval plan_input(const struct plan *plan, struct interval out);

/* True if a stage has a large halo (struct stage_caps), so that slices are high. */
bool plan_has_large_halo(const struct plan *plan);

/* True if a stage needs an analysis pass when the image is sliced. */
bool plan_may_need_analysis(const struct plan *plan);

/* True if the step needs its analysis pass with the present slices, as no slice has all of its input. */
bool plan_needs_analysis(const struct plan *plan, size_t step);

/* Makes the plan of the step's analysis pass, whose *chain is the steps before it. Both borrow from `plan`
 * and must not be freed. */
void plan_analysis(const struct plan *plan, size_t step, struct chain *chain, struct plan *analysis);

/* Sets the rows of a slice, and all members that depend on it. */
void plan_set_slice(struct plan *plan, int slice_rows);

/* True if a slice with these rows (plan_rows) needs larger planes than were allocated for the slices before
 * it, so that their memory should be freed. *most is the most rows that entered the stages so far, 0 before
 * the first slice; updated. */
bool plan_outgrows(const struct plan *plan, const struct interval *rows, int *most);

/* True if all stages only move pixels, and none after the first removes or adds any. Then plan_inverse_map
 * and the output's size describe the whole chain. */
bool plan_only_moves(const struct plan *plan);

/* Returns the map from output to input positions of the whole chain (`inverse_map` of engine/stage.h). Stages
 * with new_geometry count as the identity. */
struct affine plan_inverse_map(const struct plan *plan);

/* Returns the factor 2, 4 or 8 by which the reader may reduce the picture, or 1. The first stage that reads
 * pixels must accept it (accepts_reduced), and the reduced picture must have twice the size of that stage's
 * output: the reader averages blocks of pixels with equal weights, which would blur a larger output. */
int chain_reduction(const struct chain *chain, const struct shape *shape);

/* Estimates the work of a chain on `images` images of one shape, without a device or a plan. Bytes are
 * counted with `sample_size` bytes for each sample of the files. */
struct workload chain_workload(const struct chain *chain, const struct shape *shape, int sample_size,
                               double images);

/* Frees the shapes. May be called twice, and on a zeroed plan. */
void plan_free(struct plan *plan);

#endif
