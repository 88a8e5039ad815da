/* Reads the pixels of a PNG whose samples need no conversion: the IDAT chunks, one zlib stream, filtered
 * rows.
 *
 *     file ─▶ read_chunk ─▶ inflate_piece, 256 KiB of rows at a time ─▶ take_row, unfiltered ─▶ caller
 *
 * Damage is judged as libpng and zlib do: the checksums of chunks and of the stream must be right. The stream
 * may be longer than the image: up to 1 MiB more is ignored, and beyond that its rest is skipped with a
 * warning. */
#include "base/sums.h"
#include "image/inflate.h"
#include "image/png/png.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUT_SIZE = 64 << 10, /* bytes of the file that are read at once */
    AHEAD_SIZE =
        256
        << 10, /* bytes of rows that are inflated at once: a core's cache keeps them until they are used */
    NAME_SIZE = 4,
    CRC_SIZE = 4,
    LENGTH_MAX = 0x7fffffff, /* of a chunk (ISO/IEC 15948, section 5.3) */
};

struct png_pixels {
    struct png_pixels_options options;
    unsigned char name[NAME_SIZE + 1]; /* of the current chunk; ends in NUL */
    uint32_t left;                     /* bytes of its data that were not read yet */
    uint32_t crc;                      /* checksum of its name and of the data that were read */
    struct inflate_state stream;
    unsigned char *rows;   /* filtered, each after the byte that names its filter */
    uint32_t capacity;     /* rows that `rows` has room for */
    uint32_t ready, taken; /* rows in `rows`, and how far the caller has read them */
    uint32_t inflated;     /* rows of the image that were inflated so far */
    unsigned char *above;  /* copy of the last row that was returned, in the file's byte order, which the next
                            * row's  filter needs; zeros before the first row */
    unsigned char input[INPUT_SIZE];
};

/* Returns the bytes from row to row of `rows`. */
static size_t filtered_stride(const struct png_pixels *pixels)
{
    return pixels->options.row_size + 1;
}

struct png_pixels *png_pixels_open(const struct png_pixels_options *options, struct error *error)
{
    struct png_pixels *pixels = allocate_zeroed(1, sizeof *pixels, "PNG", error);
    if (pixels == NULL)
        return NULL;
    pixels->options = *options;
    memcpy(pixels->name, "IDAT", NAME_SIZE);
    pixels->left = options->first_idat_size;
    pixels->crc = isal_crc32(0, pixels->name, NAME_SIZE);
    inflate_begin(&pixels->stream);
    return pixels;
}

/* Allocates at the first row, not before: the header may promise rows that no memory holds. */
static enum status allocate_rows(struct png_pixels *pixels, struct error *error)
{
    size_t row = filtered_stride(pixels), capacity = row < AHEAD_SIZE ? AHEAD_SIZE / row : 1;
    if (pixels->rows != NULL)
        return STATUS_OK;
    pixels->capacity = capacity < pixels->options.row_count ? (uint32_t)capacity : pixels->options.row_count;
    pixels->above = allocate_zeroed(1, pixels->options.row_size, "PNG", error);
    pixels->rows = pixels->above == NULL ? NULL : allocate(row * pixels->capacity, "PNG", error);
    return pixels->rows == NULL ? STATUS_FAILED : STATUS_OK;
}

void png_pixels_close(struct png_pixels *pixels)
{
    if (pixels == NULL)
        return;
    free(pixels->rows);
    free(pixels->above);
    free(pixels);
}

enum status png_read_bytes(FILE *file, void *bytes, size_t size, struct error *error)
{
    if (fread(bytes, 1, size, file) == size)
        return STATUS_OK;
    if (ferror(file))
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
    return fail(error, STATUS_FAILED, "damaged PNG: the file ends too early");
}

/* Reads up to INPUT_SIZE bytes of the chunk's data into `input`; *size receives their number. */
static enum status read_chunk(struct png_pixels *pixels, uint32_t *size, struct error *error)
{
    *size = pixels->left < INPUT_SIZE ? pixels->left : INPUT_SIZE;
    enum status status = png_read_bytes(pixels->options.file, pixels->input, *size, error);
    pixels->left -= *size;
    pixels->crc = isal_crc32(pixels->crc, pixels->input, *size);
    return status;
}

