/* Writing images, row after row, to a place beside the final one: nothing is seen of a failed run. */
#ifndef CLIMG_IMAGE_WRITER_H
#define CLIMG_IMAGE_WRITER_H

#include "image/format.h"

struct writer;

/* Whether files of that format are written from the first byte to the last, so that whoever reads a pipe has
 * them as they come. */
bool writer_streams(const struct format *format);

/* Begins an output. "-" is stdout. A path is written as a temporary file in the same folder; device files
 * and pipes are written directly. On failure *writer is NULL and nothing is left. */
enum status writer_open(const char *path, const struct writer_options *options, struct writer **writer,
                        struct error *error);

/* Bytes that writing such a page will take beside the caller's. */
uint64_t writer_memory(const struct writer_options *options, const struct image_info *info);

/* Begins a page, which must be one that the format holds. */
enum status writer_begin_page(struct writer *writer, const struct image_info *info, struct error *error);

enum status writer_write(struct writer *writer, const void *rows, size_t pitch, uint32_t count,
                         struct error *error);

/* Before writer_end_page: adds what the input said behind its pixels, where the format has a place for it
 * there. */
enum status writer_amend(struct writer *writer, const struct metadata *late, struct error *error);

/* After the last row of a page. */
enum status writer_end_page(struct writer *writer, struct error *error);

/* Completes the file and puts it in its place. */
enum status writer_commit(struct writer *writer, struct error *error);

/* Frees the writer; what was not committed is removed. NULL is fine. */
void writer_close(struct writer *writer);

#endif
