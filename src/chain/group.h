/* Groups: small images of one shape that share kernel launches.
 *
 * The planes of all images are in one allocation, and each kernel is launched once for all of them. So they
 * share the cost of launches and waits, and fill a GPU, which one small image does not.
 *
 *     rasters one after the other ──▶ unpack ─▶ stage … stage ─▶ pack ──▶ rasters one after the other
 * Each image gets the same bits as alone. A group belongs to one worker's thread. */
#ifndef CLIMG_CHAIN_GROUP_H
#define CLIMG_CHAIN_GROUP_H

#include "chain/plan.h"
#include "chain/transfer.h"

/* Most images of a group. */
enum { GROUP_IMAGES = 32 };

/* Rasters in one allocation: `pitch` bytes from row to row, `size` bytes from image to image. */
struct rasters {
    struct staging *staging;
    size_t pitch, size;
    int rows;
};

struct group {
    struct run *run;
    int room; /* images that fit; 0: closed */
    struct rasters in, out;
    struct clipping clipping[GROUP_IMAGES]; /* counters of each image, after group_run */
};

/* True if images of that shape may form groups in that chain: small ones without alpha, in buffers, if every
 * stage supports groups. */
bool group_takes(const struct chain *chain, const struct shape *image, const struct run *run);

/* Returns the largest number of images in a group, at least 1. `plan` is for one image. */
int group_most(const struct plan *plan, const struct run *run);

/* Allocates memory for `room` images, to be filled by the host. group_close is needed after a failure, too.
 */
enum status group_open(struct group *group, struct run *run, const struct plan *plan, int room,
                       struct error *error);

/* Return the input and output samples of image i: rows that are in.pitch or out.pitch bytes apart. */
void *group_input(const struct group *group, int i);
const void *group_output(const struct group *group, int i);

/* Runs the chain on the first images, whose number is in the plan's shapes, and waits for all outputs. */
enum status group_run(struct group *group, const struct plan *plan, const struct conversion *from,
                      const struct conversion *to, struct error *error);

/* May be called twice, and on a zeroed group. */
void group_close(struct group *group);

#endif
