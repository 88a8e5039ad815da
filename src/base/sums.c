/* Checksums: FNV-1a, and CRC-32 by ISA-L. */
#include "base/sums.h"

#include <fcntl.h>
#include <isa-l.h>
#include <unistd.h>

uint64_t hash_bytes(uint64_t before, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        before = (before ^ byte[i]) * UINT64_C(0x100000001b3);
    return before;
}

void avx_clear_upper(void)
{
    /* A build for AVX has no SSE code that could be slow. Processors that are not x86 have no such
     * registers. */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__AVX__)
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper" ::: "memory");
#endif
}

uint32_t isal_crc32(uint32_t before, const void *bytes, size_t size)
{
    const uint32_t sum = crc32_gzip_refl(before, bytes, size);
    avx_clear_upper();
    return sum;
}

bool crc_of_file(const char *path, uint32_t *sum)
{
    unsigned char bytes[1 << 16];
    ssize_t size = -1;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    *sum = 0;
    while (file >= 0 && (size = read(file, bytes, sizeof bytes)) > 0)
        *sum = isal_crc32(*sum, bytes, (size_t)size);
    if (file >= 0)
        close(file);
    return size == 0;
}
