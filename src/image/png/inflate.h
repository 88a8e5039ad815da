/* Checksums, and inflating a zlib stream (RFC 1950) with its header and Adler-32: by ISA-L (inflate_isal.c),
 * or by zlib where the program is built without it (inflate_zlib.c, `make ISAL=no`). */
#ifndef CLIMG_IMAGE_PNG_INFLATE_H
#define CLIMG_IMAGE_PNG_INFLATE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of more bytes behind those that `crc` is of; 0 before the first. */
uint32_t png_crc32(uint32_t crc, const unsigned char *bytes, size_t size);
uint32_t png_adler32(const unsigned char *bytes, size_t size);

struct png_stream;

/* NULL: out of memory. */
struct png_stream *png_stream_open(struct error *error);
void png_stream_close(struct png_stream *stream);

/* The stream's next bytes, which must stay until they are used up. */
void png_stream_feed(struct png_stream *stream, const unsigned char *bytes, uint32_t size);
bool png_stream_is_hungry(const struct png_stream *stream);

/* Behind the checksum, which was right. */
bool png_stream_has_ended(const struct png_stream *stream);

/* Up to `size` bytes: fewer where the input or the stream ends. The message begins with "damaged PNG: ". */
enum status png_stream_inflate(struct png_stream *stream, unsigned char *to, size_t size, size_t *made,
                               struct error *error);

#endif
