/* TIFF by libtiff. Sources: TIFF 6.0, Adobe's TIFF Technical Notes 1 to 3, BigTIFF, EXIF 2.3, libtiff's
 * pages.
 *
 *     reading   file.c ─▶ layout.c ─▶ rows.c, inflate.c ─▶ convert.c ─▶ reader.c
 *               libtiff   tags        strips, threads      types        pages, rows
 *               file.c ─▶ image/ifd.c ─▶ metadata_read.c
 *     writing   writer.c, metadata_write.c ─▶ strips on threads (image/strips.c) ─▶ file.c
 *
 * Private to src/image/tiff; the Makefile collects format_tiff (image/format.h). Each struct belongs to one
 * thread at a time; threads that decode strips have a libtiff handle each. Functions that return a status
 * fill in the error; messages do not name the file, which image/reader.c adds. */
#ifndef CLIMG_IMAGE_TIFF_TIFF_H
#define CLIMG_IMAGE_TIFF_TIFF_H

#include "base/error.h"
#include "image/codec.h"
#include "image/format.h"
#include "image/ifd.h"
#include "image/strips.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tiffio.h>

/* ---------------- file.c: a libtiff handle on an open file, and its messages */

/* The bytes of a file in memory; struct tiff_file has their number. */
struct tiff_memory {
    unsigned char *bytes; /* owned by the caller */
    size_t capacity;      /* bytes allocated */
};

/* A libtiff handle. The struct must not move while it is open, as libtiff keeps its address. */
struct tiff_file {
    TIFF *tiff;     /* NULL: closed */
    int descriptor; /* the caller's; read by pread, so that handles can share it; -1 with memory */
    struct tiff_memory *memory; /* receives what is written; NULL: the descriptor does */
    uint64_t position;          /* libtiff's offset in the file, bytes */
    uint64_t size;              /* of the file, bytes */

    /* The current directory. */
    uint64_t directory;   /* offset; 0: none yet */
    struct blob filtered; /* what libtiff reads at that offset: a directory of only the tags that it needs */

    /* The part of the file that was last read for tags. */
    unsigned char window[4096];
    uint64_t window_at; /* offset in the file */
    size_t window_size; /* valid bytes */

    /* Errors. The first one of each kind is kept. */
    int read_error;     /* errno, or 0 */
    int write_error;    /* errno, or 0 */
    bool out_of_memory; /* in libtiff */
    bool broken_lines;  /* lines of a fax are damaged; libtiff continues after them */
    char message[256];  /* libtiff's, or "" */
};

/* TIFFOpen's mode: do not map the file (m), read no directory yet (h), do not chop strips into smaller ones
 * (c), and read the offsets and sizes of strips when they are needed (D). */
#define TIFF_FILE_READ "rmDhc"

/* Opens a handle with TIFFOpen's `mode`. The descriptor stays the caller's, who has flushed its own writes,
 * and calls tiff_file_close or tiff_file_abandon, also after a failure. */
enum status tiff_file_open(struct tiff_file *file, int descriptor, const char *mode, struct error *error);

/* Opens a handle that writes a new file to memory, to be closed by tiff_file_abandon. The caller frees
 * memory->bytes, which may be reused for another file. */
enum status tiff_file_open_memory(struct tiff_file *file, struct tiff_memory *memory, const char *mode,
                                  struct error *error);

/* Writes libtiff's buffers and directory, then closes. Sets write_error if that fails. If libtiff ran out of
 * memory before, writes nothing and leaks the handle, as TIFFClose would crash. A closed file is allowed. */
void tiff_file_close(struct tiff_file *file);

/* Closes without writing. A closed file is allowed. */
void tiff_file_abandon(struct tiff_file *file);

/* Read or write bytes at an offset, without libtiff. False if not all bytes could be read or written; then
 * read_error or write_error is set, unless the file ended. */
bool tiff_file_read_at(struct tiff_file *file, uint64_t offset, void *to, size_t size);
bool tiff_file_write_at(struct tiff_file *file, uint64_t offset, const void *from, size_t size);

/* Reading: makes the directory at this offset the current one. */
enum status tiff_file_set_directory(struct tiff_file *file, uint64_t directory, struct error *error);

/* True for the tags of the directory that libtiff reads. `size` is the bytes of the value. */
bool tiff_tag_is_for_libtiff(uint16_t tag, uint64_t size);

/* Returns the current directory for image/ifd.h, with all tags; libtiff reads the filtered directory. */
struct ifd tiff_file_ifd(struct tiff_file *file);

/* Reads the value of a tag of the current directory whose elements are bytes, and appends a NUL, which
 * value->size does not count. The caller frees value->data. It is NULL if the tag is missing, empty or of
 * other elements; if it cannot be read, which tiff_file_check_reading reports; or if the value has more than
 * 16 MiB, which the metadata notes as left out. */
