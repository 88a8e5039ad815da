/* Description of one page of an image file: the layout of its samples in memory, how the file stored them,
 * and its metadata. */
#ifndef CLIMG_IMAGE_IMAGE_H
#define CLIMG_IMAGE_IMAGE_H

#include "base/error.h"
#include "image/metadata/metadata.h"
#include "image/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Chroma subsampling of a JPEG. */
enum subsampling {
    SUBSAMPLING_UNKNOWN, /* no JPEG, or another kind. As an option: not given */
    SUBSAMPLING_AUTO,    /* only an option, as if not given: the input's; if unknown, by the quality */
    SUBSAMPLING_444,
    SUBSAMPLING_422,
    SUBSAMPLING_420,
};

/* The place of a page in a video. A frame is a page of luma (Y) and, unless the video is gray, a page of
 * chroma: two channels, Cb and Cr, without alpha, which may be smaller than luma. */
struct video {
    const char *header; /* the stream's first line; NULL unless the file is a video. Belongs to the reader */
    const char *frame;  /* the line before the frame; belongs to the reader */
    int part;           /* 0: luma, 1: chroma */
    int parts;          /* pages of a frame, 1 or 2; 0: no video */
    int across, down;   /* a chroma sample covers across x down luma samples */
    double left, top; /* chroma siting: offset of the first chroma sample from the first luma sample, in luma
                         samples */
};

/* Samples are in the host's byte order, channels interleaved, rows from top to bottom. Channels: 1 gray,
 * 2 gray and alpha, 3 RGB, 4 RGB and alpha. */
struct image_info {
    uint32_t width, height; /* pixels, at least 1 */
    int channels;           /* 1 to 4 */
    bool alpha;             /* the last channel is alpha */
    bool premultiplied;     /* colour is already multiplied by alpha (TIFF's associated alpha) */
    enum sample_type type;
    enum colour_model colour_model; /* of the file; readers convert samples to RGB or gray, and keep this */
    bool approximate;               /* it is CMYK without a usable profile; the reader has warned */
    double white[2];                /* x and y of the reference white of L*a*b*; 0: D50 */
    /* The fields from here to page_name describe the file that was read. */
    int bits;           /* significant bits of its samples if `type` has more, such as 12; else 0 */
    bool palette;       /* its pixels are palette indices, which the reader has replaced by colours */
    bool inverted;      /* its 0 is white: the reader has inverted gray, but not alpha */
    int compression;    /* libtiff's COMPRESSION_...; 0: not a TIFF */
    int predictor;      /* libtiff's PREDICTOR_...; 0: not a TIFF, or the codec has none */
    int quality;        /* of a JPEG's luma tables, 1 to 100; 0: not a JPEG */
    int colour_quality; /* of a JPEG's chroma tables; equal to `quality` if it has none */
    enum subsampling subsampling;
    bool lossless;         /* a WebP without loss */
    char coding[48];       /* how its samples are coded, for --info: "LZW", "quality 90, 4:2:0"; or "" */
    const char *checksums; /* verified by reading: "CRC-32 and Adler-32"; NULL: none */
    const char *page_name; /* TIFF's PageName or NULL; not owned */
    struct video video;
    /* Set by reader_reduce; 0: not reduced. One pixel is the mean of `reduction` x `reduction` pixels of the
     * file, whose size is full_width x full_height. */
    int reduction;
    uint32_t full_width, full_height;
    struct metadata metadata;
};

/* Returns the bytes of one pixel. */
static inline size_t pixel_size(const struct image_info *info)
{
    return sample_size(info->type) * (size_t)info->channels;
}

/* Returns the bytes of one row without padding. */
static inline size_t row_size(const struct image_info *info)
{
    return pixel_size(info) * info->width;
}

#endif
