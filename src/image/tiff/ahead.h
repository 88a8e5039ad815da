/* Strips or rows of tiles of a TIFF page, decoded on several threads before they are asked for. Each thread
 * has a libtiff handle of its own on the file:
 *
 *     file ─▶ handle, tiff_rows ─▶ strip k     ─▶ fetch ─▶ caller
 *          ─▶ handle, tiff_rows ─▶ strip k + 1
 *          ─▶ ...
 */
#ifndef CLIMG_IMAGE_TIFF_AHEAD_H
#define CLIMG_IMAGE_TIFF_AHEAD_H

#include "image/tiff/rows.h"

struct tiff_ahead;

/* *ahead receives NULL where there is nothing to gain: small pages, pages in one piece or not compressed, one
 * thread, less memory than two strips take. `rows` are those of the page, which must stay. */
enum status tiff_ahead_open(const struct tiff_rows *rows, const struct reader_options *options,
                            struct tiff_ahead **ahead, struct error *error);

/* Bytes that it takes; 0 for NULL. */
uint64_t tiff_ahead_memory(const struct tiff_ahead *ahead);

/* As tiff_rows_fetch. */
enum status tiff_ahead_fetch(struct tiff_ahead *ahead, uint32_t first, uint32_t count, unsigned char *to,
                             size_t pitch, struct error *error);

/* Waits for what is under way. NULL is fine. */
void tiff_ahead_close(struct tiff_ahead *ahead);

#endif
