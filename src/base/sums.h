/* Checksums: 64-bit FNV-1a for names and keys, CRC-32 by ISA-L for data.
 *
 * Thread safety: any thread may call. */
#ifndef CLIMG_BASE_SUMS_H
#define CLIMG_BASE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the 64-bit FNV-1a hash of the bytes. `before` is HASH_START, or the hash of the preceding bytes.
 * The function must never change: --shard assigns files to machines by it, which may run different versions.
 */
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_bytes(uint64_t before, const void *bytes, size_t size);

/* Clears the upper halves of the AVX registers (vzeroupper). Call it after each call of ISA-L, as ISA-L 2.30
 * leaves them set, which slows SSE code, also in threads that are started meanwhile: PNG's row filters took
 * three times as long. */
void avx_clear_upper(void);

/* Returns the same CRC-32 as zlib's crc32(). `before` is 0, or the CRC of the preceding bytes. */
uint32_t isal_crc32(uint32_t before, const void *bytes, size_t size);

/* Computes the CRC-32 of a file. Returns false if it cannot be read. */
bool crc_of_file(const char *path, uint32_t *sum);

#endif
