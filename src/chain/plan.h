/* A chain for one image, planned: the shape after every step, the slices that go through one after the other,
 * and the rows that each step needs for them. */
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
    struct shape *shapes; /* chain->count + 1: shapes[i] goes into step i */
    enum edge edge;
    enum sample_type in, out; /* of the files, where those are images */
    int moved; /* steps before there are planes: 1 where the first one moves samples, else 0. All of the input
                * then stays while slices are made of it */
    bool opponent_in, opponent_out; /* the first stage takes opponent colours, the last one gives them */
    const struct step *survey; /* the plan is of a survey for that step, whose input is the plan's output;
                                * NULL: of a page */
    bool sliceable;            /* whether rows can go through apart from the others */
    struct rows made;          /* of the output: all, unless some are verified */
    int slice;                 /* output rows that go through at once; the output's height: all */
    int slices;                /* how many */
    int input_rows;            /* the most that one needs */
    int tallest;               /* the most rows of any value on the way */
    int overlap_rows;          /* the most input rows that two neighbours need */
    double headroom; /* the most rows that go into the stages to those of the first slice, which has no halo
                      * above; 1.01 where slices are freed and taken anew instead (plan_outgrows) */
};

/* The shape of a page as it goes into a chain. */
struct shape image_shape(const struct image_info *info);

const struct shape *plan_output(const struct plan *plan);

/* The rows of every shape that output rows `out` need: rows[i] of shapes[i], chain->count + 1 of them. Of
 * what is moved all are needed. */
void plan_rows(const struct plan *plan, struct rows out, struct rows *rows);

/* The output rows of a slice, and the input rows that they need. */
struct rows plan_slice(const struct plan *plan, int slice);
struct rows plan_slice_input(const struct plan *plan, int slice);

/* Whether a stage needs so many rows beside its own that slices are high. */
bool plan_is_deep(const struct plan *plan);

/* Whether a stage wants a survey where it does not see the whole image. */
bool plan_may_survey(const struct plan *plan);

/* Whether the plan's slices, as they are, want that of a step. */
bool plan_surveys(const struct plan *plan, size_t step);

/* The plan of that survey, of which `chain` will be the steps before; both live as long as `plan`. */
void plan_survey(const struct plan *plan, size_t step, struct chain *chain, struct plan *survey);

/* Cuts the output into slices of that many rows, and sets what follows from it. */
void plan_set_slice(struct plan *plan, int slice);

/* Some of the output's rows only, in slices as before. */
void plan_set_part(struct plan *plan, struct rows part);

/* Whether a slice of those rows wants larger planes than those before, into whose stages at most `most` rows
 * went (0: there were none), which left no headroom for it: then those should be freed. Keeps `most`. */
bool plan_outgrows(const struct plan *plan, const struct rows *rows, int *most);

/* The map from places of the output to those of the input (`places` of engine/stage.h). */
struct affine plan_places(const struct plan *plan);

/* A plan for a group is one for any number of images of the same shape. */
void plan_set_images(struct plan *plan, int images);

void plan_free(struct plan *plan);

#endif
