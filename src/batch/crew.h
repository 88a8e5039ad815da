/* Several jobs of a list at once: each worker takes the next one when it is free. */
#ifndef CLIMG_BATCH_CREW_H
#define CLIMG_BATCH_CREW_H

#include "batch/list.h"
#include "batch/results.h"
#include "batch/worker.h"

struct member;

struct crew {
    const struct list *list;
    struct results *results;
    pthread_mutex_t lock; /* of everything below, and of the results */
    size_t next;          /* job nobody has taken yet */
    struct job *returned; /* those that failed with their device, to be done elsewhere */
    struct job *put_off;  /* those that memory was not enough for, to be done when nobody else is at work */
    struct job **put_off_end;
    size_t returned_count;
    bool alone;           /* nobody else is at work */
    char (*names)[12];    /* of the devices, as --device takes them; NULL: one that the command names */
    int devices, working; /* how many, and those that still do */
    bool *dropped;        /* whether each of them does not */
    struct member *members;
    int count;
};

/* Decides how many workers there are, on which devices, and what share of memory each has: with --device all
 * there is a leader for every device. crew_close is needed also after a failure. */
enum status crew_open(struct crew *crew, const struct command *command, const char *provenance,
                      const struct list *list, struct results *results, struct error *error);

/* Does every job of the list; the calling thread is one of the workers. A device that fails is left out while
 * others are there: what it could not do is done again elsewhere. */
void crew_work(struct crew *crew);

/* The worker that has what all on a device measured, the first being 0; once for each device. NULL: it
 * failed. */
struct worker *crew_sum(struct crew *crew, int device, struct error *error);

void crew_close(struct crew *crew);

#endif
