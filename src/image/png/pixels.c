/* What is an error and what is not follows libpng: checksums of chunks count, that of the zlib stream does
 * not, and more data than the image has is passed over. */
#include "image/png/pixels.h"

#include "base/upper.h"
#include "image/png/filter.h"

#include <errno.h>
#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUT_SIZE = 64 << 10,
    AHEAD_SIZE =
        256 << 10, /* rows that are inflated at once: they stay in a core's cache until they are used */
    PIECE_SIZE = 1 << 30, /* ISA-L counts in 32 bits */
    NAME_SIZE = 4,
    CRC_SIZE = 4,
    LENGTH_MAX = 0x7fffffff, /* of a chunk (ISO/IEC 15948, section 5.3) */
};

struct png_pixels {
    struct png_pixels_options options;
    unsigned char name[NAME_SIZE]; /* of the chunk under way */
    uint32_t left, crc;            /* its bytes to come, the checksum of those before */
    struct inflate_state inflate;
    bool begun;            /* the stream's header was read */
    unsigned char *rows;   /* filtered, each after the byte that names its filter */
    uint32_t capacity;     /* rows that it holds */
    uint32_t ready, taken; /* rows in it, and those of them that were handed on */
    uint32_t inflated;     /* rows of the image so far */
    unsigned char *above;  /* the row before the next one, zeros before the first */
    unsigned char input[INPUT_SIZE];
};

static size_t stride(const struct png_pixels *pixels)
{
    return pixels->options.row_size + 1;
}

static uint32_t checksum(uint32_t crc, const unsigned char *bytes, size_t size)
{
    crc = crc32_gzip_refl(crc, bytes, size);
    clear_upper_halves();
    return crc;
}

struct png_pixels *png_pixels_open(const struct png_pixels_options *options, struct error *error)
{
    struct png_pixels *pixels = allocate_zeroed(1, sizeof *pixels, "PNG", error);
    if (pixels == NULL)
        return NULL;
    size_t row = options->row_size + 1, capacity = row < AHEAD_SIZE ? AHEAD_SIZE / row : 1;
    pixels->options = *options;
    pixels->capacity = capacity < options->row_count ? (uint32_t)capacity : options->row_count;
    pixels->rows = allocate(row * pixels->capacity, "PNG", error);
    pixels->above = allocate_zeroed(1, options->row_size, "PNG", error);
    memcpy(pixels->name, "IDAT", NAME_SIZE);
    pixels->left = options->size;
    pixels->crc = checksum(0, pixels->name, NAME_SIZE);
    isal_inflate_init(&pixels->inflate);
    if (pixels->rows != NULL && pixels->above != NULL)
        return pixels;
    png_pixels_close(pixels);
    return NULL;
}

void png_pixels_close(struct png_pixels *pixels)
{
    if (pixels == NULL)
        return;
    free(pixels->rows);
    free(pixels->above);
    free(pixels);
}

static enum status read_bytes(struct png_pixels *pixels, void *bytes, size_t size, struct error *error)
{
    FILE *file = pixels->options.file;
    if (fread(bytes, 1, size, file) == size)
        return STATUS_OK;
    if (ferror(file))
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
    return fail(error, STATUS_FAILED, "damaged PNG: the file ends too early");
}

static uint32_t from_big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The next bytes of the chunk, at most as many as there is room for. */
static enum status read_chunk(struct png_pixels *pixels, uint32_t *size, struct error *error)
{
    *size = pixels->left < INPUT_SIZE ? pixels->left : INPUT_SIZE;
    enum status status = read_bytes(pixels, pixels->input, *size, error);
    pixels->left -= *size;
    pixels->crc = checksum(pixels->crc, pixels->input, *size);
    return status;
}

