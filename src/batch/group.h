/* Small images of one shape, which are processed together.
 *
 *     take ─▶ open ─┬─ like the first one ─▶ decode ─┐
 *                   │                                ├─▶ chain/group.h ─▶ encode, each to its own output
 *                   ├─ like the first one ─▶ decode ─┘
 *                   └─ unlike it ─▶ ends the group, and is done next
 *
 * A job that fails in a group is done again alone. So it has the same error as alone, and other jobs of the
 * group are not affected. The caller finishes all jobs of `items`.
 *
 * Thread safety: a group belongs to one worker. */
#ifndef CLIMG_BATCH_GROUP_H
#define CLIMG_BATCH_GROUP_H

#include "batch/result.h"
#include "chain/group.h"

/* A job of a group. */
struct group_item {
    struct job *job;
    struct result result;
    bool is_finished; /* the output is committed; else the job is to be done alone */
    int image;        /* index of its image in the group; -1: none */
    struct page page; /* conversions and description of the output; owns its metadata */
    char *page_name;  /* copy of the output's page name, as the reader is closed before; may be NULL */
};

struct job_group {
    struct worker *worker;
    int expected; /* expected size of the next group, from the groups before it */

    /* The current group. */
    struct group_item items[GROUP_IMAGES]; /* in the order of the list */
    int count;                             /* number of items */
    int images;                            /* number of images that were decoded */
    int orientation;                       /* job->orientation of all jobs */
    int room;                              /* jobs that may be taken, including the first */
    bool only_moves;                       /* the chain only moves pixels */
    struct conversion input_conversion;    /* of the first job, and of all others */
    struct shape input, output;            /* of one image */
    enum sample_type type;                 /* of the outputs */
    struct plan plan;                      /* of the group; borrows the first job's chain */
    struct group group;
};

/* Initialises a zeroed struct; the worker's device need not be open yet. */
void job_group_init(struct job_group *group, struct worker *worker);

/* Opens the job and makes it the first of a group of at most `max_jobs` jobs. The time spent is added to
 * `result`, which moves to the item. Returns false if the job has to be done alone. */
bool job_group_begin(struct job_group *group, struct job *job, struct result *result, size_t max_jobs);

/* True if another job may be added. */
bool job_group_has_room(const struct job_group *group);

/* Adds the job and decodes its image. Returns false if it does not fit the group; the job may be open then,
 * and the time spent is added to `result`. */
bool job_group_add(struct job_group *group, struct job *job, struct result *result);

/* Runs the chain on the group, writes its images, and closes all jobs. `has_misfit`: the group ended because
 * a job did not fit. */
void job_group_finish(struct job_group *group, bool has_misfit);

#endif
