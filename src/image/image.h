/* Pixels on the host as a file holds them, and what files say about them. */
#ifndef CLIMG_IMAGE_IMAGE_H
#define CLIMG_IMAGE_IMAGE_H

#include "base/error.h"
#include "image/metadata/metadata.h"
#include "image/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Samples are in the host's byte order, channels interleaved, rows from top to bottom. Channels: 1 gray,
 * 2 gray and alpha, 3 RGB, 4 RGB and alpha. */
struct image_info {
    uint32_t width, height; /* pixels, at least 1 */
    int channels;           /* 1 to 4 */
    bool alpha;             /* the last channel is alpha */
    bool premultiplied;     /* colour is already multiplied by alpha (TIFF's associated alpha) */
    enum sample_type type;
    int bits;              /* of a sample in the file that was read, where the type has more; else 0 */
    bool palette;          /* the file's pixels are numbers of colours */
    bool inverted;         /* the file's 0 is white, and its largest value 0 here; but for alpha */
    int compression;       /* of the TIFF it came from (COMPRESSION_...), 0 where there was none */
    const char *page_name; /* TIFF's PageName or NULL; belongs to the metadata's owner */
    struct metadata metadata;
};

/* Bytes of one pixel, one row without padding. */
size_t pixel_size(const struct image_info *info);
size_t row_size(const struct image_info *info);

/* Refuses an image of no size, or with more pixels than `max_pixels`. */
enum status check_image_size(uint64_t width, uint64_t height, uint64_t max_pixels, struct error *error);

#endif
