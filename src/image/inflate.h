/* Inflates zlib streams (RFC 1950) and verifies their Adler-32 by ISA-L, which is twice as fast as zlib. For
 * PNG and TIFF. One thread at a time uses a stream. */
#ifndef CLIMG_IMAGE_INFLATE_H
#define CLIMG_IMAGE_INFLATE_H

#include <isa-l.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins a stream. The struct needs no cleanup. It has 85 KiB: allocate it on the heap. */
void inflate_begin(struct inflate_state *state);

/* Sets the next bytes of the stream, less than 4 GiB, which must stay valid until inflate_needs_input. */
void inflate_feed(struct inflate_state *state, const unsigned char *bytes, size_t size);

/* True if all bytes are consumed, so that the next ones must be set. */
bool inflate_needs_input(const struct inflate_state *state);

/* True after the end of the stream and its checksum, if that was right. */
bool inflate_has_ended(const struct inflate_state *state);

/* Inflates up to `size` bytes; *produced is fewer if the input or the stream ends, and for more than 1 GiB.
 * Returns 0, or an error code of ISA-L, after which the stream must not be used: ISA-L would read beyond its
 * buffers. */
int inflate_some(struct inflate_state *state, unsigned char *to, size_t size, size_t *produced);

#endif
