/* A column is a thread that reads the slices of a page, or one that writes them, while the device works on
 * others. Few slots of staging memory go round between them:
 *
 *     reader ── ready ──▶ device ── ready ──▶ writer
 *       ▲                 │    ▲                │
 *       └───── idle ──────┘    └───── idle ─────┘
 *
 * A fast column waits for a slot instead of filling memory. Where the image is one slice, the calling thread
 * does the same work. */
#ifndef CLIMG_CHAIN_COLUMNS_H
#define CLIMG_CHAIN_COLUMNS_H

#include "base/threads.h"
#include "chain/page.h"
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

/* ---------------------------------------------------------------- reading
 *
 * The reader's column: decodes the input rows of one slice after the other. */

struct reading {
    const struct page *page;
    struct column column;
    size_t pitch;
    unsigned char *carry; /* rows that the next slice needs as well: the device has those of the last one */
    struct rows carried;
    int slice;    /* the next */
    int next_row; /* of the page, that was not decoded yet */
};

/* Starts reading ahead where the plan has several slices, unless those are made of all that is read: then
 * that is one. reading_end and reading_free are needed also after a failure. */
enum status reading_begin(struct reading *reading, const struct page *page, struct error *error);

/* The next slice's rows, the host's turn; NULL: reading failed, and reading_end says how. */
struct slot *reading_next(struct reading *reading);

/* The device has been given the slot's rows and asked to hand them back. */
void reading_return(struct reading *reading, struct slot *slot);

/* Unless it should stop, waits until the rows below the last slice were read too: the file's end is checked
 * there. Nobody reads any more when this returns. */
enum status reading_end(struct reading *reading, bool stop, struct error *error);

void reading_free(struct reading *reading);

/* ---------------------------------------------------------------- writing
 *
 * The writer's column: encodes the output rows of one slice after the other. */

struct writing {
    const struct page *page;
    struct column column;
    size_t pitch;
};

/* Starts the thread where the plan has several slices. writing_free is needed also after a failure. */
enum status writing_begin(struct writing *writing, const struct page *page, struct error *error);

/* A slot for a slice, the host's turn; NULL: writing failed, and writing_end says how. */
struct slot *writing_next(struct writing *writing);

/* The device was asked to fill the slot and hand it back. */
void writing_deliver(struct writing *writing, struct slot *slot);

/* Returns when everything that was delivered is written. */
enum status writing_end(struct writing *writing, struct error *error);

void writing_free(struct writing *writing);

#endif
