/* PNG, ISO/IEC 15948. Every variant is read: palettes, 1 to 16 bits, tRNS, interlaced ones.
 *
 *     reading   chunks.c ─▶ metadata_read.c, texts.c ─▶ pixels.c, filter.c ─▶ reader.c
 *                           header, metadata            rows                  interlace
 *     writing   metadata_write.c; writer.c, filter.c ─▶ IDAT chunks on threads (image/parts.c)
 *
 * libpng is not used: ISA-L inflates twice as fast as its zlib, and each of its versions drops other metadata
 * and refuses other profiles.
 *
 * Private to src/image/png; the Makefile collects format_png (image/format.h). Each struct belongs to one
 * thread at a time. */
#ifndef CLIMG_IMAGE_PNG_PNG_H
#define CLIMG_IMAGE_PNG_PNG_H

#include "base/error.h"
#include "image/codec.h"
#include "image/metadata/metadata.h"
#include "image/parts.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* Big-endian numbers of 4 bytes, as all numbers of PNG are stored. */
static inline uint32_t png_get_number(const unsigned char *bytes)
{
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return be32toh(number);
}

static inline void png_put_number(unsigned char *bytes, uint32_t number)
{
    number = htobe32(number);
    memcpy(bytes, &number, sizeof number);
}

/* Numbers in chunks. */
enum {
    PNG_COLOUR = 2, /* bit of RGB in the colour type */
    PNG_ALPHA = 4,  /* bit of alpha */
    PNG_GRAY = 0,   /* colour types */
    PNG_RGB = PNG_COLOUR,
    PNG_PALETTE = 3,
    PNG_GRAY_ALPHA = PNG_GRAY | PNG_ALPHA,
    PNG_RGB_ALPHA = PNG_RGB | PNG_ALPHA,
    PNG_PER_METRE = 1, /* pHYs is in pixels per metre; 0: it is a ratio */
};
static const double PNG_FRACTION = 100000; /* unit of gAMA and cHRM: 1 / 100000 */
static const uint32_t PNG_NUMBER_MAX = 0x7fffffff;

/* ---------------- chunks.c */

/* The chunk that is being read. Set `file` and zero the rest; the file is after the signature. */
struct png_chunk {
    FILE *file;    /* the caller's */
    char name[5];  /* ends in NUL */
    uint32_t left; /* bytes of its data that were not read yet */
    uint32_t crc;  /* of the name and the data that were read */
};

/* Reads the length and the name of the next chunk. Fails for critical chunks that climg does not know. */
enum status png_chunk_next(struct png_chunk *chunk, struct error *error);

/* Reads data, at most chunk->left bytes. */
enum status png_chunk_read(struct png_chunk *chunk, void *to, size_t size, struct error *error);

/* Skips the rest of the data, and reads the CRC. If it is wrong, fails for a critical chunk, and sets
 * *is_damaged for an optional one. */
enum status png_chunk_end(struct png_chunk *chunk, bool *is_damaged, struct error *error);

/* Fails because the CRC is wrong. */
enum status png_chunk_fail(const struct png_chunk *chunk, struct error *error);

bool png_chunk_is_optional(const struct png_chunk *chunk);

/* Member of struct format: see image/format.h. */
enum status png_examine(FILE *file, struct metadata *notes, struct error *error);

/* ---------------- filter.c
 *
 * PNG's row filters (ISO/IEC 15948, section 9) replace each byte by its difference from a prediction.
 *
 *     above-left  above            left = the same byte of the pixel before
 *     left        (this byte)      above = of the row before, zeros for the first row
 */

/* The filter's number, which precedes each row in the file. */
enum png_filter {
    ROW_FILTER_NONE,
    ROW_FILTER_SUB,
    ROW_FILTER_UP,
    ROW_FILTER_AVERAGE,
    ROW_FILTER_PAETH,
    ROW_FILTER_COUNT
};

struct png_row {
    const unsigned char *bytes, *above; /* the row, and the row before it */
    size_t size;                        /* bytes of a row */
    size_t pixel_size;                  /* bytes of a pixel */
};

/* Writes the filter's number and `size` filtered bytes to `to`, which must not overlap the rows. Only for
 * ROW_FILTER_NONE and ROW_FILTER_PAETH: choosing the best of all filters for each row would not make
 * photographs smaller, and flat graphics only by a tenth. */
void png_filter_row(enum png_filter filter, const struct png_row *row, unsigned char *to);

/* Counts the zeros among `size` bytes, and the aligned groups of eight equal bytes (`runs`): measures of how
 * well run-length coding would compress them. */
void png_count_runs(const unsigned char *bytes, size_t size, size_t *zeros, size_t *runs);

/* Reverses a filter. row->bytes are filtered, row->above is not. `to` may be row->bytes. Pixels have 1, 2, 3,
 * 4, 6 or 8 bytes. */
void png_unfilter_row(enum png_filter filter, const struct png_row *row, unsigned char *to);

/* ---------------- metadata_read.c, texts.c */

/* The header of a PNG: what IHDR says, how samples become pixels, and the state while chunks are read. */
struct png_header {
    uint32_t width, height;
    int bits, colour_type; /* of a sample; PNG_GRAY ... */
    bool is_interlaced;
    bool has_transparency;   /* tRNS becomes alpha */
    uint16_t transparent[3]; /* gray or RGB: the samples of transparent pixels */
    /* If has_table, the pixels of palettes, of gray below 8 bits, and of gray of 8 bits with tRNS, by the
     * value of the sample: red, green, blue and alpha; or gray and alpha. */
    bool has_table;
    unsigned colours; /* of the palette */
    unsigned char table[256][4];

