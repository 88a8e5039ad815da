/* A chain for one image: the shape after every step, and how many rows go through at once. */
#ifndef CLIMG_CHAIN_PLAN_H
#define CLIMG_CHAIN_PLAN_H

#include "chain/chain.h"
#include "engine/run.h"
#include "image/image.h"

struct plan {
    const struct chain *chain;
    struct shape *shapes; /* chain->count + 1: shapes[i] goes into step i */
    enum edge edge;
    enum sample_type in, out; /* of the files, where those are images */
    bool sliceable;           /* whether rows can go through apart from the others */
    int slice;                /* output rows that go through at once; the output's height: all */
    int slices;               /* how many */
    int input_rows;           /* the most that one needs */
    int overlap_rows;         /* the most input rows that two neighbours need */
    double headroom; /* input_rows to those of the first slice, which has no halo above; 1.01 where slices
                      * are freed and taken anew instead (plan_outgrows) */
};

/* Follows the input's shape through the chain and chooses the slices: on CPU devices so that what the stages
 * hand on stays in the caches, on others so that copies and kernels of different slices overlap, and smaller
 * where the run's memory limit asks for it; of deep chains only where the whole image takes much memory. The
 * whole image is one slice where a stage must see all of it, for
 * --edge wrap, for a group, and in image memory. `in` and `out` are the files' samples. */
enum status plan_make(struct plan *plan, const struct chain *chain, const struct shape *input,
                      enum sample_type in, enum sample_type out, struct run *run, struct error *error);

/* Cuts the output into slices of that many rows, and sets what follows from it. */
void plan_set_slice(struct plan *plan, int slice);

/* Whether a slice of that many input rows wants larger planes than those before, which had at most `most` (0:
 * none) and left no headroom for it: then those should be freed. Keeps `most`. */
bool plan_outgrows(const struct plan *plan, int rows, int *most);

/* A plan for a group is one for any number of images of the same shape. */
void plan_set_images(struct plan *plan, int images);

void plan_free(struct plan *plan);

/* The rows of every shape that output rows `out` need: rows[i] of shapes[i], chain->count + 1 of them. */
void plan_rows(const struct plan *plan, struct rows out, struct rows *rows);

/* The output rows of a slice, and the input rows that they need. */
struct rows plan_slice(const struct plan *plan, int slice);
struct rows plan_slice_input(const struct plan *plan, int slice);

const struct shape *plan_output(const struct plan *plan);

#endif
