/* Plans: a chain for one image with all shapes, slices and row ranges.
 *
 * planner.h makes them. A plan does not own its chain; plan_free frees its shapes. Thread safety: read-only
 * while a page is processed, except by the thread that set it up. */
#ifndef CLIMG_CHAIN_PLAN_H
#define CLIMG_CHAIN_PLAN_H

#include "chain/chain.h"
#include "engine/run.h"
#include "image/image.h"

/* Staging buffers on each side of a page that is sliced: one for the reader's or writer's thread, one for the
 * device, and one between them. Two would do if every slice took equally long. */
enum { PLAN_SLOTS = 3 };

struct plan {
    const struct chain *chain;
    struct shape *shapes; /* chain->count + 1 of them; shapes[i] enters step i */
    enum edge edge;
    enum sample_type in, out; /* sample types of the files, if these are images */
    int moved; /* 1 if the first step moves samples before they become planes, else 0. All input samples stay
                * in memory then */
    bool opponent_in, opponent_out; /* the first stage reads, the last one writes opponent colours */
    const struct step *analysis;    /* the step whose analysis pass this plan is for: the plan's output is its
                                     * input.      NULL: the plan is for a page */
    bool sliceable;                 /* rows can be processed in slices */
    struct rows made;               /* output rows to compute: all, or a part that --verify computes again */
    int slice;                      /* output rows of a slice */
    int slices;                     /* number of slices */
    int input_rows;                 /* most input rows that a slice needs */
    int tallest;                    /* most rows of any value in a slice */
    int overlap_rows;               /* most input rows that two neighbouring slices share */
    double headroom; /* most rows that enter the stages, divided by those of the first slice, which has no
                      * halo above. 1.01 if memory is freed and allocated again instead (plan_outgrows) */
};

/* Returns the shape of a page at the start of a chain. */
struct shape image_shape(const struct image_info *info);

/* Returns the shape at the end of the chain. */
/* Returns the shape at the end of the chain. */
/* Returns the shape at the end of the chain. */
const struct shape *plan_output(const struct plan *plan);

/* Computes the rows of every shape that the output rows `out` need: rows[i] of shapes[i], chain->count + 1 of
 * them. Samples that are moved are needed whole. */
void plan_rows(const struct plan *plan, struct rows out, struct rows *rows);

/* Return the output rows of a slice, and the input rows that it needs. */
struct rows plan_slice(const struct plan *plan, int slice);
struct rows plan_slice_input(const struct plan *plan, int slice);

/* True if a stage has a large halo (struct traits), so that slices are high. */
bool plan_has_large_halo(const struct plan *plan);

/* True if a stage needs an analysis pass unless it gets the whole image at once. */
bool plan_may_need_analysis(const struct plan *plan);

/* True if the step needs its analysis pass with the present slices. */
bool plan_needs_analysis(const struct plan *plan, size_t step);

/* Makes the plan of that pass; `chain` becomes the steps before it. Both are valid as long as `plan`. */
void plan_analysis(const struct plan *plan, size_t step, struct chain *chain, struct plan *analysis);

/* Sets the height of slices, and all members that depend on it. */
void plan_set_slice(struct plan *plan, int slice);

/* Restricts the plan to some output rows. */
void plan_set_part(struct plan *plan, struct rows part);

/* True if a slice with these rows needs larger planes than the slices before it, whose memory should then be
 * freed. *most, at first 0, is the most rows that entered the stages so far; updated. */
bool plan_outgrows(const struct plan *plan, const struct rows *rows, int *most);

/* True if all stages only move pixels, and none after the first cuts off or adds any: plan_inverse_map and
 * the output's size say all then. */
bool plan_only_moves(const struct plan *plan);

/* Returns the map from output to input positions of the whole chain (`places` of engine/stage.h). */
struct affine plan_inverse_map(const struct plan *plan);

/* Sets the number of images of a group. */
void plan_set_images(struct plan *plan, int images);

void plan_free(struct plan *plan);

#endif
