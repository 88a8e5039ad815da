/* Pixels on the host as a file holds them, and what files say about them. */
#ifndef CLIMG_IMAGE_IMAGE_H
#define CLIMG_IMAGE_IMAGE_H

#include "base/error.h"
#include "image/metadata/metadata.h"
#include "image/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Resolution of the two colour differences of a JPEG. */
enum subsampling {
    SUBSAMPLING_UNKNOWN, /* JPEG: as the input, or else by the quality */
    SUBSAMPLING_AUTO,    /* the same, as the user may say it */
    SUBSAMPLING_444,
    SUBSAMPLING_422,
    SUBSAMPLING_420,
};

/* A frame of video: a page of brightness and, unless it is gray, one of its two colour differences (alpha is
 * false), which may be smaller. */
struct video {
    const char *header; /* the stream's first line; NULL: the page is a picture. Belongs to the reader */
    const char *frame;  /* the line before the frame */
    int part, parts;    /* the page's number in the frame, and the frame's pages */
    int across, down;   /* pixels of brightness for one of the colour differences */
    double left, top;   /* position of the first sample of colour, in pixels right of and below the first of
                           brightness */
};

/* Samples are in the host's byte order, channels interleaved, rows from top to bottom. Channels: 1 gray,
 * 2 gray and alpha, 3 RGB, 4 RGB and alpha. */
struct image_info {
    uint32_t width, height; /* pixels, at least 1 */
    int channels;           /* 1 to 4 */
    bool alpha;             /* the last channel is alpha */
    bool premultiplied;     /* colour is already multiplied by alpha (TIFF's associated alpha) */
    enum sample_type type;
    int bits;                     /* of a sample in the file that was read, where the type has more; else 0 */
    bool palette;                 /* the file's pixels are numbers of colours */
    bool inverted;                /* the file's 0 is white, and its largest value 0 here; but for alpha */
    int compression;              /* of the TIFF it came from (COMPRESSION_...), 0 if there was none */
    int predictor;                /* of that compression (PREDICTOR_...), 0 if it has none */
    int quality;                  /* of the JPEG it came from, 1 to 100; 0: there was none */
    int colour_quality;           /* quality of the tables for colour; equal to quality without such tables */
    enum subsampling subsampling; /* the same */
    const char *page_name;        /* TIFF's PageName or NULL; belongs to the metadata's owner */
    struct video video;
    struct metadata metadata;
};

/* Bytes of one pixel. */
static inline size_t pixel_size(const struct image_info *info)
{
    return sample_size(info->type) * (size_t)info->channels;
}

/* Bytes of one row, without padding. */
static inline size_t row_size(const struct image_info *info)
{
    return pixel_size(info) * info->width;
}

#endif