    struct metadata *metadata; /* set by the caller; filled in from the chunks */
    struct error *error;       /* of png_header_read */
    size_t used;               /* bytes of the chunks that were inflated or copied */
    size_t budget;             /* bytes that further chunks may take when they are inflated */
    bool has_memory_limit;     /* the budget is what --memory-limit leaves, less than the default */
    uint64_t seen;             /* chunk types so far: bits 1 << index in chunk_types of metadata_read.c */
    bool has_error;            /* png_header_reserve has filled in `error` */
};

/* Reads the chunks up to the data of the first IDAT. `memory` limits the bytes of all chunks after inflating;
 * 0: only the default limit, more than any honest file needs. */
enum status png_header_read(struct png_chunk *chunk, struct png_header *header, uint64_t memory,
                            struct error *error);

/* Subtracts `size` from the budget. Returns false if it is more than the budget; then the metadata notes that
 * chunks are left out, or if --memory-limit is the reason, fills in the error and sets has_error. */
bool png_header_reserve(struct png_header *header, size_t size);

/* Notes that a chunk after the pixels is left out. */
void png_metadata_note_trailing(struct metadata *trailing, const char *name);

/* The data of a chunk. */
struct png_data {
    const char *name;
    const unsigned char *data;
    size_t size; /* bytes */
};

/* Adds the text of a tEXt, zTXt or iTXt chunk. A chunk that is damaged or too large is left out and noted. */
enum status png_parse_text(struct png_header *header, const struct png_data *chunk);

/* Inflates the zlib stream in a chunk, within the budget, and appends a NUL, which inflated->size does not
 * count. The caller frees inflated->data. It is NULL if the stream is damaged, or too large, which is noted.
 */
enum status png_inflate_chunk(struct png_header *header, const unsigned char *bytes, size_t size,
                              struct blob *inflated);

/* ---------------- pixels.c
 *
 * Inflates, unfilters and expands the rows of a picture, or of one pass of an interlaced picture. */

struct png_pixels;

/* Begins to read the data of the first IDAT. Header and chunk must stay valid until png_pixels_close. Returns
 * NULL if out of memory. */
struct png_pixels *png_pixels_open(const struct png_header *header, struct png_chunk *chunk,
                                   struct error *error);

/* Begins the picture or a pass of this size, at least one pixel. */
void png_pixels_begin(struct png_pixels *pixels, uint32_t width, uint32_t height);

/* Reads the next `count` rows to `data`, `pitch` bytes apart. */
enum status png_pixels_read(struct png_pixels *pixels, void *data, size_t pitch, uint32_t count,
                            struct error *error);

/* After the last row: reads and checks the rest of the file. What is left out is noted in `trailing`. */
enum status png_pixels_end(struct png_pixels *pixels, struct metadata *trailing, struct error *error);

/* Frees the struct, not the file. NULL is allowed. */
void png_pixels_close(struct png_pixels *pixels);

/* ---------------- writer.c
 *
 * Encodes a PNG in segments, which are the parts of image/parts.h. Each segment is filtered and deflated
 * alone, and becomes an IDAT chunk. */

/* Writes the data as an IDAT chunk, or as several if one cannot hold it. */
typedef enum status (*png_emit)(void *context, const unsigned char *data, size_t size, struct error *error);

struct png_idat {
    int level;    /* zlib's */
    int strategy; /* zlib's; Z_RLE: the best one for each segment */
    enum png_filter filter;
    size_t row_size, pixel_size; /* bytes */
    uint32_t height;             /* rows */
    bool swap;                   /* the host's 16-bit samples have the other byte order than the file's */
    size_t segment_size;         /* maximum filtered bytes of a segment of several rows; 0: the default */
    int jobs;                    /* threads, 1 to THREADS_MAX */
    uint64_t memory;             /* limit in bytes for all segments, at least one segment; 0: no limit */
    png_emit emit;               /* called by the caller's thread only */
    void *context;               /* of emit */
    uint32_t adler;              /* Adler-32 of the filtered bytes of all emitted segments */
};

/* Opens the parts that encode the rows. `idat` must stay valid until parts_close. NULL on failure. */
struct parts *png_idat_open(struct png_idat *idat, struct error *error);

extern const unsigned char png_signature[SIGNATURE_SIZE]; /* a file's first bytes */

/* ---------------- reader.c */

extern const struct reader_class png_reader_class;

/* ---------------- metadata_write.c */

/* Member of struct format: true if libpng accepts the profile in a PNG of that number of channels. */
bool png_holds_icc(const struct blob *icc, int channels);

/* Returns the profile's own size, which is in its first four bytes; bytes after it are padding. */
size_t png_icc_size(const struct blob *icc);

/* Writes a chunk with its checksum. */
enum status png_chunk_write(FILE *file, const char *name, const void *data, size_t size, struct error *error);

/* Writes the chunks between IHDR and IDAT. */
enum status png_metadata_write(FILE *file, const struct image_info *info, struct error *error);

/* Member of struct format: true if the text's key can be a keyword, 1 to 79 characters of Latin-1. */
bool png_holds_text(const struct text_entry *text);

/* Callback `leave_out` of struct format. */
void png_leave_out(struct image_info *info);

#endif
