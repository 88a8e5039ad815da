/* libFuzzer's target for the readers: any bytes are a file, which is decoded to its end, twice.
 *
 * The rows lie in memory that is filled with another byte each time, and fresh memory is, too: a sample that
 * differs was never written, and would have shown what was there before. The mutator mends the checksums of
 * PNG, so that what is behind them is reached. */
#include "image/image.h"
#include "image/reader.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { MAX_PIXELS = 1 << 18, MAX_PAGES = 8, ROWS_AT_ONCE = 7, PATH_SIZE = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

/* What came of a file: how it ended, and a checksum of its samples. */
struct decoded {
    enum status status;
    uint64_t rows;
    uLong samples;
};

static enum status decode_page(struct reader *reader, int fill, struct decoded *decoded, struct error *error)
{
    const struct image_info *info = reader_info(reader);
    enum status status = STATUS_OK;
    size_t pitch = (size_t)info->width * pixel_size(info);
    unsigned char *rows = malloc(pitch * ROWS_AT_ONCE);
    for (uint32_t row = 0; rows && status == STATUS_OK && row < info->height; row += ROWS_AT_ONCE) {
        uint32_t count = info->height - row < ROWS_AT_ONCE ? info->height - row : ROWS_AT_ONCE;
        memset(rows, fill, pitch * ROWS_AT_ONCE);
        status = reader_read(reader, rows, pitch, count, error);
        if (status == STATUS_OK) {
            decoded->samples = crc32(decoded->samples, rows, (uInt)(pitch * count));
            decoded->rows += count;
        }
    }
    free(rows);
    return status;
}

static struct decoded decode(const char *path, int fill)
{
    const struct reader_options options = {.max_pixels = MAX_PIXELS, .jobs = 1};
    struct decoded decoded = {.status = STATUS_OK};
    struct error error = {.text = ""};
    struct reader *reader = NULL;
    bool more = true;
    mallopt(M_PERTURB, fill);
    decoded.status = reader_open(path, &options, &reader, &error);
    for (int page = 0; decoded.status == STATUS_OK && more && page < MAX_PAGES; page++) {
        decoded.status = decode_page(reader, fill, &decoded, &error);
        if (decoded.status == STATUS_OK)
            decoded.status = reader_next_page(reader, &more, &error);
    }
    reader_close(reader);
    if (decoded.status != STATUS_OK && (!error.text[0] || strchr(error.text, '\n')))
        abort(); /* a failure is one line */
    return decoded;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[PATH_SIZE];
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct decoded one = decode(path, 0x55), other = decode(path, 0xaa);
    close(file);
    if (one.status != other.status || one.rows != other.rows || one.samples != other.samples)
        abort(); /* samples that nobody wrote */
    return 0;
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void mend_checksums(uint8_t *data, size_t size)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (size < sizeof signature || memcmp(data, signature, sizeof signature) != 0)
        return;
    for (size_t at = sizeof signature; size - at >= 12;) {
        size_t length = big_endian(data + at);
        if (length > size - at - 12)
            return;
        uLong sum = crc32(0, data + at + 4, (uInt)(length + 4));
        for (int i = 0; i < 4; i++)
            data[at + 8 + length + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
        at += length + 12;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    size_t mutated = LLVMFuzzerMutate(data, size, room);
    if (seed % 8 != 0) /* a wrong checksum must be met, too */
        mend_checksums(data, mutated);
    return mutated;
}