/* Behind the chunk's last byte: its checksum, and the header of the next one. */
static enum status next_chunk(struct png_pixels *pixels, struct error *error)
{
    unsigned char crc[CRC_SIZE], length[4];
    if (read_bytes(pixels, crc, sizeof crc, error) != STATUS_OK)
        return STATUS_FAILED;
    if (from_big_endian(crc) != pixels->crc)
        return fail(error, STATUS_FAILED, "damaged PNG: %.4s: CRC error", (const char *)pixels->name);
    if (read_bytes(pixels, length, sizeof length, error) != STATUS_OK ||
        read_bytes(pixels, pixels->name, NAME_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    pixels->left = from_big_endian(length);
    pixels->crc = checksum(0, pixels->name, NAME_SIZE);
    for (int i = 0; i < NAME_SIZE; i++)
        if ((pixels->name[i] | 0x20) < 'a' || (pixels->name[i] | 0x20) > 'z')
            return fail(error, STATUS_FAILED, "damaged PNG: a chunk without a name");
    if (pixels->left > LENGTH_MAX)
        return fail(error, STATUS_FAILED, "damaged PNG: %.4s: too long", (const char *)pixels->name);
    return STATUS_OK;
}

static bool in_pixels(const struct png_pixels *pixels)
{
    return memcmp(pixels->name, "IDAT", NAME_SIZE) == 0;
}

/* More of the compressed stream. */
static enum status feed(struct png_pixels *pixels, struct error *error)
{
    uint32_t size = 0;
    while (pixels->left == 0) {
        if (next_chunk(pixels, error) != STATUS_OK)
            return STATUS_FAILED;
        if (!in_pixels(pixels))
            return fail(error, STATUS_FAILED, "damaged PNG: Not enough image data");
    }
    enum status status = read_chunk(pixels, &size, error);
    pixels->inflate.next_in = pixels->input;
    pixels->inflate.avail_in = size;
    return status;
}

static const char *inflate_trouble(int result)
{
    switch (result) {
    case ISAL_UNSUPPORTED_METHOD:
        return "an unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
        return "a damaged zlib header";
    case ISAL_INVALID_LOOKBACK:
        return "a distance too far back";
    case ISAL_INVALID_SYMBOL:
        return "an invalid code";
    default:
        return "an invalid block";
    }
}

static enum status check(int result, struct error *error)
{
    if (result >= 0)
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "damaged PNG: IDAT: %s", inflate_trouble(result));
}

/* RFC 1950: two bytes before the compressed data. */
static enum status begin_stream(struct png_pixels *pixels, struct error *error)
{
    struct isal_zlib_header header = {0};
    int result = ISAL_END_INPUT;
    while (result == ISAL_END_INPUT) {
        if (pixels->inflate.avail_in == 0 && feed(pixels, error) != STATUS_OK)
            return STATUS_FAILED;
        result = isal_read_zlib_header(&pixels->inflate, &header);
    }
    pixels->begun = true;
    if (result == ISAL_DECOMP_OK && header.dict_flag)
        return fail(error, STATUS_FAILED, "damaged PNG: IDAT: it wants a dictionary");
    return check(result, error);
}

/* Exactly `size` bytes. */
static enum status inflate_bytes(struct png_pixels *pixels, unsigned char *to, size_t size,
                                 struct error *error)
{
    struct inflate_state *inflate = &pixels->inflate;
    while (size > 0) {
        uint32_t piece = size < PIECE_SIZE ? (uint32_t)size : PIECE_SIZE;
        inflate->next_out = to;
        inflate->avail_out = piece;
        enum status status = check(isal_inflate(inflate), error);
        clear_upper_halves();
        size_t made = piece - inflate->avail_out;
        to += made;
        size -= made;
        if (status != STATUS_OK)
            return status;
        if (size > 0 && inflate->block_state == ISAL_BLOCK_FINISH)
            return fail(error, STATUS_FAILED, "damaged PNG: Not enough image data");
        if (size > 0 && inflate->avail_in == 0 && made < piece && feed(pixels, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    return STATUS_OK;
}

/* Fills `rows` anew, its rows all taken. */
static enum status inflate_rows(struct png_pixels *pixels, struct error *error)
{
    uint32_t left = pixels->options.row_count - pixels->inflated;
    pixels->ready = left < pixels->capacity ? left : pixels->capacity;
    pixels->taken = 0;
    pixels->inflated += pixels->ready;
    if (!pixels->begun && begin_stream(pixels, error) != STATUS_OK)
        return STATUS_FAILED;
    return inflate_bytes(pixels, pixels->rows, pixels->ready * stride(pixels), error);
}

static enum status take_row(struct png_pixels *pixels, const unsigned char *above, unsigned char *to,
                            struct error *error)
{
    unsigned char *filtered = pixels->rows + pixels->taken++ * stride(pixels);
    struct png_row row = {filtered + 1, above, pixels->options.row_size, pixels->options.pixel_size};
    if (filtered[0] >= PNG_ROW_COUNT)
        return fail(error, STATUS_FAILED, "damaged PNG: a row with the unknown filter %d", filtered[0]);
    png_unfilter_row((enum png_filter)filtered[0], &row, to);
    return STATUS_OK;
}

/* Swapped rows are of no use to the next one's filter, so they are unfiltered elsewhere: where they stand. */
static enum status take_swapped(struct png_pixels *pixels, void *to, struct error *error)
{
    unsigned char *row = pixels->rows + pixels->taken * stride(pixels) + 1;
    enum status status = take_row(pixels, pixels->above, row, error);
    memcpy(pixels->above, row, pixels->options.row_size);
    png_swap_samples(row, pixels->options.row_size, to);
    return status;
}

enum status png_pixels_read(struct png_pixels *pixels, void *data, size_t pitch, uint32_t count,
                            struct error *error)
{
    const unsigned char *above = pixels->above;
    unsigned char *to = data;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++, to += pitch) {
        if (pixels->taken == pixels->ready)
            status = inflate_rows(pixels, error);
        if (status != STATUS_OK)
            return status;
        status = pixels->options.swap ? take_swapped(pixels, to, error) : take_row(pixels, above, to, error);
        above = to;
    }
    if (status == STATUS_OK && count > 0 && !pixels->options.swap)
        memcpy(pixels->above, above, pixels->options.row_size); /* the caller may use its rows for others */
    return status;
}

enum status png_pixels_end(struct png_pixels *pixels, struct error *error)
{
    uint32_t size;
    for (;;) {
        while (pixels->left > 0)
            if (read_chunk(pixels, &size, error) != STATUS_OK)
                return STATUS_FAILED;
        if (memcmp(pixels->name, "IEND", NAME_SIZE) == 0)
            break;
        if (next_chunk(pixels, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    unsigned char crc[CRC_SIZE];
    if (read_bytes(pixels, crc, sizeof crc, error) != STATUS_OK)
        return STATUS_FAILED;
    if (from_big_endian(crc) != pixels->crc)
        return fail(error, STATUS_FAILED, "damaged PNG: IEND: CRC error");
    return STATUS_OK;
}
