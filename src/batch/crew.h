/* Several jobs of a list at once: each worker takes the next job when it is free. */
#ifndef CLIMG_BATCH_CREW_H
#define CLIMG_BATCH_CREW_H

#include "batch/list.h"
#include "batch/report.h"
#include "batch/worker.h"

struct member;

struct crew {
    const struct list *list;
    struct results *results;
    pthread_mutex_t lock; /* for everything below, and for the results */
    size_t next;          /* the first job that is not taken yet */
    struct job *returned; /* failed with their device, to be done on another one */
    struct job *put_off;  /* ran out of memory, to be done when no other worker is busy */
    struct job **put_off_end;
    size_t returned_count;
    bool alone;           /* only one worker is left */
    char (*names)[12];    /* of the devices, as for --device; NULL: the one that the command names */
    int devices, working; /* how many, and how many still work */
    bool *dropped;        /* by device: it failed and is left out */
    struct member *members;
    int count;
};

/* Decides how many workers there are, on which devices, and each one's share of memory. With --device all
 * each device has a leader. crew_close is needed also after a failure. */
enum status crew_open(struct crew *crew, const struct command *command, const char *provenance,
                      const struct list *list, struct results *results, struct error *error);

/* Does every job of the list that `resume` (NULL: none) does not find done. The calling thread is one of the
 * workers. If one of several devices fails it is left out, and its unfinished jobs are done elsewhere. */
void crew_work(struct crew *crew, const struct resume *resume);

/* The worker that opened a device for the others. */
const struct worker *crew_leader(const struct crew *crew, int device);

/* The sum of what all workers on a device measured; call it once for each device, the first being 0. NULL:
 * failed. */
struct worker *crew_sum(struct crew *crew, int device, struct error *error);

void crew_close(struct crew *crew);

#endif
