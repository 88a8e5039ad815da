/* Makes a plan: how many rows go through at once. */
#ifndef CLIMG_CHAIN_PLANNING_H
#define CLIMG_CHAIN_PLANNING_H

#include "chain/plan.h"

/* Follows the input's shape through the chain and chooses the slices: on CPU devices so that what the stages
 * hand on stays in the caches, on others so that copies and kernels of different slices overlap, and smaller
 * where the run's memory limit asks for it, or the height of the device's images; of deep chains only where
 * the whole image takes much memory. The whole image is one slice where a stage must see all of it, for
 * --edge wrap, and for a group. `in` and `out` are the files' samples. */
enum status plan_make(struct plan *plan, const struct chain *chain, const struct shape *input,
                      enum sample_type in, enum sample_type out, struct run *run, struct error *error);

#endif
