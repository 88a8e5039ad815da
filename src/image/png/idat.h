/* The rows of a PNG as the zlib stream of its IDAT chunks, made on several threads:
 *
 *     rows ─▶ segments ─▶ filter, deflate (each a job) ─▶ in order, one chunk a segment ─▶ emit
 *
 * Where segments end depends on the rows alone, so the stream is the same for any number of threads. */
#ifndef CLIMG_IMAGE_PNG_IDAT_H
#define CLIMG_IMAGE_PNG_IDAT_H

#include "image/png/segment.h"

/* Takes what goes into one chunk, or more where a chunk cannot hold it. */
typedef enum status (*png_emit)(void *context, const unsigned char *data, size_t size, struct error *error);

struct png_idat_options {
    struct png_encoding encoding;
    size_t row_size, pixel_size; /* bytes */
    uint32_t height;             /* rows */
    bool swap;                   /* samples of 16 bit in the host's byte order, which is not the file's */
    size_t segment_size;         /* filtered bytes, roughly; 0: what proved best */
    int jobs;                    /* threads, 1 to WORKERS_MAX */
    uint64_t memory;             /* bytes that segments may take, more than one of them; 0: as many as suit */
    png_emit emit;               /* called by the caller's thread only */
    void *context;               /* of emit */
};

struct png_idat;

/* Bytes that it will take. */
uint64_t png_idat_memory(const struct png_idat_options *options);

/* NULL on failure. */
struct png_idat *png_idat_open(const struct png_idat_options *options, struct error *error);

/* No more rows than the image has. After a failure only closing is left. */
enum status png_idat_write(struct png_idat *idat, const void *rows, size_t pitch, uint32_t count,
                           struct error *error);

/* After the last row: emits what is not yet. */
enum status png_idat_finish(struct png_idat *idat, struct error *error);

/* At any time; waits for the jobs under way. NULL is fine. */
void png_idat_close(struct png_idat *idat);

#endif
