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

void isal_leave(void)
{
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__AVX__) /* otherwise ISA-L has no such code */
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

enum { PIECE_SIZE = 1 << 30 /* ISA-L counts in 32 bits */ };

void inflate_begin(struct inflate_state *state)
{
    isal_inflate_init(state);
    state->crc_flag = ISAL_ZLIB;
    state->avail_in = 0;
}

void inflate_feed(struct inflate_state *state, const unsigned char *bytes, size_t size)
{
    state->next_in = (uint8_t *)bytes; /* ISA-L does not write there */
    state->avail_in = (uint32_t)size;
}

bool inflate_is_hungry(const struct inflate_state *state)
{
    return state->avail_in == 0;
}

bool inflate_has_ended(const struct inflate_state *state)
{
    return state->block_state == ISAL_BLOCK_FINISH;
}

int inflate_some(struct inflate_state *state, unsigned char *to, size_t size, size_t *made)
{
    const uint32_t piece = size < PIECE_SIZE ? (uint32_t)size : PIECE_SIZE;
    state->next_out = to;
    state->avail_out = piece;
    const int result = isal_inflate(state);
    isal_leave();
    *made = piece - state->avail_out;
    return result < 0 || result == ISAL_NEED_DICT ? result : 0;
}
