/* TIFF by libtiff: what the files of this folder share. */
#ifndef CLIMG_IMAGE_TIFF_TIFF_H
#define CLIMG_IMAGE_TIFF_TIFF_H

#include "base/error.h"
#include "image/codec.h"
#include "image/format.h"
#include "image/ifd.h"
#include "image/parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tiffio.h>

/* ---------------- file.c: a handle of libtiff's on an open file, and its messages */

struct tiff_memory {
    unsigned char *bytes;
    size_t size, room;
};

struct tiff_file {
    TIFF *tiff; /* NULL: closed */
    int descriptor;
    struct tiff_memory *memory; /* what is written goes there; NULL: to the descriptor */
    uint64_t position;          /* libtiff's; the descriptor's own offset never moves */
    uint64_t size;              /* bytes */
    uint64_t directory;         /* offset of the current one; 0: none yet */
    struct blob shown;          /* the bytes that libtiff reads there: only the tags that it needs */
    unsigned char window[4096]; /* bytes of the file that were read last for its tags */
    uint64_t window_at;
    size_t window_size;
    int read_error;  /* errno of the first read that failed, or 0 */
    int write_error; /* errno of the first write that failed, or 0 */
    bool out_of_memory;
    bool broken_lines; /* a fax has some; libtiff goes on after them */
    char message[256]; /* libtiff's first error, or "" */
};

/* TIFFOpen's mode: without mapping (m), no directory is read at once (h), strips are not chopped into smaller
 * ones (c), and their offsets and sizes are read when they are needed (D). */
#define TIFF_FILE_READ "rmDhc"

/* `mode` is TIFFOpen's. The struct must not move while the file is open. The caller owns the descriptor and
 * has flushed what it wrote there. */
enum status tiff_file_open(struct tiff_file *file, int descriptor, const char *mode, struct error *error);

/* The same of a file in memory that is only written, and closed by tiff_file_abandon. The caller frees
 * memory->bytes. */
enum status tiff_file_open_memory(struct tiff_file *file, struct tiff_memory *memory, const char *mode,
                                  struct error *error);

/* Writes what libtiff still holds. A closed file is fine. */
void tiff_file_close(struct tiff_file *file);

/* Closes without writing. */
void tiff_file_abandon(struct tiff_file *file);

/* False if not all bytes could be read or written. */
bool tiff_file_read_at(struct tiff_file *file, uint64_t offset, void *to, size_t size);
bool tiff_file_write_at(struct tiff_file *file, uint64_t offset, const void *from, size_t size);

/* Makes the directory at this offset the current one, in a file that is read. */
enum status tiff_file_set_directory(struct tiff_file *file, uint64_t directory, struct error *error);

/* A source of the file's bytes, and the offset of the current directory. */
void tiff_file_ifd(struct tiff_file *file, struct ifd_source *source, uint64_t *ifd);

/* Reads the value of a tag of the current directory whose elements are bytes, and appends a NUL, which
 * value->size does not count. The caller frees value->data. It is NULL if there is no such tag, and if the
 * value has more than 16 MiB; then the metadata notes that it is left out. */
enum status tiff_file_bytes(struct tiff_file *file, uint16_t tag, struct blob *value,
                            struct metadata *metadata, struct error *error);

/* Notes that a tag is left out, as "ICC Profile" or "tag 65000". */
void tiff_file_leave_out(struct tiff_file *file, uint16_t tag, struct metadata *metadata);

/* STATUS_FAILED if a read failed or memory ran out: then a tag that libtiff did not find may be there. */
enum status tiff_file_io_error(const struct tiff_file *file, struct error *error);

/* STATUS_FAILED, with libtiff's first error as the reason. */
enum status tiff_file_format_error(const struct tiff_file *file, struct error *error);
enum status tiff_file_not_written(const struct tiff_file *file, struct error *error);

/* ---------------- layout.c: how a TIFF page stores its samples, and what they become */

struct tiff_layout {
    uint32_t width, height;
    uint16_t bits;    /* of a sample in the file */
    uint16_t samples; /* a pixel in the file */
    uint16_t photometric, compression, format;
    bool separate; /* each channel is a plane of its own */
    bool tiled;    /* in tiles, not strips */
    bool rgba;     /* YCbCr that only libtiff's RGBA interface converts */
    bool palette;  /* samples are numbers of colours */
    bool inverted; /* 0 is white */
    uint64_t row;  /* bytes of a decoded row, all samples interleaved */
};

