/* A chain for one image, planned: how many rows go through at once. */
#ifndef CLIMG_CHAIN_PLAN_H
#define CLIMG_CHAIN_PLAN_H

#include "chain/rows.h"

/* Follows the input's shape through the chain and chooses the slices: on CPU devices so that what the stages
 * hand on stays in the caches, on others so that copies and kernels of different slices overlap, and smaller
 * where the run's memory limit asks for it, or the height of the device's images; of deep chains only where
 * the whole image takes much memory. The whole image is one slice where a stage must see all of it, for
 * --edge wrap, and for a group. `in` and `out` are the files' samples. */
enum status plan_make(struct plan *plan, const struct chain *chain, const struct shape *input,
                      enum sample_type in, enum sample_type out, struct run *run, struct error *error);

/* The map from places of the output to those of the input (`places` of engine/stage.h). */
struct affine plan_places(const struct plan *plan);

/* A plan for a group is one for any number of images of the same shape. */
void plan_set_images(struct plan *plan, int images);

void plan_free(struct plan *plan);

#endif
