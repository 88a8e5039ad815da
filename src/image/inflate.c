/* Inflates zlib streams by ISA-L, which compares the Adler-32, too. A stream is fed in pieces: the caller
 * reads more of the file when all bytes are used up. */
#include "image/inflate.h"

#include "base/sums.h"

enum { PIECE_SIZE = 1 << 30 /* bytes at a time, as ISA-L counts in 32 bits */ };

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

int inflate_some(struct inflate_state *state, unsigned char *to, size_t size, size_t *produced)
{
    const uint32_t piece = size < PIECE_SIZE ? (uint32_t)size : PIECE_SIZE;
    state->next_out = to;
    state->avail_out = piece;
    const int result = isal_inflate(state);
    avx_clear_upper();
    *produced = piece - state->avail_out;
    return result < 0 || result == ISAL_NEED_DICT ? result : 0;
}