/* Reads the tags of the current directory. Refuses layouts that climg does not read, with a message that says
 * what to do, and pages that are larger than the options allow. */
enum status tiff_layout_read(struct tiff_file *file, const struct reader_options *options,
                             struct tiff_layout *layout, struct error *error);

/* Opens another handle on the current page of `of`, for a thread. Refuses a file that has changed. */
enum status tiff_layout_reopen(struct tiff_file *file, const struct tiff_file *of,
                               const struct tiff_layout *layout, struct error *error);

/* Turns samples of the other byte order into the host's. */
void tiff_layout_swap(const struct tiff_layout *layout, unsigned char *samples, size_t size);

/* Fills in size, channels, alpha and type of the rows that the page gives. `wide_palette`: its colours need
 * 16 bits. */
void tiff_layout_describe(TIFF *tiff, const struct tiff_layout *layout, bool wide_palette,
                          struct image_info *info);

/* ---------------- convert.c: converts decoded samples to those that image.h describes */

/* The colour of the palette, or the gray value, for each value of a sample. */
struct tiff_table {
    unsigned char *entries; /* NULL: samples are whole bytes already */
    size_t entry_size;      /* bytes */
    bool wide_palette;      /* RGB of 16 bits, as 8 would lose something */
};

/* Makes a table for palettes and for samples that do not fill whole bytes. The caller frees table->entries.
 */
enum status tiff_table_make(TIFF *tiff, const struct tiff_layout *layout, struct tiff_table *table,
                            struct error *error);

/* True if rows can be decoded straight into the caller's memory. */
bool tiff_row_is_final(const struct tiff_layout *layout, const struct tiff_table *table);

/* True if a decoded row has samples that 32-bit floats do not hold exactly. */
bool tiff_row_rounds(const struct tiff_layout *layout, const unsigned char *row);

/* Converts one row. `from` may be `to` where tiff_row_is_final. */
void tiff_row_convert(const struct tiff_layout *layout, const struct tiff_table *table,
                      const struct image_info *info, const unsigned char *from, unsigned char *to);

/* ---------------- inflate.c
 *
 * Decodes strips and tiles that are compressed by deflate, with ISA-L, and undoes their predictor. libtiff
 * does not compare their checksums, as it stops at the last byte that it needs. */

struct tiff_inflate;

/* For the current page of the file; both must stay. NULL on failure. */
struct tiff_inflate *tiff_inflate_open(struct tiff_file *file, const struct tiff_layout *layout,
                                       struct error *error);
void tiff_inflate_close(struct tiff_inflate *inflate);

/* Callers begin a strip or tile, read its rows in one or several calls (samples in the host's byte order, no
 * padding), and end it after the last row, which compares the checksum. On false file->message says what is
 * wrong. */
void tiff_inflate_begin(struct tiff_inflate *inflate, uint32_t number);
bool tiff_inflate_rows(struct tiff_inflate *inflate, unsigned char *to, size_t size);
bool tiff_inflate_end(struct tiff_inflate *inflate);

/* ---------------- rows.c
 *
 * Decodes the rows of a TIFF page: pixels interleaved, samples as the file has them, but in the host's byte
 * order. "Strip" also means a row of tiles here. */

enum { TIFF_PLANES = 4 };

enum tiff_rows_way {
    TIFF_ROWS_RAW,     /* uncompressed strips: any rows are read from the file */
    TIFF_ROWS_IN_TURN, /* tall strips: rows are decoded a few at a time, from the first to the last */
    TIFF_ROWS_STRIPS   /* others: whole strips are decoded (prefetch.c) */
};

struct tiff_rows {
    struct tiff_file *file;
    const struct tiff_layout *layout;
    uint32_t strip_height, tile_width; /* a strip is a tile as wide as the image */
    enum tiff_rows_way way;
    struct tiff_inflate
        *inflate[TIFF_PLANES]; /* of deflate: one, or one for each plane of TIFF_ROWS_IN_TURN */
    unsigned char *block;      /* a tile, or rows of one plane */
    uint32_t block_rows;       /* as many as tiff_rows_fetch reads at once */
    uint64_t memory;           /* bytes of the block */
};

/* `file` and `layout` must stay until tiff_rows_end, which accepts a zeroed struct. */
enum status tiff_rows_begin(struct tiff_rows *rows, struct tiff_file *file, const struct tiff_layout *layout,
                            struct error *error);

