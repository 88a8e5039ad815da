/* Reads images, row after row. Samples arrive in the host's byte order with whole bytes: palettes, samples of
 * 1, 2 and 4 bits and PNG's tRNS are expanded. Pixels are as they are stored; the orientation is in the
 * metadata.
 *
 *     reader_open ─▶ reader_info ─▶ reader_read, until all rows are read ─▶ reader_next_page ─▶ ... ─▶ close
 *
 * Thread safety: a reader is used by one thread at a time. Several readers may be open. */
#ifndef CLIMG_IMAGE_READER_H
#define CLIMG_IMAGE_READER_H

#include "image/format.h"

#include <stdio.h>

struct reader;

/* Opens a file, or stdin for "-", finds its format by its first bytes (never by its name) and reads the
 * header of the first page to read. On failure *reader is NULL. Messages begin with the file's name, or
 * "standard input". */
enum status reader_open(const char *path, const struct reader_options *options, struct reader **reader,
                        struct error *error);

/* Opens another reader for the file of `reader`, also if that was a pipe: its reader_options.reopens must
 * have been set. `reader` is unchanged, and may be decoding in another thread. On failure *again is NULL. */
enum status reader_open_again(const struct reader *reader, const struct reader_options *options,
                              struct reader **again, struct error *error);

/* Returns the properties of the current page. They belong to the reader and are valid until reader_next_page
 * or reader_close. */
const struct image_info *reader_info(const struct reader *reader);
const struct format *reader_format(const struct reader *reader);

/* Returns the file's name for messages, or "standard input". It belongs to the reader. */
const char *reader_name(const struct reader *reader);

/* Returns the number of pages in the file, without TIFF's reduced copies and masks. 0: unknown before they
 * are read. */
int reader_page_count(const struct reader *reader);

/* Returns the number of pages to read, by the options. 0: unknown before they are read. */
int reader_pages_wanted(const struct reader *reader);

/* Returns the bytes of memory that reading the current page takes: all rows of an interlaced PNG, or one row
 * of TIFF's tiles. */
uint64_t reader_memory(const struct reader *reader);

/* Before the first row is read: decodes a JPEG at 1/2, 1/4 or 1/8 (`factor` is 2, 4 or 8), and changes size
 * and reduction in reader_info. Other formats and the factor 1 change nothing. */
void reader_reduce(struct reader *reader, int factor);

/* Reads the next `count` rows of the page to `rows`, `pitch` bytes apart. Asking for more rows than are left
 * is a programming error. */
enum status reader_read(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error);

/* Skips the next `count` rows. If the format must decode them for that, they are decoded to `scratch`. */
enum status reader_skip(struct reader *reader, void *scratch, size_t pitch, uint32_t count,
                        struct error *error);

/* Goes back to the page's first row. False: the file cannot seek, rows were prefetched, or they would have to
 * be decoded again. */
bool reader_go_back(struct reader *reader);

/* True if the current page's rows need no decoding, only copying. */
bool reader_is_uncompressed(const struct reader *reader);

/* Returns warnings about data after the page's last row, which is not read: left_out and warning; the other
 * fields are empty. Of a pipe only data that has arrived is examined. */
const struct metadata *reader_trailing_warnings(struct reader *reader);

/* True if some samples lost precision when they became floats of 32 bits. */
bool reader_rounded(const struct reader *reader);

/* Finds the smallest and the largest finite value of colour in all pages to read; integers are divided by
 * their full scale. Both are 0 if no value is finite. Reads the pages and rewinds to the first one:
 * reader_options.rewinds must be set. */
enum status reader_measure(struct reader *reader, double *low, double *high, struct error *error);

/* Begins again at the first page to read. reader_options.rewinds must be set. */
enum status reader_rewind(struct reader *reader, struct error *error);

/* Decodes all pages to read, to find damage. */
enum status reader_decode_all(struct reader *reader, struct error *error);

/* Examines what reading leaves out: checksums of other data than pixels, and the end of the file, on
 * which reader_trailing_warnings reports. Call it after the last row; reader_options.rewinds must be set. */
enum status reader_examine(struct reader *reader, struct error *error);

/* Decodes all pages, to find damage, and then writes the file's bytes as they are. For lossy formats;
 * reader_options.copies must be set. */
enum status reader_copy(struct reader *reader, FILE *to, struct error *error);

/* Decodes the page's first rows into at most `size` bytes of memory while go_on(context) is true. reader_read
 * then returns these rows, or the failure that ended them. */
void reader_prefetch(struct reader *reader, size_t size, bool (*go_on)(void *context), void *context);

/* Begins the next page, after the last row of the current one. *more is false if there is none. */
enum status reader_next_page(struct reader *reader, bool *more, struct error *error);

void reader_close(struct reader *reader);

#endif