/* True if the current chunk is an IDAT. */
static bool is_idat(const struct png_pixels *pixels)
{
    return memcmp(pixels->name, "IDAT", NAME_SIZE) == 0;
}

/* True if the chunk need not be understood: its name begins with a small letter. */
static bool is_optional(const struct png_pixels *pixels)
{
    return (pixels->name[0] & 0x20) != 0;
}

/* After the chunk's data: reads its checksum and compares it. Optional chunks here are left out, damaged or
 * not. */
static enum status check_checksum(struct png_pixels *pixels, struct error *error)
{
    unsigned char crc[CRC_SIZE];
    if (png_read_bytes(pixels->options.file, crc, CRC_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    if (png_get_uint_32(crc) != pixels->crc && !is_optional(pixels))
        return fail(error, STATUS_FAILED, "damaged PNG: %s: CRC error", (const char *)pixels->name);
    return STATUS_OK;
}

/* After the chunk's data: reads its checksum and the header of the next chunk. */
static enum status next_chunk(struct png_pixels *pixels, struct error *error)
{
    unsigned char length[4];
    if (check_checksum(pixels, error) != STATUS_OK ||
        png_read_bytes(pixels->options.file, length, sizeof length, error) != STATUS_OK ||
        png_read_bytes(pixels->options.file, pixels->name, NAME_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    pixels->left = png_get_uint_32(length);
    pixels->crc = isal_crc32(0, pixels->name, NAME_SIZE);
    for (int i = 0; i < NAME_SIZE; i++)
        if ((pixels->name[i] | 0x20) < 'a' || (pixels->name[i] | 0x20) > 'z')
            return fail(error, STATUS_FAILED, "damaged PNG: a chunk without a name");
    if (!is_optional(pixels) && !is_idat(pixels) && memcmp(pixels->name, "IEND", NAME_SIZE) != 0)
        return fail(error, STATUS_FAILED, "damaged PNG: %s: unknown critical chunk",
                    (const char *)pixels->name);
    if (pixels->left > LENGTH_MAX)
        return fail(error, STATUS_FAILED, "damaged PNG: %s: too long", (const char *)pixels->name);
    return STATUS_OK;
}

/* Feeds the inflater with more of the file; skips empty IDAT chunks. */
static enum status feed_inflater(struct png_pixels *pixels, struct error *error)
{
    uint32_t size = 0;
    while (pixels->left == 0) {
        if (next_chunk(pixels, error) != STATUS_OK)
            return STATUS_FAILED;
        if (!is_idat(pixels))
            return fail(error, STATUS_FAILED, "damaged PNG: not enough image data");
    }
    enum status status = read_chunk(pixels, &size, error);
    inflate_feed(&pixels->stream, pixels->input, size);
    return status;
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

/* Inflates some bytes. Feeds the stream only if it made none and has used up its input. */
static enum status inflate_piece(struct png_pixels *pixels, unsigned char *to, size_t size, size_t *made,
                                 struct error *error)
{
    struct inflate_state *stream = &pixels->stream;
    const int trouble = inflate_some(stream, to, size, made);
    if (trouble != 0)
        return fail(error, STATUS_FAILED, "damaged PNG: IDAT: %s", trouble_of(trouble));
    const bool needs_input = *made == 0 && inflate_is_hungry(stream) && !inflate_has_ended(stream);
    return needs_input ? feed_inflater(pixels, error) : STATUS_OK;
}

/* Inflates to the end of the stream, but at most 1 MiB more than the image, and warns if there is more: a
 * small file may unpack to gigabytes. */
static enum status end_stream(struct png_pixels *pixels, struct error *error)
{
    enum { SURPLUS_MAX = 1 << 20 /* bytes */ };
    unsigned char extra[4096];
    size_t made, surplus = 0;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !inflate_has_ended(&pixels->stream) && surplus <= SURPLUS_MAX) {
        status = inflate_piece(pixels, extra, sizeof extra, &made, error);
        surplus += made;
    }
    if (surplus > SURPLUS_MAX)
        metadata_warn(pixels->options.trailing, PNG_SURPLUS);
    return status;
}

/* Inflates the next rows, after all of the last ones were taken. */
static enum status inflate_rows(struct png_pixels *pixels, struct error *error)
{
    uint32_t left = pixels->options.row_count - pixels->inflated;
    pixels->ready = left < pixels->capacity ? left : pixels->capacity;
    pixels->taken = 0;
    pixels->inflated += pixels->ready;
    unsigned char *to = pixels->rows;
    size_t size = pixels->ready * filtered_stride(pixels);
    enum status status = STATUS_OK;
    for (size_t made; status == STATUS_OK && size > 0; to += made, size -= made) {
        if (inflate_has_ended(&pixels->stream))
            return fail(error, STATUS_FAILED, "damaged PNG: not enough image data");
        status = inflate_piece(pixels, to, size, &made, error);
    }
    return status;
}

/* Unfilters the next row to `to`, which may be its own place. */
static enum status take_row(struct png_pixels *pixels, const unsigned char *above, unsigned char *to,
                            struct error *error)
{
    unsigned char *filtered = pixels->rows + pixels->taken++ * filtered_stride(pixels);
    struct png_row row = {filtered + 1, above, pixels->options.row_size, pixels->options.pixel_size};
    if (filtered[0] >= ROW_FILTER_COUNT)
        return fail(error, STATUS_FAILED, "damaged PNG: a row with the unknown filter %d", filtered[0]);
    png_unfilter_row((enum png_filter)filtered[0], &row, to);
    return STATUS_OK;
}

/* Unfilters the next row in place and swaps its bytes on the way to `to`: the filter of the row below needs
 * this row in the file's byte order. */
static enum status take_swapped(struct png_pixels *pixels, void *to, struct error *error)
{
    unsigned char *row = pixels->rows + pixels->taken * filtered_stride(pixels) + 1;
    enum status status = take_row(pixels, pixels->above, row, error);
    memcpy(pixels->above, row, pixels->options.row_size);
    sample_swap(row, pixels->options.row_size, to);
    return status;
}

enum status png_pixels_read(struct png_pixels *pixels, void *data, size_t pitch, uint32_t count,
                            struct error *error)
{
    enum status status = allocate_rows(pixels, error);
    const unsigned char *above = pixels->above;
    unsigned char *to = data;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++, to += pitch) {
        if (pixels->taken == pixels->ready)
            status = inflate_rows(pixels, error);
        if (status != STATUS_OK)
            return status;
        status = pixels->options.swap ? take_swapped(pixels, to, error) : take_row(pixels, above, to, error);
        above = to;
    }
    if (status == STATUS_OK && count > 0 && !pixels->options.swap)
        memcpy(pixels->above, above, pixels->options.row_size); /* the caller may overwrite its rows */
    return status;
}

/* Reads the rest of the chunk's data. */
static enum status pass_chunk(struct png_pixels *pixels, struct error *error)
{
    enum status status = STATUS_OK;
    uint32_t size;
    while (status == STATUS_OK && pixels->left > 0)
        status = read_chunk(pixels, &size, error);
    return status;
}

enum status png_pixels_end(struct png_pixels *pixels, struct error *error)
{
    enum status status = end_stream(pixels, error);
    if (status == STATUS_OK)
        status = pass_chunk(pixels, error);
    while (status == STATUS_OK && memcmp(pixels->name, "IEND", NAME_SIZE) != 0) {
        status = next_chunk(pixels, error);
        if (status == STATUS_OK && is_optional(pixels))
            png_metadata_note_trailing(pixels->options.trailing, (const char *)pixels->name);
        if (status == STATUS_OK)
            status = pass_chunk(pixels, error);
    }
    return status == STATUS_OK ? check_checksum(pixels, error) : status;
}