enum status tiff_file_bytes(struct tiff_file *file, uint16_t tag, struct blob *value,
                            struct metadata *metadata, struct error *error);

/* Returns the name of a tag, or its number: "ICC Profile", "tag 65000". Valid until the next call in this
 * thread. */
const char *tiff_file_tag_name(const struct tiff_file *file, uint16_t tag);

/* Fails if a read failed or memory ran out: then a tag that seems to be missing may exist. */
enum status tiff_file_check_reading(const struct tiff_file *file, struct error *error);

/* Return STATUS_FAILED, with the file's first error as the message. */
enum status tiff_file_fail_reading(const struct tiff_file *file, struct error *error);
enum status tiff_file_fail_writing(const struct tiff_file *file, struct error *error);

/* ---------------- layout.c: how a TIFF page stores its samples, and their types in image.h */

struct tiff_layout {
    uint32_t width, height; /* pixels */
    uint16_t bits;          /* of a sample in the file; of a complex sample: both parts */
    uint16_t samples;       /* per pixel in the file */
    uint16_t photometric;   /* PHOTOMETRIC_... */
    uint16_t compression;   /* COMPRESSION_... */
    uint16_t format;        /* SAMPLEFORMAT_... */
    bool separate;          /* each channel is a plane of its own (PLANARCONFIG_SEPARATE) */
    bool tiled;             /* in tiles, not strips */
    bool needs_rgba;        /* YCbCr that only libtiff's RGBA interface converts */
    enum colour_model colour_model;
    bool palette;      /* samples are indices into ColorMap */
    bool inverted;     /* unsigned integers of which 0 is white */
    uint64_t row_size; /* bytes of a decoded row, all samples interleaved, no padding but to a byte */
};

/* Reads the tags of the current directory. Refuses layouts that climg does not read, with a message that says
 * what to do, and pages that are larger than the options allow. */
enum status tiff_layout_read(struct tiff_file *file, const struct reader_options *options,
                             struct tiff_layout *layout, struct error *error);

/* Opens another handle on the current page of `opened`, for a thread. Fails if the file has changed. */
enum status tiff_layout_reopen(struct tiff_file *file, const struct tiff_file *opened,
                               const struct tiff_layout *layout, struct error *error);

/* Swaps the bytes of each sample in place; `size` is in bytes. */
void tiff_layout_swap(const struct tiff_layout *layout, unsigned char *samples, size_t size);

/* Describes converted rows (size, channels, alpha, type) and how the file stores them. `wide_palette`:
 * colours need 16 bits. */
void tiff_layout_describe(TIFF *tiff, const struct tiff_layout *layout, bool wide_palette,
                          struct image_info *info);

/* ---------------- convert.c: converts decoded samples to the types of image.h */

/* A lookup table by the value of a sample: of a palette the colour (RGB), else the sample in 8 or 16 bits. */
struct tiff_table {
    unsigned char *entries; /* 1 << bits of them, owned; NULL: samples are whole bytes and need no table */
    size_t entry_size;      /* bytes: 3 or 6 of a palette, else 1 or 2 */
    bool wide_palette;      /* RGB of 16 bits, as 8 would lose precision */
};

/* Computes the table for palettes and for samples that do not fill whole bytes; other layouts get none. The
 * caller frees table->entries, also after a failure. */
enum status tiff_table_make(TIFF *tiff, const struct tiff_layout *layout, struct tiff_table *table,
                            struct error *error);

/* True if a decoded row has the size and type of image.h, so that it can be decoded into the caller's memory.
 * It may still have to be inverted. */
bool tiff_row_is_final(const struct tiff_layout *layout, const struct tiff_table *table);

/* True if a decoded row has samples that 32-bit floats cannot represent exactly, except full scale. */
bool tiff_row_rounds(const struct tiff_layout *layout, const unsigned char *row);

/* Converts one row. `from` may be `to` if tiff_row_is_final. */
void tiff_row_convert(const struct tiff_layout *layout, const struct tiff_table *table,
                      const struct image_info *info, const unsigned char *from, unsigned char *to);

/* ---------------- inflate.c
 *
 * Decodes strips and tiles that are compressed by deflate, with ISA-L, undoes their predictor and compares
 * their checksums. libtiff does not compare checksums, as it stops at the last byte that it needs. */

struct tiff_inflater;

/* Opens a decoder for the current page of the file; file and layout must stay valid. NULL on failure. */
struct tiff_inflater *tiff_inflate_open(struct tiff_file *file, const struct tiff_layout *layout,
                                        struct error *error);

/* Frees the decoder. NULL is allowed. */
void tiff_inflate_close(struct tiff_inflater *inflater);

