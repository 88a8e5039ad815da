/* Rows that are encoded in parts, by several threads:
 *
 *     rows ─▶ parts ─▶ encode, in any thread ─▶ in order ─▶ emit
 *
 * Where parts end depends on the rows alone, so a file is the same for any number of threads. */
#ifndef CLIMG_IMAGE_PARTS_H
#define CLIMG_IMAGE_PARTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A format's own part embeds this first; the rest of it is zeroed before the first use. A part belongs to the
 * caller while it is filled, to a thread while it is encoded, and then to the caller again. */
struct part {
    const struct parts_options *options; /* NULL: never used */
    unsigned char *rows;                 /* `count` of them, row_size bytes apart */
    uint32_t count;
    uint32_t number;  /* in the picture, from 0 */
    bool first, last; /* of the picture */
    enum status status;
    struct error error; /* why it could not be encoded */
};

struct parts_options {
    size_t row_size;      /* bytes */
    uint32_t height;      /* rows in all */
    uint32_t part_rows;   /* the last part may have fewer */
    bool above;           /* the row above the part precedes part->rows; for the first part it is zeros */
    size_t part_size;     /* bytes of the format's struct */
    uint64_t part_memory; /* bytes of memory that a part takes, with what `encode` allocates */
    uint64_t memory;      /* bytes that all parts may take, unless one takes more; 0: no limit */
    int threads;
    /* Copies a row into the part, perhaps in another byte order. NULL: memcpy. */
    void (*copy)(const void *context, const void *row, unsigned char *to);
    /* Encodes the part's rows. Called by several threads at once. NULL: rows are emitted as they are. */
    enum status (*encode)(struct part *part, struct error *error);
    /* Receives the encoded parts from top to bottom; called by the caller's thread only. */
    enum status (*emit)(void *context, struct part *part, struct error *error);
    /* Frees what `encode` allocated in a part, also in one that was never encoded. May be NULL. */
    void (*close)(struct part *part);
    void *context; /* of `copy` and `emit` */
};

struct parts;

/* Returns the bytes of memory that all parts will take. */
uint64_t parts_memory(const struct parts_options *options);

/* Starts the threads. NULL on failure. */
struct parts *parts_open(const struct parts_options *options, struct error *error);

/* Appends `count` rows, `pitch` bytes apart. Waits if all parts are in use. After a failure only parts_close
 * may be called. */
enum status parts_write(struct parts *parts, const void *rows, size_t pitch, uint32_t count,
                        struct error *error);

/* After the last row: waits for the parts that are being encoded, and emits them. */
enum status parts_finish(struct parts *parts, struct error *error);

/* Waits for parts that are being encoded, and frees everything. May be called at any time, and with NULL. */
void parts_close(struct parts *parts);

#endif
