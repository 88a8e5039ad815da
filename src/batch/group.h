/* Groups of jobs: small images of one shape, which are processed together.
 *
 *     take ─▶ open ─┬─ like the first one ─▶ decode ─┐
 *                   │                                ├─▶ chain/group.h ─▶ encode, each to its own output
 *                   ├─ like the first one ─▶ decode ─┘
 *                   └─ unlike it ─▶ ends the group, and is done next
 *
 * A job that fails in a group is done again, alone, by the caller. So its error is the same as without
 * groups, and other jobs of the group are not affected.
 *
 * Thread safety: a group belongs to one worker. */
#ifndef CLIMG_BATCH_GROUP_H
#define CLIMG_BATCH_GROUP_H

#include "batch/result.h"
#include "chain/group.h"

enum { FIRST_GROUP = 4 /* expected images of a worker's first group */ };

/* A job of a group. */
struct group_item {
    struct job *job;
    struct result result;
    bool is_finished; /* the output is committed; otherwise the caller must do the job alone */
    int image;        /* index of its image in the group; -1: none */
    struct page page; /* conversions and description of the output; owns its metadata */
    char *page_name;  /* copy of the output's page name, as the reader is closed first; may be NULL */
};

/* Initialise it with a worker, whose device need not be open, and with FIRST_GROUP. */
struct job_group {
    struct worker *worker;
    int expected; /* number of images of the next group, predicted from the groups before it */

    /* The current group. */
    struct group_item items[GROUP_IMAGES]; /* in the order of the list */
    int count;                             /* number of items */
    int images;                            /* number of images that were decoded */
    int orientation;                       /* job->orientation of all jobs */
    int max_count;                         /* maximum of `count` */
    bool only_moves;                       /* the chain only moves pixels */
    struct conversion input_conversion;    /* of the first job, and of all others */
    struct shape input, output;            /* of one image */
    enum sample_type type;                 /* of the outputs */
    struct plan plan;                      /* of the group; borrows the first job's chain */
    struct group group;
};

/* Opens the job and makes it the first of a group of at most `max_jobs` jobs. Adds the time spent to *result,
 * moves that to the item and clears it. Returns false if the job has to be done alone. */
bool job_group_begin(struct job_group *group, struct job *job, struct result *result, size_t max_jobs);

/* Adds the job and decodes its image. Returns false if it does not fit the group; then the job may be open,
 * and the time spent was added to *result. Call it only while count < max_count. */
bool job_group_add(struct job_group *group, struct job *job, struct result *result);

/* Runs the chain on the group, writes its images, and closes all jobs. `has_misfit`: the group ended because
 * a job did not fit. The caller reports the results of `items`. */
void job_group_finish(struct job_group *group, bool has_misfit);

#endif
