/* Inflates zlib streams by ISA-L. The caller feeds the stream in pieces as it reads the file. */
#include "image/inflate.h"

#include "base/sums.h"

enum { OUTPUT_MAX = 1 << 30 /* bytes of one call, as ISA-L counts in 32 bits */ };

void inflate_begin(struct inflate_state *state)
{
    isal_inflate_init(state);
    state->crc_flag = ISAL_ZLIB;
    state->avail_in = 0;
}

void inflate_feed(struct inflate_state *state, const unsigned char *bytes, size_t size)
{
    state->next_in = (uint8_t *)bytes; /* ISA-L only reads it */
    state->avail_in = (uint32_t)size;
}

bool inflate_needs_input(const struct inflate_state *state)
{
    return state->avail_in == 0;
}

bool inflate_has_ended(const struct inflate_state *state)
{
    return state->block_state == ISAL_BLOCK_FINISH;
}

int inflate_some(struct inflate_state *state, unsigned char *to, size_t size, size_t *produced)
{
    const uint32_t room = size < OUTPUT_MAX ? (uint32_t)size : OUTPUT_MAX;
    state->next_out = to;
    state->avail_out = room;
    const int result = isal_inflate(state);
    avx_clear_upper();
    *produced = room - state->avail_out;
    return result < 0 || result == ISAL_NEED_DICT ? result : 0;
}
