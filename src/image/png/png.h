/* PNG: declarations that the files of this folder share. */
#ifndef CLIMG_IMAGE_PNG_PNG_H
#define CLIMG_IMAGE_PNG_PNG_H

#include "base/error.h"
#include "image/codec.h"
#include "image/metadata/metadata.h"
#include "image/parts.h"

#include <png.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

/* ---------------- session.c
 *
 * Reading with libpng: its errors become statuses, and only session.c knows of longjmp. libpng reads the
 * header and tRNS, and decodes pixels that need conversion; all other chunks go to metadata_read.c as they
 * are. */

struct png_session {
    png_structp png;
    png_infop info;
    struct error *error;       /* of the current step */
    struct metadata *metadata; /* filled in from the chunks before the pixels */
    struct metadata *trailing; /* notes about chunks after the pixels */
    size_t room;               /* bytes that further chunks may unpack to */
    bool short_of_memory;      /* --memory-limit leaves less room than any honest file needs */
    uint64_t seen;             /* the kinds of chunks so far: a bit each, in metadata_read.c's order */
    bool damaged;              /* the current chunk has a wrong CRC */
    bool failed;               /* a callback has filled in `error` */
    bool out_of_memory;        /* an allocation of libpng failed */
    bool limited;              /* libpng may read only `left` more bytes */
    size_t left;               /* bytes */
    bool surplus;              /* libpng tried to read more than that */
    unsigned char
        header[8]; /* the last eight bytes that libpng read at once: length and name of the first IDAT */
};

/* The session must not move afterwards. Call png_session_close also after a failure. */
enum status png_session_open(struct png_session *session, FILE *file, struct error *error);

/* Frees libpng's structs. May be called on a session that is all zero. Does not close the file. */
void png_session_close(struct png_session *session);

/* Subtracts `size` from `room`. Returns false if there is not enough; then the metadata notes that chunks are
 * left out. If --memory-limit is the reason, `failed` is set and the error filled in. */
bool png_session_reserve_budget(struct png_session *session, size_t size);

/* Runs a step. Every call of libpng that can fail belongs in one. If libpng fails, the step does not return:
 * its local variables must not be the only pointers to allocated memory. */
typedef enum status (*png_step)(void *context, struct error *error);
enum status png_session_run(struct png_session *session, png_step step, void *context, struct error *error);

/* ---------------- filter.c
 *
 * PNG's row filters (ISO/IEC 15948, section 9) replace each byte by its difference from a prediction.
 *
 *     above-left  above            left = the same byte of the pixel before
 *     left        (this byte)      above = of the row before, zeros for the first row
 */

/* The numbers in the file. */
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
    size_t step;                        /* bytes of a pixel */
};

/* Writes the filter's number and `size` filtered bytes to `to`, which must not overlap the rows. Only for
 * ROW_FILTER_NONE and ROW_FILTER_PAETH: the best filter for each row would not make photographs smaller, and
 * flat graphics only by a tenth. */
void png_filter_row(enum png_filter filter, const struct png_row *row, unsigned char *to);

/* Counts the zeros among `size` bytes, and the aligned groups of eight bytes of one value: measures of how
 * well runs would be compressed. */
void png_count_runs(const unsigned char *bytes, size_t size, size_t *zeros, size_t *eights);

/* Reverses a filter: row->bytes are filtered, row->above is not. `to` may be row->bytes. Pixels have 1, 2, 3,
 * 4, 6 or 8 bytes. */
void png_unfilter_row(enum png_filter filter, const struct png_row *row, unsigned char *to);

/* ---------------- pixels.c
 *
 * The rows of a PNG whose samples need no conversion: not interlaced, no palette, 8 or 16 bit, no tRNS.
 * libpng reads the chunks before them; from the first IDAT on the file is read here, as ISA-L inflates twice
 * as fast as the zlib in libpng. */

/* Reads `size` bytes; fails if the file ends before. */
enum status png_read_bytes(FILE *file, void *bytes, size_t size, struct error *error);

struct png_pixels;

struct png_pixels_options {
    FILE *file;                /* at the first byte of the first IDAT's data */
    uint32_t first_idat_size;  /* bytes of that IDAT's data */
    size_t row_size;           /* bytes of a row */
    size_t pixel_size;         /* bytes of a pixel: 1, 2, 3, 4, 6 or 8 */
    uint32_t row_count;        /* of the image */
    struct metadata *trailing; /* takes notes about chunks after the pixels */
    bool swap;                 /* exchange the bytes of 16-bit samples */
};

