/* Encodes the rows of a picture in parallel, in parts of consecutive rows:
 *
 *     parts_write: rows ─▶ parts ─▶ encode, in any thread ─▶ emit, from top to bottom
 *
 * All parts but the last have part_rows rows, so a file is the same for any number of threads. One thread at
 * a time uses a struct parts. */
#ifndef CLIMG_IMAGE_PARTS_H
#define CLIMG_IMAGE_PARTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The common beginning of a format's own part struct. The format's members after it are zeroed before the
 * first use. The caller's thread owns a part, except while another thread encodes it. */
struct part {
    const struct parts_options *options; /* NULL: not used yet */
    unsigned char *rows;                 /* row_size bytes apart */
    uint32_t count;                      /* number of rows */
    uint32_t number;                     /* index in the picture, from 0 */
    bool last;                           /* of the picture */
    enum status status;                  /* of `encode` */
    struct error error;
};

struct parts_options {
    size_t row_size;      /* bytes */
    uint32_t height;      /* rows of the picture */
    uint32_t part_rows;   /* rows of a part; the last one may have fewer */
    bool has_row_above;   /* part->rows is preceded by the row above the part; in the first part, by zeros */
    size_t part_size;     /* bytes of the format's part struct */
    uint64_t part_memory; /* bytes allocated for a part, also by `encode` */
    uint64_t memory;      /* limit in bytes for all parts, at least one; 0: no limit */
    int threads;          /* number of threads that encode, at least 1 */
    /* Copies a row into the part and may change it, such as swap bytes. NULL: memcpy. */
    void (*copy)(const void *context, const void *row, unsigned char *to);
    /* Encodes the part's rows. Called by several threads at a time. NULL: rows are emitted as they are. */
    enum status (*encode)(struct part *part, struct error *error);
    /* Writes an encoded part. Called from top to bottom, in the caller's thread. */
    enum status (*emit)(void *context, struct part *part, struct error *error);
    /* Frees what `encode` allocated in a part, which may never have been encoded. May be NULL. */
    void (*close)(struct part *part);
    void *context; /* first argument of `copy` and `emit` */
};

struct parts;

/* Returns the bytes that will be allocated for all parts. */
uint64_t parts_memory(const struct parts_options *options);

/* Starts the threads. NULL on failure. */
struct parts *parts_open(const struct parts_options *options, struct error *error);

/* Appends `count` rows, `pitch` bytes apart. If all parts are in use, waits for the oldest one and emits it.
 * After a failure, only parts_close may be called. */
enum status parts_write(struct parts *parts, const void *rows, size_t pitch, uint32_t count,
                        struct error *error);

/* After the last row: waits until all parts are encoded, and emits them. */
enum status parts_finish(struct parts *parts, struct error *error);

/* Waits until no part is being encoded, and frees everything. May be called at any time, and with NULL. */
void parts_close(struct parts *parts);

#endif
