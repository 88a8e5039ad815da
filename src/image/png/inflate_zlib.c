#include "image/png/inflate.h"

#include <stdlib.h>
#include <zlib.h>

enum { PIECE_SIZE = 1 << 30 /* zlib counts in 32 bits */ };

struct png_stream {
    z_stream state;
    bool has_ended;
};

uint32_t png_crc32(uint32_t crc, const unsigned char *bytes, size_t size)
{
    return (uint32_t)crc32_z(crc, bytes, size);
}

uint32_t png_adler32(const unsigned char *bytes, size_t size)
{
    return (uint32_t)adler32_z(1, bytes, size);
}

struct png_stream *png_stream_open(struct error *error)
{
    struct png_stream *stream = allocate(sizeof *stream, "PNG", error);
    if (stream == NULL)
        return NULL;
    *stream = (struct png_stream){.has_ended = false};
    if (inflateInit(&stream->state) == Z_OK)
        return stream;
    free(stream);
    fail_memory(error, "out of memory for PNG");
    return NULL;
}

void png_stream_close(struct png_stream *stream)
{
    if (stream != NULL)
        inflateEnd(&stream->state);
    free(stream);
}

void png_stream_feed(struct png_stream *stream, const unsigned char *bytes, uint32_t size)
{
    stream->state.next_in = (Bytef *)bytes; /* zlib does not write there */
    stream->state.avail_in = size;
}

bool png_stream_is_hungry(const struct png_stream *stream)
{
    return stream->state.avail_in == 0;
}

bool png_stream_has_ended(const struct png_stream *stream)
{
    return stream->has_ended;
}

enum status png_stream_inflate(struct png_stream *stream, unsigned char *to, size_t size, size_t *made,
                               struct error *error)
{
    const uInt piece = size < PIECE_SIZE ? (uInt)size : PIECE_SIZE;
    z_stream *state = &stream->state;
    state->next_out = to;
    state->avail_out = piece;
    int result = stream->has_ended ? Z_STREAM_END : inflate(state, Z_NO_FLUSH);
    *made = piece - state->avail_out;
    stream->has_ended = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR /* nothing to do: not damage */)
        return STATUS_OK;
    if (result == Z_MEM_ERROR)
        return fail_memory(error, "out of memory for PNG");
    return fail(error, STATUS_FAILED, "damaged PNG: IDAT: %s",
                state->msg != NULL ? state->msg : "it wants a dictionary");
}
