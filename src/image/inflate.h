/* Inflates zlib streams (RFC 1950) and compares their Adler-32, by ISA-L: it is twice as fast as zlib. */
#ifndef CLIMG_IMAGE_INFLATE_H
#define CLIMG_IMAGE_INFLATE_H

#include <isa-l.h>
#include <stdbool.h>
#include <stddef.h>

void inflate_begin(struct inflate_state *state);

/* The stream's next bytes, which must stay until they are used up. */
void inflate_feed(struct inflate_state *state, const unsigned char *bytes, size_t size);

/* All bytes that it was fed with are used up. */
bool inflate_is_hungry(const struct inflate_state *state);

/* The checksum has been read, and was right. */
bool inflate_has_ended(const struct inflate_state *state);

/* Up to `size` bytes: fewer where the input or the stream ends. Returns 0, or ISA-L's number of an error;
 * after one the stream must not be used. */
int inflate_some(struct inflate_state *state, unsigned char *to, size_t size, size_t *made);

#endif
