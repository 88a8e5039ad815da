/* Strips or rows of tiles of a TIFF page, decoded on several threads before they are asked for. Each thread
 * has a libtiff handle of its own on the file:
 *
 *     file ─▶ handle, tiff_rows ─▶ band k     ─▶ fetch ─▶ caller
 *          ─▶ handle, tiff_rows ─▶ band k + 1
 *          ─▶ ...
 */
#ifndef CLIMG_IMAGE_TIFF_AHEAD_H
#define CLIMG_IMAGE_TIFF_AHEAD_H

#include "image/tiff/rows.h"

#include <stdio.h>

struct tiff_ahead;

/* *ahead receives NULL where there is nothing to gain: small pages, pages in one piece or not compressed, one
 * thread. `rows` are those of the page, of whose file `stream` is; both must stay. */
enum status tiff_ahead_open(const struct tiff_rows *rows, FILE *stream, const struct reader_options *options,
                            struct tiff_ahead **ahead, struct error *error);

/* As tiff_rows_fetch. */
enum status tiff_ahead_fetch(struct tiff_ahead *ahead, uint32_t first, uint32_t count, unsigned char *to,
                             size_t pitch, struct error *error);

/* Waits for the jobs under way. NULL is fine. */
void tiff_ahead_close(struct tiff_ahead *ahead);

#endif
