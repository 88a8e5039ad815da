/* Examines a PNG for --check: compares the CRCs of all chunks, while the reader ignores the CRCs of optional
 * chunks after the pixels, and warns of bytes after the last chunk. */
#include "base/sums.h"
#include "image/png/png.h"

#include <inttypes.h>
#include <string.h>

enum status png_examine(FILE *file, struct metadata *notes, struct error *error)
{
    unsigned char bytes[16 << 10], head[8], sum[4];
    if (png_read_bytes(file, bytes, SIGNATURE_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    do {
        /* A chunk: length, name, data, and the CRC of name and data. */
        if (png_read_bytes(file, head, sizeof head, error) != STATUS_OK)
            return STATUS_FAILED;
        uint32_t left = png_get_uint_32(head), crc = isal_crc32(0, head + 4, 4);
        while (left > 0) {
            const uint32_t piece = left < sizeof bytes ? left : (uint32_t)sizeof bytes;
            if (png_read_bytes(file, bytes, piece, error) != STATUS_OK)
                return STATUS_FAILED;
            crc = isal_crc32(crc, bytes, piece);
            left -= piece;
        }
        if (png_read_bytes(file, sum, sizeof sum, error) != STATUS_OK)
            return STATUS_FAILED;
        if (png_get_uint_32(sum) != crc)
            return fail(error, STATUS_FAILED, "damaged PNG: %.4s: CRC error", (const char *)head + 4);
    } while (memcmp(head + 4, "IEND", 4) != 0);

    uint64_t surplus = 0;
    for (size_t more; (more = fread(bytes, 1, sizeof bytes, file)) > 0;)
        surplus += more;
    format_warn_surplus(notes, surplus);
    return STATUS_OK;
}
