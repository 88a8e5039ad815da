/* One of the columns that work at the same time: what reads the slices, or what writes them. Its slots go
 * round between it and the device:
 *
 *     reader ── ready ──▶ device ── ready ──▶ writer
 *       ▲                 │    ▲                │
 *       └───── idle ──────┘    └───── idle ─────┘
 *
 * There are few slots, so that a fast column waits for a slow one instead of filling memory. Where the image
 * is one slice, the same work is done by the calling thread. */
#ifndef CLIMG_CHAIN_COLUMN_H
#define CLIMG_CHAIN_COLUMN_H

#include "base/queue.h"
#include "engine/run.h"

/* One on each side, and one between them: two would do if every slice took equally long. */
enum { COLUMN_SLOTS = 3 };

struct slot {
    struct staging *staging;
    int slice;        /* its number */
    struct rows rows; /* those held */
    size_t mark;      /* the profile's records up to here belong to finished commands once this is idle */
};

struct column {
    struct staging_pool *pool;
    struct slot slots[COLUMN_SLOTS];
    struct queue idle, ready;
    pthread_t thread;
    bool threaded;
    enum status status; /* of its own work; settled after column_join */
    struct error error;
};

/* Slots of `size` bytes, all idle: one, or where there is a thread several. column_close is needed also after
 * a failure. */
enum status column_open(struct column *column, struct staging_pool *pool, size_t size, bool threaded,
                        struct error *error);

/* Starts the thread if there is to be one. Where the system has none, the calling thread does the work. */
void column_start(struct column *column, void *(*work)(void *), void *context);

/* The column's own failure: nobody waits for it, or works for it, any more. */
void column_fail(struct column *column, const struct error *error);

/* Both sides stop waiting. */
void column_stop(struct column *column);

/* Waits for the thread to end. */
void column_join(struct column *column);

void column_close(struct column *column);

#endif
