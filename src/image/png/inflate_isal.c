#include "image/png/inflate.h"

#include <isa-l.h>
#include <stdlib.h>

enum { PIECE_SIZE = 1 << 30 /* ISA-L counts in 32 bits */ };

struct png_stream {
    struct inflate_state state;
};

/* Clears the upper halves of the processor's vector registers, where there are any. ISA-L 2.30 returns with
 * them in use, and as long as they are, also in threads that are started meanwhile, code for SSE is slow:
 * PNG's row filters took three times as long. */
static void clear_upper_halves(void)
{
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__AVX__) /* else there is no such code */
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper" ::: "memory");
#endif
}

uint32_t png_crc32(uint32_t crc, const unsigned char *bytes, size_t size)
{
    crc = crc32_gzip_refl(crc, bytes, size);
    clear_upper_halves();
    return crc;
}

uint32_t png_adler32(const unsigned char *bytes, size_t size)
{
    uint32_t adler = isal_adler32(1, bytes, size);
    clear_upper_halves();
    return adler;
}

struct png_stream *png_stream_open(struct error *error)
{
    struct png_stream *stream = allocate(sizeof *stream, "PNG", error);
    if (stream == NULL)
        return NULL;
    isal_inflate_init(&stream->state);
    stream->state.crc_flag = ISAL_ZLIB;
    stream->state.avail_in = 0;
    return stream;
}

void png_stream_close(struct png_stream *stream)
{
    free(stream);
}

void png_stream_feed(struct png_stream *stream, const unsigned char *bytes, uint32_t size)
{
    stream->state.next_in = (uint8_t *)bytes; /* ISA-L does not write there */
    stream->state.avail_in = size;
}

bool png_stream_is_hungry(const struct png_stream *stream)
{
    return stream->state.avail_in == 0;
}

bool png_stream_has_ended(const struct png_stream *stream)
{
    return stream->state.block_state == ISAL_BLOCK_FINISH;
}

static const char *trouble_of(int result)
{
    switch (result) {
    case ISAL_NEED_DICT:
        return "it wants a dictionary";
    case ISAL_UNSUPPORTED_METHOD:
        return "an unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
        return "a wrong checksum";
    case ISAL_INVALID_LOOKBACK:
        return "a distance too far back";
    case ISAL_INVALID_SYMBOL:
        return "an invalid code";
    default:
        return "an invalid block";
    }
}

enum status png_stream_inflate(struct png_stream *stream, unsigned char *to, size_t size, size_t *made,
                               struct error *error)
{
    const uint32_t piece = size < PIECE_SIZE ? (uint32_t)size : PIECE_SIZE;
    stream->state.next_out = to;
    stream->state.avail_out = piece;
    int result = isal_inflate(&stream->state);
    clear_upper_halves();
    *made = piece - stream->state.avail_out;
    if (result >= 0 && result != ISAL_NEED_DICT)
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "damaged PNG: IDAT: %s", trouble_of(result));
}
