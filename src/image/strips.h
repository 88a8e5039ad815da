/* Encodes the rows of a picture in parallel, in strips of consecutive rows:
 *
 *     strips_write: rows ─▶ strips ─▶ encode, in any thread ─▶ emit, from top to bottom
 *
 * All strips but the last have strip_rows rows, so a file is the same for any number of threads. One thread
 * at a time uses a struct strips. */
#ifndef CLIMG_IMAGE_STRIPS_H
#define CLIMG_IMAGE_STRIPS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The common beginning of a format's own strip struct. The format's members after it are zeroed before the
 * first use. The caller's thread owns a strip, except while another thread encodes it. */
struct strip {
    const struct strips_options *options; /* NULL: not used yet */
    unsigned char *rows;                  /* row_size bytes apart */
    uint32_t count;                       /* number of rows */
    uint32_t number;                      /* index in the picture, from 0 */
    bool last;                            /* of the picture */
    enum status status;                   /* of `encode` */
    struct error error;
};

struct strips_options {
    size_t row_size;     /* bytes */
    uint32_t height;     /* rows of the picture */
    uint32_t strip_rows; /* rows of a strip; the last one may have fewer */
    bool has_row_above; /* strip->rows is preceded by the row above the strip; in the first strip, by zeros */
    size_t strip_size;  /* bytes of the format's strip struct */
    uint64_t strip_memory; /* bytes allocated for a strip, also by `encode` */
    uint64_t memory;       /* limit in bytes for all strips, at least one; 0: no limit */
    int threads;           /* number of threads that encode, at least 1 */
    /* Copies a row into the strip and may change it, such as swap bytes. NULL: memcpy. */
    void (*copy)(const void *context, const void *row, unsigned char *to);
    /* Encodes the strip's rows. Called by several threads at a time. NULL: rows are emitted as they are. */
    enum status (*encode)(struct strip *strip, struct error *error);
    /* Writes an encoded strip. Called from top to bottom, in the caller's thread. */
    enum status (*emit)(void *context, struct strip *strip, struct error *error);
    /* Frees what `encode` allocated in a strip, which may never have been encoded. May be NULL. */
    void (*close)(struct strip *strip);
    void *context; /* first argument of `copy` and `emit` */
};

struct strips;

/* Returns the bytes that will be allocated for all strips. */
uint64_t strips_memory(const struct strips_options *options);

/* Starts the threads. NULL on failure. */
struct strips *strips_open(const struct strips_options *options, struct error *error);

/* Appends `count` rows, `pitch` bytes apart. If all strips are in use, waits for the oldest one and emits it.
 * After a failure, only strips_close may be called. */
enum status strips_write(struct strips *strips, const void *rows, size_t pitch, uint32_t count,
                         struct error *error);

/* After the last row: waits until all strips are encoded, and emits them. */
enum status strips_finish(struct strips *strips, struct error *error);

/* Waits until no strip is being encoded, and frees everything. May be called at any time, and with NULL. */
void strips_close(struct strips *strips);

#endif
