/* Writes images row by row to a temporary file, which is renamed at the end: a failed run leaves nothing.
 *
 *     writer_open ─▶ begin_page ─▶ write, until all rows are written ─▶ end_page ─▶ ... ─▶ commit ─▶ close
 *
 * Messages begin with the output's name. Thread safety: a writer is used by one thread at a time. */
#ifndef CLIMG_IMAGE_WRITER_H
#define CLIMG_IMAGE_WRITER_H

#include "image/format.h"

struct reader;
struct writer;

/* True if the format reads back what it has written, so that the output's folder must be readable. */
bool writer_seeks(const struct format *format);

/* Opens an output; "-" is stdout. A file is written as a temporary file in the same folder; device files and
 * pipes are written directly. On failure *writer is NULL and nothing is left. */
enum status writer_open(const char *path, const struct writer_options *options, struct writer **writer,
                        struct error *error);

/* Returns the bytes that the writer allocates for such a page. options->jobs must not be 0. */
uint64_t writer_memory(const struct writer_options *options, const struct image_info *info);

/* Begins a page. Fails if the format cannot hold it, and says which formats can. */
enum status writer_begin_page(struct writer *writer, const struct image_info *info, struct error *error);

/* Writes the page's next `count` rows, `pitch` bytes apart. */
enum status writer_write(struct writer *writer, const void *rows, size_t pitch, uint32_t count,
                         struct error *error);

/* Ends a page, after its last row. */
enum status writer_end_page(struct writer *writer, struct error *error);

/* Copies the input's bytes by reader_copy(). Replaces begin_page to end_page. */
enum status writer_copy(struct writer *writer, struct reader *reader, struct error *error);

/* Writes a flipped or turned copy of the reader's file without coding its pixels again, if both have one
 * format and that supports it (format.transform). `inverse_map` maps positions of the output to positions of
 * the input. If move->done is false, nothing was written, and the page must be written by rows. */
enum status writer_transform(struct writer *writer, struct reader *reader, const struct affine *inverse_map,
                             const struct image_info *info, struct lossless_move *move, struct error *error);

/* Completes the file and renames it. */
enum status writer_commit(struct writer *writer, struct error *error);

/* Frees the writer, and removes the output unless it was committed. May be called with NULL. */
void writer_close(struct writer *writer);

#endif
