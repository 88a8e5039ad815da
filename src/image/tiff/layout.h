/* How a TIFF page stores its samples, and what they become. */
#ifndef CLIMG_IMAGE_TIFF_LAYOUT_H
#define CLIMG_IMAGE_TIFF_LAYOUT_H

#include "image/format.h"
#include "image/tiff/file.h"

struct tiff_layout {
    uint32_t width, height;
    uint16_t bits;    /* of a sample in the file */
    uint16_t samples; /* a pixel in the file */
    uint16_t photometric, compression, format;
    bool separate; /* one plane after the other */
    bool tiled;    /* else strips */
    bool rgba;     /* YCbCr that only libtiff's RGBA interface converts */
    bool palette;  /* samples are indices */
    bool inverted; /* 0 is white */
    uint64_t row;  /* bytes of a row as libtiff decodes it, all samples interleaved */
};

/* Reads the tags of the current directory. Refuses, with a message that says what to do, what climg does not
 * read, and what is larger than the options allow. */
enum status tiff_layout_read(TIFF *tiff, const struct reader_options *options, struct tiff_layout *layout,
                             struct error *error);

/* Another handle on the page that `of` is at, for threads of their own. Refuses a file that was changed
 * since. */
enum status tiff_layout_reopen(struct tiff_file *file, const struct tiff_file *of,
                               const struct tiff_layout *layout, struct error *error);

/* Size, channels, alpha and type of what the page will be read as; `wide_palette`: its colours need 16 bits.
 */
void tiff_layout_describe(TIFF *tiff, const struct tiff_layout *layout, bool wide_palette,
                          struct image_info *info);

#endif
