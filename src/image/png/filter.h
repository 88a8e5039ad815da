/* PNG's row filters (ISO/IEC 15948, section 9): each byte less what its neighbours say it would be.
 *
 *     above-left  above            left = the same byte of the pixel before
 *     left        (this byte)      above = of the row before, zeros for the first row
 */
#ifndef CLIMG_IMAGE_PNG_FILTER_H
#define CLIMG_IMAGE_PNG_FILTER_H

#include <stddef.h>

enum png_filter {
    /* As the file names them. */
    PNG_ROW_NONE,
    PNG_ROW_SUB,
    PNG_ROW_UP,
    PNG_ROW_AVERAGE,
    PNG_ROW_PAETH,
    PNG_ROW_COUNT,
    PNG_ROW_CHOSEN = PNG_ROW_COUNT /* not one of the file: the best of them for each row */
};

struct png_row {
    const unsigned char *bytes, *above;
    size_t size; /* bytes of a row */
    size_t step; /* bytes of a pixel */
};

/* Puts the filter's number and then `size` filtered bytes to `to`, which overlaps neither row. */
void png_filter_row(enum png_filter filter, const struct png_row *row, unsigned char *to);

/* The same with the filter whose bytes, taken as signed, have the least sum of magnitudes: what the
 * specification recommends (section 12.8) and libpng does. `trial` is as large as `to`; what is returned is
 * the one of the two that holds the row. */
unsigned char *png_filter_choose(const struct png_row *row, unsigned char *to, unsigned char *trial);

/* Counts the zeros among `size` bytes, and the eights of them, from the first on, that are all one. */
void png_count_runs(const unsigned char *bytes, size_t size, size_t *zeros, size_t *eights);

/* The inverse: row->bytes are filtered, row->above is not. `to` may be row->bytes. Pixels of 1, 2, 3, 4, 6 or
 * 8 bytes. */
void png_unfilter_row(enum png_filter filter, const struct png_row *row, unsigned char *to);

/* A row of 16-bit samples, each with its bytes exchanged. */
void png_swap_samples(const unsigned char *row, size_t size, unsigned char *to);

#endif
