/* Checksums of bytes, by ISA-L. */
#ifndef CLIMG_BASE_SUMS_H
#define CLIMG_BASE_SUMS_H

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

#endif
