/* Rows that are encoded in parts, by several threads:
 *
 *     rows ─▶ parts ─▶ encode (each a job) ─▶ in order ─▶ emit
 *
 * Where parts end depends on the rows alone, so a file is the same for any number of threads. */
#ifndef CLIMG_IMAGE_PARTS_H
#define CLIMG_IMAGE_PARTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A format's own part embeds this first; the rest of it is zeroed before the first use. */
struct part {
    const struct parts_options *options;
    unsigned char *rows; /* `count` of them */
    uint32_t count;
    uint32_t number;  /* from 0 */
    bool first, last; /* of the picture */
    enum status status;
    struct error error; /* why it could not be encoded */
};

struct parts_options {
    size_t row_size;      /* bytes */
    uint32_t height;      /* rows in all */
    uint32_t part_rows;   /* the last part may have fewer */
    bool above;           /* the row above them is stored before part->rows: zeros above the first one */
    size_t part_size;     /* bytes of the format's struct */
    uint64_t part_memory; /* bytes that a part takes */
    uint64_t memory;      /* bytes that all parts may take, unless one takes more; 0: no limit */
    int jobs;             /* threads */
    /* Copies a row that the caller gives to its place. NULL: memcpy. */
    void (*copy)(const void *context, const void *row, unsigned char *to);
    /* Called by several threads at once. */
    enum status (*encode)(struct part *part, struct error *error);
    /* Takes the parts from top to bottom; called by the caller's thread only. */
    enum status (*emit)(void *context, struct part *part, struct error *error);
    /* Frees what `encode` allocated in a part, also in one that was never encoded. May be NULL. */
    void (*close)(struct part *part);
    void *context; /* of all of them */
};

struct parts;

/* Bytes that they will take. */
uint64_t parts_memory(const struct parts_options *options);

/* NULL on failure. */
struct parts *parts_open(const struct parts_options *options, struct error *error);

/* After a failure only parts_close may be called. */
enum status parts_write(struct parts *parts, const void *rows, size_t pitch, uint32_t count,
                        struct error *error);

/* After the last row: emits what is not yet. */
enum status parts_finish(struct parts *parts, struct error *error);

/* At any time; waits for the jobs under way. NULL is fine. */
void parts_close(struct parts *parts);

#endif
