/* Small images of one shape, taken one after the other to go through the chain together.
 *
 *     take ─▶ open ─┬─ like the first one ─▶ decode ─┐
 *                   │                                ├─▶ chain/group.h ─▶ encode, each to its own output
 *                   ├─ like the first one ─▶ decode ─┘
 *                   └─ another ─▶ it is the next one's first
 *
 * What cannot be done in a group, for whatever reason, is done by itself then: so an error is the one that
 * the file would have alone, and does nothing to the others. */
#ifndef CLIMG_BATCH_GATHER_H
#define CLIMG_BATCH_GATHER_H

#include "batch/result.h"
#include "chain/group.h"

/* A job that was taken. */
struct gathered {
    struct job *job;
    struct result result;
    bool settled;     /* else it is to be done by itself */
    int image;        /* its place in the group; -1: it has none */
    struct page page; /* what its output says */
    char *page_name;  /* the page's: the reader is gone */
};

struct gathering {
    struct worker *worker;
    struct gathered members[GROUP_IMAGES]; /* in the order of the list */
    int count;
    int images;             /* those in the group */
    int room;               /* jobs that may be taken, the first one among them */
    int expected;           /* images that the next group is likely to have, to judge by those before it */
    struct conversion from; /* the first job's, which all others share */
    struct shape input, output; /* of one image */
    enum sample_type type;      /* of the outputs */
    struct plan plan;           /* of the group; its chain is the first job's */
    struct group group;
};

/* Of a zeroed struct; the worker's device need not be open yet. */
void gathering_init(struct gathering *gathering, struct worker *worker);

/* Opens the job and makes it the first, with what it has taken so far, where up to `share` like it may be
 * taken with it. False: it goes by itself. */
bool gathering_begin(struct gathering *gathering, struct job *job, struct result *result, size_t share);

/* Whether another job may be taken. */
bool gathering_has_room(const struct gathering *gathering);

/* Takes the next job, and decodes its image. False: it does not belong to the others; the result has what was
 * taken for finding out. */
bool gathering_add(struct gathering *gathering, struct job *job, struct result *result);

/* Takes the group through the chain, writes its images, and settles them. `odd`: a job came that did not
 * belong.
 */
void gathering_finish(struct gathering *gathering, bool odd);

#endif
