/* Reading images, row after row. Palette, 1/2/4-bit samples and tRNS arrive expanded. */
#ifndef CLIMG_IMAGE_READER_H
#define CLIMG_IMAGE_READER_H

#include "image/format.h"

#include <stdio.h>

struct reader;

/* Opens a file, or stdin for "-", finds its format by its first bytes (never by its name) and reads the
 * header of the first page that is asked for. On failure *reader is NULL. Messages begin with the file's
 * name, or "standard input".
 */
enum status reader_open(const char *path, const struct reader_options *options, struct reader **reader,
                        struct error *error);

/* The current page. It belongs to the reader and is valid until reader_next_page or reader_close. */
const struct image_info *reader_info(const struct reader *reader);
const struct format *reader_format(const struct reader *reader);

/* The file's name, or "standard input", as messages have it. It belongs to the reader. */
const char *reader_name(const struct reader *reader);

/* The number of pages in the file, without TIFF's reduced copies and masks. 0: unknown before they are read.
 */
int reader_page_count(const struct reader *reader);

/* The number of pages that the options ask for. 0: unknown before they are read. */
int reader_pages_wanted(const struct reader *reader);

/* Bytes that reading the current page takes: all of an interlaced PNG, a row of TIFF's tiles. */
uint64_t reader_memory(const struct reader *reader);

/* Reads the next `count` rows of the page to `rows`, `pitch` bytes apart. Asking for more rows than are left
 * is a programming error. */
enum status reader_read(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error);

/* Passes over the next `count` rows, of which the file need not be read where its format can do without.
 * Others are decoded to `scratch`. */
enum status reader_skip(struct reader *reader, void *scratch, size_t pitch, uint32_t count,
                        struct error *error);

/* Goes back to the page's first row, of which nothing may have been read ahead; false: it cannot, or its rows
 * would be decoded again. */
bool reader_go_back(struct reader *reader);

/* True if the current page's rows need no decoding, only copying. */
bool reader_is_plain(const struct reader *reader);

/* After the page's last row: left_out and warning (the rest is empty) say what follows the pixels and is not
 * read. Of a pipe only what has arrived is looked at. */
const struct metadata *reader_trailing_warnings(struct reader *reader);

/* True if some samples lost precision when they became floats of 32 bits. */
bool reader_rounded(const struct reader *reader);

/* The smallest and the largest finite value of colour in all pages that are asked for, as the chain takes
 * them; 0 and 0 if no value is finite. Reads all pages and begins again: reader_options.rewinds must be set.
 */
enum status reader_measure(struct reader *reader, double *low, double *high, struct error *error);

/* Decodes all pages that are asked for, to find damage. */
enum status reader_pass(struct reader *reader, struct error *error);

/* The same, and then writes the file's bytes as they are. For lossy formats, with
 * reader_options.copies. */
enum status reader_copy(struct reader *reader, FILE *to, struct error *error);

/* Decodes the page's first rows into at most `size` bytes of memory while go_on(context) is true. reader_read
 * then returns these rows, or the failure that ended them. */
void reader_prefetch(struct reader *reader, size_t size, bool (*go_on)(void *context), void *context);

/* After the last row of a page: begins the next one; *more is false after the last one. */
enum status reader_next_page(struct reader *reader, bool *more, struct error *error);

void reader_close(struct reader *reader);

#endif
