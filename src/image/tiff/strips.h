/* The compressed strips of a TIFF page, made on several threads. Each is encoded by libtiff into a TIFF of
 * its own in memory, of which only the strip is taken:
 *
 *     rows ─▶ strips ─▶ libtiff, in memory (each a job) ─▶ in order ─▶ emit
 */
#ifndef CLIMG_IMAGE_TIFF_STRIPS_H
#define CLIMG_IMAGE_TIFF_STRIPS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <tiffio.h>

struct tiff_strips_options {
    size_t row_size;               /* bytes */
    uint32_t height, strip_height; /* rows */
    int jobs;                      /* threads, 1 to WORKERS_MAX */
    uint64_t memory;               /* bytes that strips may take, more than one of them; 0: as many as suit */
    /* Sets the tags of a page of one strip. Called by several threads at once. */
    void (*describe)(const void *context, TIFF *tiff, uint32_t height);
    /* Takes the strips from top to bottom; called by the caller's thread only. */
    enum status (*emit)(void *context, uint32_t strip, const unsigned char *data, size_t size,
                        struct error *error);
    void *context; /* of both */
};

struct tiff_strips;

/* Bytes that they will take, libtiff's encoders apart. */
uint64_t tiff_strips_memory(const struct tiff_strips_options *options);

/* NULL on failure. */
struct tiff_strips *tiff_strips_open(const struct tiff_strips_options *options, struct error *error);

/* No more rows than the page has. After a failure only closing is left. */
enum status tiff_strips_write(struct tiff_strips *strips, const void *rows, size_t pitch, uint32_t count,
                              struct error *error);

/* After the last row: emits what is not yet. */
enum status tiff_strips_finish(struct tiff_strips *strips, struct error *error);

/* At any time; waits for the tasks under way. NULL is fine. */
void tiff_strips_close(struct tiff_strips *strips);

#endif
