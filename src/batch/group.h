/* Small images of one shape, which go through the chain together.
 *
 *     take ─▶ open ─┬─ like the first one ─▶ decode ─┐
 *                   │                                ├─▶ chain/group.h ─▶ encode, each to its own output
 *                   ├─ like the first one ─▶ decode ─┘
 *                   └─ another ─▶ it is the next one's first
 *
 * A job that fails in a group is done again alone. So its error is the one that it would have alone, and does
 * not affect the others.
 *
 * Thread safety: a group belongs to one worker. */
#ifndef CLIMG_BATCH_GROUP_H
#define CLIMG_BATCH_GROUP_H

#include "batch/job.h"
#include "chain/group.h"

/* A job of a group. */
struct group_item {
    struct job *job;
    struct result result;
    bool is_finished; /* done; otherwise it is done alone later */
    int image;        /* index in the group; -1: none */
    struct page page; /* the output's metadata */
    char *page_name;  /* a copy, as the reader is closed */
};

struct job_group {
    struct worker *worker;
    struct group_item items[GROUP_IMAGES]; /* in the order of the list */
    int count;
    int images;                 /* images in the group */
    int orientation;            /* job->orientation of all jobs */
    int room;                   /* jobs that may be taken, including the first */
    int expected;               /* expected size of the next group, from the groups before it */
    struct conversion from;     /* the first job's; the same for all */
    struct shape input, output; /* of one image */
    enum sample_type type;      /* of the outputs */
    struct plan plan;           /* of the group; its chain is the first job's */
    struct group group;
};

/* Initialises a zeroed struct; the worker's device need not be open yet. */
void job_group_init(struct job_group *group, struct worker *worker);

/* Opens the job and makes it the first of a group of up to `share` jobs. `result` has the time spent on it so
 * far. Returns false if the job has to go alone. */
bool job_group_begin(struct job_group *group, struct job *job, struct result *result, size_t share);

/* True if another job may be added. */
bool job_group_has_room(const struct job_group *group);

/* Adds the job and decodes its image. Returns false if it does not fit the group; `result` then has the time
 * that was spent on finding out. */
bool job_group_add(struct job_group *group, struct job *job, struct result *result);

/* Runs the chain on the group, writes its images, and finishes their jobs. `odd`: the group ended because a
 * job did not fit. */
void job_group_finish(struct job_group *group, bool odd);

#endif
