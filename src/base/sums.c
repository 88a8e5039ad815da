#include "base/sums.h"

#include <isa-l.h>

uint64_t hash_bytes(uint64_t before, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        before = (before ^ byte[i]) * UINT64_C(0x100000001b3);
    return before;
}

void isal_leave(void)
{
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__AVX__) /* else there is no such code */
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper" ::: "memory");
#endif
}

uint32_t isal_crc32(uint32_t before, const void *bytes, size_t size)
{
    const uint32_t sum = crc32_gzip_refl(before, bytes, size);

    isal_leave();
    return sum;
}
