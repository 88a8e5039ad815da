/* Small images of one shape go through the chain together. Their planes lie in one allocation, and each
 * kernel is launched once for all of them. So they share the cost of launches and waits, and fill a GPU,
 * which a small image alone does not.
 *
 *     rasters one after the other ──▶ unpack ─▶ stage … stage ─▶ pack ──▶ rasters one after the other
 *
 * Every image gets the bits that it would get by itself. */
#ifndef CLIMG_CHAIN_GROUP_H
#define CLIMG_CHAIN_GROUP_H

#include "chain/plan.h"
#include "chain/transfer.h"

/* The most images of a group. */
enum { GROUP_IMAGES = 32 };

/* The rasters of some images, each `pitch` bytes a row, and `size` bytes from image to image. */
struct rasters {
    struct staging *staging;
    size_t pitch, size;
    int rows;
};

struct group {
    struct run *run;
    int room; /* images; 0: it is closed */
    struct rasters in, out;
    struct clipping clipping[GROUP_IMAGES]; /* of each image, after group_run */
};

/* Whether images of that shape may be in a group in that chain: small ones without alpha, in buffers, where
 * every stage takes groups. */
bool group_takes(const struct chain *chain, const struct shape *image, const struct run *run);

/* How many of them at most, at least 1: `plan` is the plan for one. */
int group_most(const struct plan *plan, const struct run *run);

/* Memory for `room` images of that plan's shapes, to be filled by the host. group_close is needed also after
 * a failure. */
enum status group_open(struct group *group, struct run *run, const struct plan *plan, int room,
                       struct error *error);

/* Where image i goes in, and comes out: rows of samples, in.pitch or out.pitch bytes apart. */
void *group_input(const struct group *group, int i);
const void *group_output(const struct group *group, int i);

/* Runs the chain on the first images, as many as the plan's shapes say, and waits until all are there. */
enum status group_run(struct group *group, const struct plan *plan, const struct conversion *from,
                      const struct conversion *to, struct error *error);

/* Safe twice, and on a zeroed one. */
void group_close(struct group *group);

#endif
