/* A run of a PNG's rows, filtered and compressed without waiting for the rows before it. */
#ifndef CLIMG_IMAGE_PNG_SEGMENT_H
#define CLIMG_IMAGE_PNG_SEGMENT_H

#include "base/error.h"
#include "image/png/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct png_encoding {
    int level;
    int strategy; /* zlib's; Z_RLE: in each segment Z_HUFFMAN_ONLY where that is likely shorter */
    enum png_filter filter;
};

/* What all segments of an image share. */
struct png_segment_plan {
    struct png_encoding encoding;
    size_t row_size, pixel_size; /* bytes */
    size_t rows;                 /* of a segment, at least 1; its last one may have fewer */
    size_t rows_before;          /* at least 1: the rows before, which a segment needs copies of */
};

/* `size` is about how many filtered bytes a segment has. */
void png_segment_plan(struct png_segment_plan *plan, const struct png_encoding *encoding, size_t row_size,
                      size_t pixel_size, size_t size);

/* What one segment allocates, in bytes. */
size_t png_segment_memory(const struct png_segment_plan *plan);

struct png_segment {
    const struct png_segment_plan *plan;
    unsigned char *rows; /* `before` rows, then `count` of its own, as the file has them but not filtered */
    size_t before, count;
    bool first, last;        /* of the image */
    unsigned char *filtered; /* all of its own rows, or one of those before */
    unsigned char *trial;    /* one row */
    z_stream deflate;
    unsigned char *data; /* the compressed result, with room for a checksum behind it */
    size_t data_size;
    uint32_t adler; /* of the filtered bytes */
    bool failed;    /* zlib's, which it should not */
};

/* A zeroed struct; on failure png_segment_close is still to be called. */
enum status png_segment_open(struct png_segment *segment, const struct png_segment_plan *plan,
                             struct error *error);
void png_segment_close(struct png_segment *segment);

/* Empties the segment, to be filled with what comes after `previous`, which is NULL for the first one of an
 * image and may be the segment itself. */
void png_segment_begin(struct png_segment *segment, const struct png_segment *previous);

/* Where the next row belongs. Count it then. */
unsigned char *png_segment_next_row(struct png_segment *segment);

/* A task on a segment whose rows are there and whose `last` is set where it is. The data of all segments, one
 * after the other, and then the Adler-32 of all filtered bytes make a zlib stream. */
void png_segment_compress(void *segment);

#endif
