/* Jobs through the chain: one alone, page by page, or a group of small images together. */
#ifndef CLIMG_BATCH_CONVERT_H
#define CLIMG_BATCH_CONVERT_H

#include "batch/job.h"
#include "chain/group.h"

/* Fills in the output's metadata and how samples become values and back; page->plan must be set.
 * metadata_free(&page->out.metadata) is needed only after success. */
enum status job_describe(const struct job *job, const struct worker *worker, struct page *page,
                         struct error *error);

/* Finds out whether the job is done already; if not, opens the input. May be called again. */
enum status convert_begin(struct worker *worker, struct job *job, struct error *error);

/* Puts the finished output in its place. */
enum status convert_commit(struct worker *worker, const struct job *job, struct error *error);

/* Does the rest of the job and fills in the result, adding to its times. Uses nothing but the worker and
 * constant data; the caller hands the result to results_take. */
void convert(struct worker *worker, struct job *job, struct result *result);

/* Small images of one shape, taken one after the other to go through the chain together.
 *
 *     take ─▶ open ─┬─ like the first one ─▶ decode ─┐
 *                   │                                ├─▶ chain/group.h ─▶ encode, each to its own output
 *                   ├─ like the first one ─▶ decode ─┘
 *                   └─ another ─▶ it is the next one's first
 *
 * A job that fails in a group is done again by itself. So its error is the one that it would have alone, and
 * does not affect the others. */
/* A job of a group. */
struct group_item {
    struct job *job;
    struct result result;
    bool is_finished; /* done; otherwise it is done alone later */
    int image;        /* its place in the group; -1: none */
    struct page page; /* its output's metadata */
    char *page_name;  /* a copy, as the reader is closed */
};

struct job_group {
    struct worker *worker;
    struct group_item items[GROUP_IMAGES]; /* in the order of the list */
    int count;
    int images;                 /* images in the group */
    int room;                   /* jobs that may be taken, including the first */
    int expected;               /* expected size of the next group, from the groups before it */
    struct conversion from;     /* the first job's; the same for all */
    struct shape input, output; /* of one image */
    enum sample_type type;      /* of the outputs */
    struct plan plan;           /* of the group; its chain is the first job's */
    struct group group;
};

/* For a zeroed struct; the worker's device need not be open yet. */
void job_group_init(struct job_group *group, struct worker *worker);

/* Opens the job and makes it the group's first if it can have company, up to `share` jobs in all. `result`
 * holds the time spent on it so far. False: it goes alone. */
bool job_group_begin(struct job_group *group, struct job *job, struct result *result, size_t share);

/* Whether another job may be taken. */
bool job_group_has_room(const struct job_group *group);

/* Adds the job and decodes its image. False: it does not fit the group; the result then has the time spent on
 * finding out. */
bool job_group_add(struct job_group *group, struct job *job, struct result *result);

/* Takes the group through the chain, writes its images, and finishes their jobs. `odd`: the group ended
 * because a job did not fit. */
void job_group_finish(struct job_group *group, bool odd);

#endif
