/* Reads the chunks of a PNG (ISO/IEC 15948, section 5):
 *
 *     length, 4 bytes   name, 4 letters   data   CRC of name and data, 4 bytes
 *
 * A chunk whose name begins with a small letter is optional: if it is damaged, it is left out. Another one is
 * critical, and damage in it is an error. */
#include "base/sums.h"
#include "image/png/png.h"

#include <errno.h>
#include <string.h>

/* Reads `size` bytes; fails if the file has fewer. */
static enum status read_bytes(FILE *file, void *bytes, size_t size, struct error *error)
{
    if (fread(bytes, 1, size, file) == size)
        return STATUS_OK;
    return ferror(file) ? fail_reading(error)
                        : fail(error, STATUS_FAILED, "damaged PNG: the file ends too early");
}

bool png_chunk_is_optional(const struct png_chunk *chunk)
{
    return (chunk->name[0] & 0x20) != 0;
}

enum status png_chunk_next(struct png_chunk *chunk, struct error *error)
{
    enum { LENGTH_MAX = 0x7fffffff, LENGTH_SIZE = 4, NAME_SIZE = 4 };
    static const char *const critical[] = {"IHDR", "PLTE", "IDAT", "IEND"};
    unsigned char length[LENGTH_SIZE];
    if (read_bytes(chunk->file, length, LENGTH_SIZE, error) != STATUS_OK ||
        read_bytes(chunk->file, chunk->name, NAME_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    chunk->left = png_get_number(length);
    chunk->crc = isal_crc32(0, chunk->name, NAME_SIZE);
    for (int i = 0; i < NAME_SIZE; i++)
        if ((chunk->name[i] | 0x20) < 'a' || (chunk->name[i] | 0x20) > 'z')
            return fail(error, STATUS_FAILED, "damaged PNG: a chunk without a name");
    bool is_known = png_chunk_is_optional(chunk);
    for (size_t i = 0; i < sizeof critical / sizeof critical[0]; i++)
        is_known = is_known || strcmp(chunk->name, critical[i]) == 0;
    if (!is_known)
        return fail(error, STATUS_FAILED, "damaged PNG: %s: unknown critical chunk", chunk->name);
    if (chunk->left > LENGTH_MAX)
        return fail(error, STATUS_FAILED, "damaged PNG: %s: too long", chunk->name);
    return STATUS_OK;
}

enum status png_chunk_read(struct png_chunk *chunk, void *to, size_t size, struct error *error)
{
    enum status status = read_bytes(chunk->file, to, size, error);
    chunk->left -= (uint32_t)size;
    chunk->crc = isal_crc32(chunk->crc, to, size);
    return status;
}

enum status png_chunk_end(struct png_chunk *chunk, bool *is_damaged, struct error *error)
{
    unsigned char bytes[16 << 10], sum[4];
    while (chunk->left > 0)
        if (png_chunk_read(chunk, bytes, chunk->left < sizeof bytes ? chunk->left : sizeof bytes, error) !=
            STATUS_OK)
            return STATUS_FAILED;
    if (read_bytes(chunk->file, sum, sizeof sum, error) != STATUS_OK)
        return STATUS_FAILED;
    *is_damaged = png_get_number(sum) != chunk->crc;
    return *is_damaged && !png_chunk_is_optional(chunk) ? png_chunk_fail(chunk, error) : STATUS_OK;
}

enum status png_chunk_fail(const struct png_chunk *chunk, struct error *error)
{
    return fail(error, STATUS_FAILED, "damaged PNG: %s: CRC error", chunk->name);
}

/* Compares the CRCs of all chunks, as the reader ignores those of optional chunks after the pixels, and warns
 * of bytes after the last chunk. */
enum status png_examine(FILE *file, struct metadata *notes, struct error *error)
{
    struct png_chunk chunk = {.file = file};
    unsigned char bytes[16 << 10];
    uint64_t surplus = 0;
    bool is_damaged;
    if (read_bytes(file, bytes, SIGNATURE_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    do {
        if (png_chunk_next(&chunk, error) != STATUS_OK ||
            png_chunk_end(&chunk, &is_damaged, error) != STATUS_OK)
            return STATUS_FAILED;
        if (is_damaged)
            return png_chunk_fail(&chunk, error);
    } while (strcmp(chunk.name, "IEND") != 0);
    for (size_t more; (more = fread(bytes, 1, sizeof bytes, file)) > 0;)
        surplus += more;
    format_warn_surplus(notes, surplus);
    return STATUS_OK;
}
