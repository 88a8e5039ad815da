/* The rows of a PNG whose samples need no conversion: not interlaced, no palette, 8 or 16 bit, no tRNS.
 * libpng reads the chunks before them; from the first IDAT on the file is read here, because ISA-L inflates
 * twice as fast as zlib, on which libpng is built. */
#ifndef CLIMG_IMAGE_PNG_PIXELS_H
#define CLIMG_IMAGE_PNG_PIXELS_H

#include "base/error.h"
#include "image/metadata/metadata.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct png_pixels;

struct png_pixels_options {
    FILE *file;          /* behind the header of the first IDAT */
    uint32_t size;       /* of that IDAT */
    size_t row_size;     /* bytes of a row */
    size_t pixel_size;   /* bytes of a pixel: 1, 2, 3, 4, 6 or 8 */
    uint32_t row_count;  /* of the image */
    struct blob *behind; /* takes the chunks of png_metadata_is_late, whole; NULL: nobody wants them */
    bool swap;           /* samples of 16 bit are to be in the other byte order than the file's */
};

/* NULL: out of memory. */
struct png_pixels *png_pixels_open(const struct png_pixels_options *options, struct error *error);

/* The next `count` rows to data, data + pitch, ... */
enum status png_pixels_read(struct png_pixels *pixels, void *data, size_t pitch, uint32_t count,
                            struct error *error);

/* After the last row: goes through the rest of the file, whose chunks must be whole and undamaged. */
enum status png_pixels_end(struct png_pixels *pixels, struct error *error);

/* NULL is fine. */
void png_pixels_close(struct png_pixels *pixels);

#endif