/* Number of strips of a plane, and of rows of this strip. */
uint32_t tiff_rows_strip_count(const struct tiff_rows *rows);
uint32_t tiff_rows_of_strip(const struct tiff_rows *rows, uint32_t number);

/* For TIFF_ROWS_STRIPS: decodes a strip to `to`, in rows of layout->row bytes. */
enum status tiff_rows_strip(struct tiff_rows *rows, uint32_t number, unsigned char *to, struct error *error);

/* For the other ways. Callers ask for rows from top to bottom. */
enum status tiff_rows_fetch(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                            size_t pitch, struct error *error);

void tiff_rows_end(struct tiff_rows *rows);

/* Copies `rows` rows of `pixels` pixels of `size` bytes each to places `stride` bytes apart. */
void tiff_place(unsigned char *to, size_t to_pitch, size_t stride, const unsigned char *from,
                size_t from_pitch, size_t size, size_t pixels, uint32_t rows);

/* ---------------- prefetch.c
 *
 * The strips of a page of TIFF_ROWS_STRIPS. Several threads decode them prefetch, each with a libtiff handle
 * of its own on the file:
 *
 *     file ─▶ handle, tiff_rows ─▶ strip k     ─▶ fetch ─▶ caller
 *          ─▶ handle, tiff_rows ─▶ strip k + 1
 *          ─▶ ...
 *
 * One strip is decoded at a time, by the caller, where threads gain nothing: the page is small, uncompressed
 * or a single strip, or memory is short. */

struct tiff_prefetch;

/* *ahead receives NULL for the other ways. `rows` are those of the page and must stay. */
enum status tiff_prefetch_open(struct tiff_rows *rows, const struct reader_options *options,
                               struct tiff_prefetch **prefetch, struct error *error);

/* Bytes of memory; 0 for NULL. */
uint64_t tiff_prefetch_memory(const struct tiff_prefetch *prefetch);

/* Callers ask for rows from top to bottom. */
enum status tiff_prefetch_fetch(struct tiff_prefetch *prefetch, uint32_t first, uint32_t count,
                                unsigned char *to, size_t pitch, struct error *error);

/* Waits for the threads. NULL is fine. */
void tiff_prefetch_close(struct tiff_prefetch *prefetch);

/* ---------------- metadata_read.c, metadata_write.c: metadata of a TIFF page */

/* Into a zeroed struct, which the caller frees even on failure. */
enum status tiff_metadata_read(struct tiff_file *file, struct metadata *metadata, struct error *error);

/* The tags of the page under way, whose layout is set; before its pixels or after them. */
enum status tiff_metadata_write(struct tiff_file *file, const struct metadata *metadata, struct error *error);

/* A text tag of the current page as UTF-8, which the caller frees; *text is NULL when it is absent or empty.
 * A text that is too long is noted as left out of the metadata. */
enum status tiff_text_read(struct tiff_file *file, uint16_t tag, char **text, struct metadata *metadata,
                           struct error *error);

/* Tables for reading and writing. */

struct tiff_text_tag {
    uint16_t tag;    /* of TIFF 6.0 or EXIF */
    const char *key; /* PNG's registered keyword where there is one */
};
enum { TIFF_TEXT_TAGS = 8 };
extern const struct tiff_text_tag tiff_text_tags[TIFF_TEXT_TAGS];

/* Tags that only TIFF has a place for, and that are kept as they are: as libtiff wants to know them. */
enum { TIFF_EXTRA_FIELDS = 17 };
extern const TIFFFieldInfo tiff_extra_fields[TIFF_EXTRA_FIELDS];

/* May return NULL. */
const TIFFFieldInfo *tiff_extra_field(uint32_t tag);

/* Bytes of an element of one of them. */
size_t tiff_extra_unit(TIFFDataType type);

/* Inches in a metre. */
#define TIFF_INCHES (1 / 0.0254)

/* ---------------- reader.c */

/* The directories of a TIFF that are pages. */
struct tiff_pages {
    uint64_t *directories; /* offsets, one for each page */
    int count;             /* at least 1 */
    uint32_t others;       /* FILETYPE_ bits of all directories that are no pages */
    bool broken;           /* the last link leads to no further directory */
};

/* Follows the links from directory to directory. The caller calls tiff_pages_free, after a failure, too. */
enum status tiff_pages_find(struct tiff_file *file, struct tiff_pages *pages, struct error *error);

void tiff_pages_free(struct tiff_pages *pages);

extern const struct reader_class tiff_reader_class;

#endif