/* Begins to read. Returns NULL if memory is out. The caller frees the struct with png_pixels_close. */
struct png_pixels *png_pixels_open(const struct png_pixels_options *options, struct error *error);

/* Reads the next `count` rows to `data`, `pitch` bytes apart. */
enum status png_pixels_read(struct png_pixels *pixels, void *data, size_t pitch, uint32_t count,
                            struct error *error);

/* Reads and checks the rest of the file, after the last row. Its chunks are left out and noted. */
enum status png_pixels_end(struct png_pixels *pixels, struct error *error);

/* Frees the struct, which may be NULL. Does not close the file. */
void png_pixels_close(struct png_pixels *pixels);

/* ---------------- writer.c
 *
 * Encodes a PNG in the parts of image/parts.h. Each part is filtered and deflated by itself, and becomes an
 * IDAT chunk. */

/* Writes the data as a chunk, or as several if one cannot hold it. */
typedef enum status (*png_emit)(void *context, const unsigned char *data, size_t size, struct error *error);

struct png_idat {
    int level;    /* zlib's */
    int strategy; /* zlib's; Z_RLE: each part gets the strategy that suits it */
    enum png_filter filter;
    size_t row_size, pixel_size; /* bytes */
    uint32_t height;             /* rows */
    bool swap;                   /* the host's 16-bit samples have the other byte order than the file's */
    size_t segment_size;         /* filtered bytes of a part, roughly; 0: the default */
    int jobs;                    /* threads, 1 to THREADS_MAX */
    uint64_t memory;             /* limit in bytes for all parts, at least one part; 0: no limit */
    png_emit emit;               /* called by the caller's thread only */
    void *context;               /* of emit */
    uint32_t adler;              /* of what was emitted */
};

/* Opens the parts that encode the rows; the struct must stay as long as they do. NULL on failure. */
struct parts *png_idat_open(struct png_idat *idat, struct error *error);

/* format.examine */
enum status png_examine(FILE *file, struct metadata *notes, struct error *error);

extern const unsigned char png_signature[SIGNATURE_SIZE]; /* a file's first bytes */

/* ---------------- reader.c */

extern const struct reader_class png_reader_class;

/* ---------------- metadata_read.c, texts.c */

/* In a step, before png_read_info: libpng will pass chunks to metadata_read.c, which fills in `metadata`, and
 * notes in `trailing` the chunks after the pixels. Neither may move until the file is read. All chunks
 * together may unpack to `memory` bytes; 0: to the default, more than any honest file needs. */
void png_metadata_expect(struct png_session *session, struct metadata *metadata, struct metadata *trailing,
                         uint64_t memory);

/* A warning: there is far more image data than rows. */
#define PNG_SURPLUS "has more image data than its header says, which is left out"

/* Notes a chunk after the pixels, which is left out. */
void png_metadata_note_trailing(struct metadata *trailing, const char *name);

/* Adds the text of a tEXt, zTXt or iTXt chunk. A chunk that is damaged or too large is left out and noted. */
enum status png_text_take(struct png_session *session, const png_unknown_chunk *chunk);

/* Unpacks a zlib stream of a chunk and appends a NUL. The caller frees unpacked->data. It is NULL if the
 * stream is damaged, or too large, which is noted. */
enum status png_metadata_unpack(struct png_session *session, const unsigned char *bytes, size_t size,
                                struct blob *unpacked);

/* ---------------- metadata_write.c */

/* A number of four letters, as it is read from a file. */
#define LETTERS(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* True if a PNG of that number of channels may have the profile. */
bool png_icc_is_valid(const struct blob *icc, int channels);

/* Returns the profile's own size, which is in its first four bytes; bytes after it are padding. */
size_t png_icc_size(const struct blob *icc);

/* Writes a chunk with its checksum. */
enum status png_put_chunk(FILE *file, const char *name, const void *data, size_t size, struct error *error);

/* Writes the chunks between IHDR and IDAT. */
enum status png_metadata_write(FILE *file, const struct image_info *info, struct error *error);

/* True if PNG has a place for a text: its keyword is 1 to 79 characters of Latin-1. */
bool png_metadata_holds(const struct text_entry *text);

#endif
