/* Reading images, row after row. Palette, 1/2/4-bit samples and tRNS arrive expanded. */
#ifndef CLIMG_IMAGE_READER_H
#define CLIMG_IMAGE_READER_H

#include "image/format.h"

struct reader;

/* Opens a file, or stdin for "-", finds out what it is by its first bytes (never by its name) and reads the
 * first (or the asked-for) page's header. On failure *reader is NULL. Messages start with the file's name
 * ("standard input" for "-"). */
enum status reader_open(const char *path, const struct reader_options *options, struct reader **reader,
                        struct error *error);

/* Of the current page; belongs to the reader and lives until reader_next_page or reader_close. */
const struct image_info *reader_info(const struct reader *reader);
const struct format *reader_format(const struct reader *reader);

/* Pages in the file; TIFF's reduced-resolution subfiles and masks do not count. 0: only reading them tells.
 */
int reader_page_count(const struct reader *reader);

/* Those of them that the options ask for; 0: only reading them tells. */
int reader_pages_wanted(const struct reader *reader);

/* Bytes that reading the current page takes beside the caller's: an interlaced PNG is whole before its first
 * row, TIFF tiles come in rows of tiles. */
uint64_t reader_memory(const struct reader *reader);

/* Reads the next `count` rows of the page to `rows`, `pitch` bytes apart. Asking for more rows than are left
 * is a programming error. */
enum status reader_read(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error);

/* Whether the current page's rows need no decoding: reading them is no more work than copying them. */
bool reader_is_plain(const struct reader *reader);

/* What a file says behind its pixels that could not be looked at before, being a pipe: after the page's last
 * row, and the later, the more has come. NULL: nothing. */
const struct metadata *reader_late(struct reader *reader);

/* Whether samples were read, of integers or floats of more bits, that floats of 32 bits do not hold. */
bool reader_rounded(const struct reader *reader);

/* The smallest and the largest value of colour in all pages that are to be read (0 and 0 where none is
 * finite), as the chain takes them. Reads them all, and begins anew: reader_options.rewinds must have been
 * set. */
enum status reader_measure(struct reader *reader, double *low, double *high, struct error *error);

/* Decodes the page's first rows into memory of at most `size` bytes, from where reader_read gives them, while
 * go_on(context) says that there is time. A failure waits for the reader_read that meets it. */
void reader_read_ahead(struct reader *reader, size_t size, bool (*go_on)(void *context), void *context);

/* Called after the last row of a page: *more says whether another page was begun. */
enum status reader_next_page(struct reader *reader, bool *more, struct error *error);

void reader_close(struct reader *reader);

#endif
