/* Checksums of bytes, and inflation of zlib streams, for which ISA-L is twice as fast as zlib. */
#ifndef CLIMG_BASE_SUMS_H
#define CLIMG_BASE_SUMS_H

#include <isa-l.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64-bit FNV-1a, the same on every machine and in every version, since --shard depends on it. `before` is
 * HASH_START or the hash of the preceding bytes. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_bytes(uint64_t before, const void *bytes, size_t size);

/* Must be called after each call of ISA-L. ISA-L 2.30 leaves the upper halves of the processor's vector
 * registers in use. That makes SSE code slow, also in threads that are started then: PNG's row filters took
 * three times as long. */
void isal_leave(void);

/* Computes CRC-32 as zlib does; `before` is the CRC of the preceding bytes, at first 0. */
uint32_t isal_crc32(uint32_t before, const void *bytes, size_t size);

/* Computes the CRC-32 of a file. Returns false if it cannot be read. */
bool crc_of_file(const char *path, uint32_t *sum);

/* Inflates zlib streams (RFC 1950) and compares their Adler-32, by ISA-L. */

void inflate_begin(struct inflate_state *state);

/* Sets the next bytes of the stream, which must stay valid until they are used up. */
void inflate_feed(struct inflate_state *state, const unsigned char *bytes, size_t size);

/* True if all bytes are used up. */
bool inflate_is_hungry(const struct inflate_state *state);

/* True after the checksum was read and was right. */
bool inflate_has_ended(const struct inflate_state *state);

/* Inflates up to `size` bytes, fewer if the input or the stream ends. Returns 0, or an error code of ISA-L,
 * after which the stream must not be used. */
int inflate_some(struct inflate_state *state, unsigned char *to, size_t size, size_t *made);

#endif
