/* PNG, ISO/IEC 15948: gray and RGB, with or without alpha, 8 and 16 bit, and 1-bit gray. Palettes and samples
 * of fewer bits are expanded when they are read.
 *
 *     reading   reader.c ─▶ metadata_read.c ───────────▶ pixels.c, filter.c ─▶ reader.c
 *               libpng      chunks before pixels         inflates, unfilters   rows
 *     writing   metadata_write.c; writer.c, filter.c ─▶ IDAT chunks on threads (image/strips.c)
 *
 * Private to src/image/png; the Makefile collects format_png (image/format.h). Each struct belongs to one
 * thread at a time. */
#ifndef CLIMG_IMAGE_PNG_PNG_H
#define CLIMG_IMAGE_PNG_PNG_H

#include "base/error.h"
#include "image/codec.h"
#include "image/metadata/metadata.h"
#include "image/strips.h"

#include <png.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

/* ---------------- reader.c
 *
 * Runs libpng in steps that return a status; no other file calls longjmp. libpng parses IHDR and tRNS, and
 * decodes pixels that need conversion; it passes all other chunks, also PLTE, to metadata_read.c. */

struct png_session {
    png_structp png;
    png_infop info;
    struct error *error;       /* of the current step */
    struct reader *reader;     /* chunks after the pixels are noted in its `trailing` */
    struct metadata *metadata; /* the reader's, filled in from the chunks before the pixels */
    size_t budget;             /* bytes that further chunks may take when they are inflated */
    bool has_memory_limit;     /* the budget is what --memory-limit leaves, less than the default */
    uint64_t seen;             /* chunk types so far: bits 1 << index in chunk_types of metadata_read.c */
    bool has_wrong_crc;        /* the current chunk is damaged */
    bool has_error;            /* a callback has filled in `error` */
    bool out_of_memory;        /* an allocation of libpng failed */
    size_t read_limit;         /* bytes that libpng may still read; SIZE_MAX: no limit */
    bool is_beyond_limit;      /* libpng tried to read more than that */
    /* The last eight bytes that libpng read at once: after png_read_info, the head of the first IDAT. */
    unsigned char last_header[8];
};

/* Subtracts `size` from the budget. If `size` is more, returns false, and either notes in the metadata that
 * chunks are left out or, if --memory-limit is the reason, fills in the error and sets has_error. */
bool png_session_reserve_budget(struct png_session *session, size_t size);

/* Member of struct format: see image/format.h. */
enum status png_examine(FILE *file, struct metadata *trailing, struct error *error);

extern const struct reader_class png_reader_class;

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

/* ---------------- pixels.c
 *
 * Reads the rows of a PNG whose samples need no conversion: not interlaced, no palette, 8 or 16 bit, no tRNS.
 * libpng reads the chunks before the first IDAT, pixels.c the rest of the file: ISA-L inflates twice as fast
 * as libpng's zlib. */

/* Reads `size` bytes; fails if the file has fewer. */
enum status png_read_bytes(FILE *file, void *bytes, size_t size, struct error *error);

struct png_pixels;

/* Begins to read from reader->file, which is at the data of the first IDAT, `size` bytes. reader->info
 * describes the rows; reader->trailing receives notes about chunks after them. The reader must stay valid
 * until png_pixels_close. Returns NULL if out of memory. */
struct png_pixels *png_pixels_open(struct reader *reader, uint32_t size, struct error *error);

/* Reads the next `count` rows to `data`, `pitch` bytes apart. */
enum status png_pixels_read(struct png_pixels *pixels, void *data, size_t pitch, uint32_t count,
                            struct error *error);

/* After the last row: reads and checks the rest of the file. Its chunks are left out and noted. */
enum status png_pixels_end(struct png_pixels *pixels, struct error *error);

/* Frees the struct, not the file. NULL is allowed. */
void png_pixels_close(struct png_pixels *pixels);

/* ---------------- writer.c
 *
 * Encodes a PNG in segments, strips of rows (image/strips.h). Each segment is filtered and deflated
 * alone, and becomes an IDAT chunk. */

/* Writes the data as an IDAT chunk, or as several if one cannot hold it. */
typedef enum status (*png_emit)(void *context, const unsigned char *data, size_t size, struct error *error);

struct png_encoder {
    int level;    /* zlib's */
    int strategy; /* zlib's; with Z_RLE each segment chooses one (choose_strategy) */
    enum png_filter filter;
    size_t row_size, pixel_size; /* bytes */
    uint32_t height;             /* rows */
    bool swap;                   /* the host's 16-bit samples have the other byte order than the file's */
    size_t segment_size; /* a segment has as many rows as fit into these filtered bytes, at least one; 0: the
                            default */
    int jobs;            /* threads, 1 to THREADS_MAX */
    uint64_t memory;     /* limit in bytes for all segments, at least one segment; 0: no limit */
    png_emit emit;       /* called by the caller's thread only */
    void *context;       /* of emit */
    uint32_t adler;      /* Adler-32 of the filtered bytes of all emitted segments */
};

/* Opens the strips to which rows are written. `encoder` must stay valid until strips_close. NULL on failure.
 */
struct strips *png_encoder_open(struct png_encoder *encoder, struct error *error);

extern const unsigned char png_signature[SIGNATURE_SIZE]; /* a file's first bytes */

/* ---------------- metadata_read.c */

/* In a step, before png_read_info: makes libpng pass chunks to metadata_read.c, which fills in the reader's
 * metadata, and notes the chunks after the pixels in its `trailing`. options.memory limits the bytes of all
 * chunks after inflating; 0: only the default limit, more than any honest file needs. */
void png_metadata_register(struct png_session *session, struct reader *reader);

/* The warning that IDAT inflates to far more than the rows. */
#define PNG_SURPLUS "has more image data than its header says, which is left out"

/* Notes that a chunk after the pixels is left out. */
void png_metadata_note_trailing(struct metadata *trailing, const char *name);

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

/* Callback `note_left_out` of struct format. */
void png_note_left_out(struct image_info *info);

#endif