/* Begins a strip or tile; `number` is libtiff's. */
void tiff_inflate_begin(struct tiff_inflater *inflater, uint32_t number);

/* Decodes the next rows of the strip or tile, `size` bytes: whole rows without padding, samples in the host's
 * byte order. Returns false if they are damaged, and sets file->message; or if they cannot be read, and sets
 * file->read_error. */
bool tiff_inflate_rows(struct tiff_inflater *inflater, unsigned char *to, size_t size);

/* After the last row: compares the checksum of the strip or tile. Returns false, as tiff_inflate_rows does,
 * if it is wrong or cannot be read. */
bool tiff_inflate_end(struct tiff_inflater *inflater);

/* ---------------- rows.c
 *
 * Decodes the rows of a TIFF page, perhaps on several threads: pixels interleaved, samples as in the file,
 * but in the host's byte order. */

struct tiff_rows;

/* Opens the rows of the file's current page. File and layout must stay valid until tiff_rows_close, which the
 * caller calls also after a failure. */
enum status tiff_rows_open(struct tiff_file *file, const struct tiff_layout *layout,
                           const struct reader_options *options, struct tiff_rows **rows,
                           struct error *error);

/* Returns the bytes of memory that the rows take. */
uint64_t tiff_rows_memory(const struct tiff_rows *rows);

/* Decodes the next rows to memory, `pitch` bytes apart. */
enum status tiff_rows_fetch(struct tiff_rows *rows, uint32_t count, unsigned char *to, size_t pitch,
                            struct error *error);

/* Skips rows. False if rows are decoded in order; strips and uncompressed rows are found by number. */
bool tiff_rows_skip(struct tiff_rows *rows, uint32_t count);

/* Goes back to the first row. False unless the page is uncompressed. */
bool tiff_rows_rewind(struct tiff_rows *rows);

/* Waits for the threads and frees everything. NULL is allowed. */
void tiff_rows_close(struct tiff_rows *rows);

/* ---------------- metadata_read.c, metadata_write.c: metadata of a TIFF page */

/* Reads the current page's metadata into a zeroed struct, which the caller frees even on failure. */
enum status tiff_metadata_read(struct tiff_file *file, struct metadata *metadata, struct error *error);

/* Sets the metadata tags of the page that is being written, after its layout tags, before or after its
 * pixels. Copies all values. */
enum status tiff_metadata_write(struct tiff_file *file, const struct metadata *metadata, struct error *error);

/* Reads a text tag of the current page as UTF-8. The caller frees *text, which is NULL if the tag is absent
 * or empty. A text that is too long is noted as left out of the metadata. */
enum status tiff_text_read(struct tiff_file *file, uint16_t tag, char **text, struct metadata *metadata,
                           struct error *error);

/* Text tags and their keys in struct metadata. */
struct tiff_text_tag {
    uint16_t tag;    /* of TIFF 6.0 or EXIF */
    const char *key; /* PNG's registered keyword if there is one */
};
enum { TIFF_TEXT_TAGS = 8 };
extern const struct tiff_text_tag tiff_text_tags[TIFF_TEXT_TAGS];

/* Characters of texts and their references in GDAL's XML. Parsers read a literal CR as LF. */
enum { TIFF_XML_REFERENCES = 6 };
extern const char tiff_xml_characters[TIFF_XML_REFERENCES + 1];
extern const char *const tiff_xml_references[TIFF_XML_REFERENCES];

/* Tags that only TIFF can store, and that are copied unchanged; in the form that libtiff registers. */
enum { TIFF_EXTRA_FIELDS = 19 };
extern const TIFFFieldInfo tiff_extra_fields[TIFF_EXTRA_FIELDS];

/* Returns the field of a tag, or NULL if the tag is not copied. */
const TIFFFieldInfo *tiff_extra_field(uint32_t tag);

/* Returns the bytes of one element of a type that tiff_extra_fields uses. */
size_t tiff_extra_element_size(TIFFDataType type);

#define INCHES_PER_METRE (1 / 0.0254)

/* ---------------- reader.c */

/* The directories of a TIFF that are pages. */
struct tiff_pages {
    uint64_t *directories;   /* offsets in the file, one per page; owned */
    int count;               /* at least 1 */
    uint32_t non_page_types; /* FILETYPE_... bits of all directories that are no pages */
    bool broken;             /* the last link leads to no readable directory, or back */
};

/* Finds the pages, in a zeroed struct. The caller calls tiff_pages_free, also after a failure. */
enum status tiff_pages_find(struct tiff_file *file, struct tiff_pages *pages, struct error *error);

void tiff_pages_free(struct tiff_pages *pages);

extern const struct reader_class tiff_reader_class;

#endif
