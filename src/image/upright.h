/* --auto-orient: a page whose Orientation says how it is to be turned is turned as it is read. All of its
 * rows must be there before the first. Internal to src/image. */
#ifndef CLIMG_IMAGE_UPRIGHT_H
#define CLIMG_IMAGE_UPRIGHT_H

#include "image/codec.h"

/* After the reader's class has begun a page. */
enum status upright_begin(struct reader *reader, struct error *error);

/* In place of the class's read. */
enum status upright_read(struct reader *reader, void *rows, size_t pitch, uint32_t count,
                         struct error *error);

/* Bytes that the page takes. */
uint64_t upright_memory(const struct reader *reader);

/* Before the next page, and at the end. */
void upright_end(struct upright *upright);

#endif
