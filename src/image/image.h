/* A page of a file: the layout of its samples on the host, what the file says of them, and its metadata. */
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
    SUBSAMPLING_UNKNOWN, /* --subsampling is not given: the input's, or else by the quality */
    SUBSAMPLING_AUTO,    /* --subsampling auto: the same */
    SUBSAMPLING_444,
    SUBSAMPLING_422,
    SUBSAMPLING_420,
};

/* A frame of video: a page of brightness and, unless it is gray, one of its two colour differences (alpha is
 * false), which may be smaller. */
struct video {
    const char *header; /* the stream's first line; NULL: the page is a picture. Belongs to the reader */
    const char *frame;  /* the line before the frame */
    int part,
        parts; /* the page's number in the frame, from 0, and the number of pages of a frame; 0: no video */
    int across, down; /* a pixel of the colour differences covers across x down pixels of brightness */
    double left, top; /* position of the first sample of colour, in pixels right of and below the first of
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
    enum colour_model colour_model; /* of the file; reader_info has RGB or gray */
    double white[2];                /* x and y of the white of L*a*b*; 0: D50 */
    /* The next seven describe the file that was read. */
    int bits;                     /* bits of its samples, if `type` has more; else 0 */
    bool palette;                 /* its pixels are indices into a palette */
    bool inverted;                /* its 0 is white, which became full scale; alpha is as it was */
    int compression;              /* of a TIFF, libtiff's COMPRESSION_...; 0: another format */
    int predictor;                /* of that compression, libtiff's PREDICTOR_...; 0: it has no predictor */
    int quality;                  /* of a JPEG, 1 to 100; 0: another format */
    int colour_quality;           /* quality of the tables for colour; equal to quality without such tables */
    enum subsampling subsampling; /* of a JPEG */
    bool lossless;                /* a WebP that was compressed without loss */
    const char *page_name;        /* TIFF's PageName or NULL; belongs to the metadata's owner */
    struct video video;
    /* After reader_reduce: a pixel is the mean of `reduction` x `reduction` pixels of the file, which has
     * full_width x full_height. All 0: not reduced. */
    int reduction;
    uint32_t full_width, full_height;
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
