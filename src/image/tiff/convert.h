/* From samples as libtiff decodes them to samples as image.h has them. */
#ifndef CLIMG_IMAGE_TIFF_CONVERT_H
#define CLIMG_IMAGE_TIFF_CONVERT_H

#include "image/tiff/layout.h"

/* What each value of a sample becomes: a colour of the palette, or a gray value of full scale. */
struct tiff_table {
    unsigned char *entries; /* NULL: samples are whole bytes already */
    size_t entry_size;      /* bytes */
    bool wide_palette;      /* RGB of 16 bits, as 8 would lose something */
};

/* For palettes and for samples that do not fill their bytes; freed with free(table->entries). */
enum status tiff_table_make(TIFF *tiff, const struct tiff_layout *layout, struct tiff_table *table,
                            struct error *error);

/* Whether rows can be decoded to their final place. */
bool tiff_row_is_final(const struct tiff_layout *layout, const struct tiff_table *table);

/* Whether a row, as libtiff decodes it, has samples that floats of 32 bits do not hold. */
bool tiff_row_rounds(const struct tiff_layout *layout, const unsigned char *row);

/* One row; `from` may be `to` where tiff_row_is_final. */
void tiff_row_convert(const struct tiff_layout *layout, const struct tiff_table *table,
                      const struct image_info *info, const unsigned char *from, unsigned char *to);

#endif
