/* The rows of a TIFF page, decoded as they are asked for: pixels interleaved, samples as the file has them
 * but in the host's byte order. Holds one strip or one row of tiles at the most. */
#ifndef CLIMG_IMAGE_TIFF_ROWS_H
#define CLIMG_IMAGE_TIFF_ROWS_H

#include "image/tiff/file.h"
#include "image/tiff/layout.h"

struct tiff_rows {
    struct tiff_file *file;
    const struct tiff_layout *layout;
    enum status (*fetch)(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                         size_t pitch, struct error *error);
    uint32_t band_height; /* rows of a strip or a tile */
    uint32_t band_index;  /* of the one in `band`; UINT32_MAX: none */
    unsigned char *band;  /* rows of layout->row bytes */
    unsigned char *block; /* one tile or one plane of a strip */
    uint32_t tile_width;
    uint64_t memory; /* bytes of both */
};

/* Both structs must stay until tiff_rows_end, which is fine to call on a zeroed struct. */
enum status tiff_rows_begin(struct tiff_rows *rows, struct tiff_file *file, const struct tiff_layout *layout,
                            struct error *error);

/* Whether they are decoded in bands: strips, or rows of tiles. */
bool tiff_rows_are_bands(const struct tiff_rows *rows);

/* Rows must be asked for from top to bottom. */
enum status tiff_rows_fetch(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                            size_t pitch, struct error *error);

/* Whether rows come straight from the file. */
bool tiff_rows_are_plain(const struct tiff_rows *rows);

/* Bytes that are kept beside the caller's. */
uint64_t tiff_rows_memory(const struct tiff_rows *rows);

void tiff_rows_end(struct tiff_rows *rows);

/* The way of uncompressed strips, which need no libtiff to be read: straight from the file. */
bool tiff_rows_are_raw(const struct tiff_rows *rows);
enum status tiff_rows_fetch_raw(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                                size_t pitch, struct error *error);

/* Puts `rows` rows of `pixels` pixels of `size` bytes to places `stride` bytes apart. */
void tiff_place(unsigned char *to, size_t to_pitch, size_t stride, const unsigned char *from,
                size_t from_pitch, size_t size, size_t pixels, uint32_t rows);

#endif
