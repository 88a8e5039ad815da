/* Reads images row by row, as samples of whole bytes in the host's byte order. Palettes, samples of 1, 2 and
 * 4 bits and PNG's tRNS are expanded; CMYK and L*a*b* become RGB. Rows are in the order of the file: the
 * orientation tag is in the metadata.
 *
 *     reader_open ─▶ page, reader_next_page ─▶ page, ... ─▶ reader_close
 *                    page: reader_info, then reader_read until all rows are read
 *
 * Thread safety: a reader is used by one thread at a time. Several readers may be open. */
#ifndef CLIMG_IMAGE_READER_H
#define CLIMG_IMAGE_READER_H

#include "image/format.h"

#include <stdio.h>

struct reader;

/* Opens a file, or stdin for "-", recognises its format by its first bytes (never by its name), and reads the
 * header of the first page to read. On failure *reader is NULL. Messages begin with the file's name, or
 * "standard input". */
enum status reader_open(const char *path, const struct reader_options *options, struct reader **reader,
                        struct error *error);

/* Opens a second reader of the file that `reader` reads, perhaps in another thread. `reader` must have been
 * opened with reader_options.reopens; its file may be a pipe. On failure *again is NULL. */
enum status reader_open_again(const struct reader *reader, const struct reader_options *options,
                              struct reader **again, struct error *error);

/* Returns the description of the current page, which the reader owns. Valid until reader_next_page, _rewind
 * or _close. */
const struct image_info *reader_info(const struct reader *reader);

/* Returns the format of the file. */
const struct format *reader_format(const struct reader *reader);

/* Returns the file's path, or "standard input". Belongs to the reader. */
const char *reader_name(const struct reader *reader);

/* Returns the number of pages in the file, not counting TIFF's reduced copies and masks. 0: unknown. */
int reader_page_count(const struct reader *reader);

/* Returns the number of pages to read by the options. 0: unknown. */
int reader_pages_to_read(const struct reader *reader);

/* Returns the bytes that the reader allocates for the current page, such as all rows of an interlaced PNG,
 * and for prefetched rows. */
uint64_t reader_memory(const struct reader *reader);

/* Decodes a JPEG at 1/2, 1/4 or 1/8 of its size (`factor` is 2, 4 or 8) and updates reader_info. Call it
 * before the first row is read. Does nothing for other formats and the factor 1. */
void reader_reduce(struct reader *reader, int factor);

/* Reads the next `count` rows of the page to `rows`, `pitch` bytes apart. The page must have at least `count`
 * rows left. */
enum status reader_read(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error);

/* Skips the next `count` rows. If the format cannot skip, decodes them to `scratch`, `pitch` bytes apart. */
enum status reader_skip(struct reader *reader, void *scratch, size_t pitch, uint32_t count,
                        struct error *error);

/* Seeks to the first row of an uncompressed page. Returns false if the page is compressed, the file
 * cannot seek, or rows were prefetched. */
bool reader_rewind_page(struct reader *reader);

/* True if rows of the current page need no decoding, so that reading them again is cheap. */
bool reader_is_uncompressed(const struct reader *reader);

/* True if the page is uncompressed and no row of it is missing in the file: reading a row fails only if the
 * file cannot be read or changes. */
bool reader_is_complete(const struct reader *reader);

/* After the last row: returns warnings about data after the picture. Only the fields left_out and
 * warning are set. Does not wait for data of a pipe. */
const struct metadata *reader_trailing_warnings(struct reader *reader);

/* Returns a part of the file that is not read, such as "the other frames"; NULL: none is known so far. */
const char *reader_unread(const struct reader *reader);

/* The value of "climg" in the description of a file of wavelet coefficients (chain/coefficients.h). */
#define COEFFICIENTS_MARKER "dual-tree complex wavelet coefficients"

/* True if the page is the lowpass at the start of a file of wavelet coefficients. */
bool reader_has_coefficients(const struct reader *reader);

/* True if some samples lost precision in the conversion to 32-bit floats. */
bool reader_rounded(const struct reader *reader);

/* Finds the smallest and the largest finite value of all colour channels (not alpha) in all pages to read,
 * and rewinds. Integers are divided by their full scale. Both are 0 if no value is finite.
 * reader_options.rewinds must be set. */
enum status reader_measure(struct reader *reader, double *low, double *high, struct error *error);

/* Seeks to the first page to read. reader_options.rewinds must be set. */
enum status reader_rewind(struct reader *reader, struct error *error);

/* Decodes all pages to read and discards their pixels, to find damage. Extends the range from *low to *high
 * by the finite colour values; both may be NULL. */
enum status reader_decode_all(struct reader *reader, double *low, double *high, struct error *error);

/* After the last row: verifies checksums that reading skips, such as CRCs of metadata, and looks for data
 * after the end, which reader_trailing_warnings reports. reader_options.rewinds must be set. */
enum status reader_examine(struct reader *reader, struct error *error);

/* Decodes all pages to find damage, and then copies the file's bytes. For lossy formats;
 * reader_options.copies must be set. */
enum status reader_copy(struct reader *reader, FILE *to, struct error *error);

/* Decodes the page's first rows into at most `size` bytes of memory while go_on(context) is true. Later,
 * reader_read returns these rows first; if decoding failed, it fails after them. */
void reader_prefetch(struct reader *reader, size_t size, bool (*go_on)(void *context), void *context);

/* Begins the next page, after the last row of the current one. *more is false after the last page. */
enum status reader_next_page(struct reader *reader, bool *more, struct error *error);

/* Frees the reader and closes its file. May be called with NULL. */
void reader_close(struct reader *reader);

#endif
