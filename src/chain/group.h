/* Groups: small images of one shape that share kernel launches.
 *
 *     rasters one after the other ──▶ unpack ─▶ stage … stage ─▶ pack ──▶ rasters one after the other
 *
 * The planes of all images are in one allocation, and each kernel is launched once for all of them. So images
 * share the cost of launches and waits, and together fill a GPU. The bits of an image do not depend on the
 * group.
 *
 * The caller chooses the images (group_accepts, group_max_images), opens the group, writes each image to
 * group_input, runs the group and reads group_output. A group owns its staging buffers and borrows the run.
 * Thread safety: a group belongs to its worker's thread. */
#ifndef CLIMG_CHAIN_GROUP_H
#define CLIMG_CHAIN_GROUP_H

#include "chain/plan.h"
#include "engine/transfer.h"

/* Rasters of one shape in one allocation. */
struct rasters {
    struct staging *staging;
    size_t pitch; /* bytes from row to row */
    size_t size;  /* bytes from image to image */
    int rows;     /* of an image */
};

struct group {
    struct run *run;
    int capacity;                           /* number of images that fit; 0: closed */
    struct rasters in, out;                 /* mapped for the host except during group_run */
    struct clipping clipping[GROUP_IMAGES]; /* counters of each image, after group_run */
};

/* True if images of that shape may form groups in that chain: they are small and have no alpha, planes are in
 * buffers, every stage supports groups, and the chain's output is an image. */
bool group_accepts(const struct chain *chain, const struct shape *image, const struct run *run);

/* Returns the largest number of images in a group, at least 1. `plan` is for one image. */
int group_max_images(const struct plan *plan, const struct run *run);

/* Allocates memory for `capacity` images, mapped for the host. Call group_close also after a failure. */
enum status group_open(struct group *group, struct run *run, const struct plan *plan, int capacity,
                       struct error *error);

/* Return the input and output samples of image i: rows that are in.pitch or out.pitch bytes apart. */
void *group_input(const struct group *group, int i);
const void *group_output(const struct group *group, int i);

/* Runs the chain on the first plan->shapes[0].images images, and waits for all outputs. Fills in `clipping`.
 * Also after a failure no command uses the group any more. */
enum status group_run(struct group *group, const struct plan *plan, const struct conversion *from,
                      const struct conversion *to, struct error *error);

/* Releases the memory. May be called twice, and on a zeroed group. */
void group_close(struct group *group);

#endif
