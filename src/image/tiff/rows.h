/* The rows of a TIFF page, decoded as they are asked for: pixels interleaved, samples as the file has them
 * but in the host's byte order. What is called a strip here may be a row of tiles as well; at most one is
 * held. */
#ifndef CLIMG_IMAGE_TIFF_ROWS_H
#define CLIMG_IMAGE_TIFF_ROWS_H

#include "image/tiff/file.h"
#include "image/tiff/layout.h"

enum { TIFF_PLANES = 4 };

struct tiff_rows {
    struct tiff_file *file;
    const struct tiff_layout *layout;
    uint32_t strip_height, tile_width;        /* a strip is a tile as wide as the image */
    bool plain;                               /* strips are nothing but their rows, as they are wanted */
    bool scanlines;                           /* decoded row by row, not strip by strip */
    struct tiff_file planes[TIFF_PLANES - 1]; /* scanlines: of separate planes, those after the first */
    uint32_t strip_number;                    /* of the one in `strip`; UINT32_MAX: none */
    unsigned char *strip;                     /* rows of layout->row bytes */
    unsigned char *block;                     /* a tile, or one plane of a strip or of a row */
    uint64_t memory;                          /* bytes of both */
};

/* Both structs must stay until tiff_rows_end, which is fine to call on a zeroed struct. */
enum status tiff_rows_begin(struct tiff_rows *rows, struct tiff_file *file, const struct tiff_layout *layout,
                            struct error *error);

/* How many strips (of one plane) there are, and how many rows one of them has. */
uint32_t tiff_rows_strip_count(const struct tiff_rows *rows);
uint32_t tiff_rows_of_strip(const struct tiff_rows *rows, uint32_t number);

/* Rows must be asked for from top to bottom. */
enum status tiff_rows_fetch(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                            size_t pitch, struct error *error);

void tiff_rows_end(struct tiff_rows *rows);

/* Puts `rows` rows of `pixels` pixels of `size` bytes to places `stride` bytes apart. */
void tiff_place(unsigned char *to, size_t to_pitch, size_t stride, const unsigned char *from,
                size_t from_pitch, size_t size, size_t pixels, uint32_t rows);

#endif
