/* Pixels on the host as a file holds them, and what files say about them. */
#ifndef CLIMG_IMAGE_IMAGE_H
#define CLIMG_IMAGE_IMAGE_H

#include "base/error.h"
#include "image/metadata/metadata.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sample_type {
    SAMPLE_UINT8,
    SAMPLE_UINT16,
    SAMPLE_UINT32,
    SAMPLE_HALF,    /* IEEE 754 binary16 */
    SAMPLE_FLOAT,   /* IEEE 754 binary32 */
    SAMPLE_COMPLEX, /* two binary32: real, imaginary */
    SAMPLE_INT8,    /* signed; full scale is the largest value */
    SAMPLE_INT16,
    SAMPLE_INT32,
};

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
    int compression;       /* of the TIFF it came from (COMPRESSION_...), 0 where there was none */
    const char *page_name; /* TIFF's PageName or NULL; belongs to the metadata's owner */
    struct metadata metadata;
};

/* Bytes of one sample, one pixel, one row without padding. */
size_t sample_size(enum sample_type type);
size_t pixel_size(const struct image_info *info);
size_t row_size(const struct image_info *info);

/* Sample number `index` as the chain takes it. Of SAMPLE_COMPLEX each is two floats, which are samples. */
double sample_value(enum sample_type type, const void *samples, size_t index);

bool sample_is_float(enum sample_type type);
bool sample_is_signed(enum sample_type type); /* integers */

/* The largest value of integers, which is 1 to the chain; of floats 1. */
double sample_full_scale(enum sample_type type);

/* "8 bit", "float". */
const char *sample_name(enum sample_type type);

/* Refuses an image of no size, or with more pixels than `max_pixels`. */
enum status check_image_size(uint64_t width, uint64_t height, uint64_t max_pixels, struct error *error);

#endif
