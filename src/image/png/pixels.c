/* Reads the pixels of a PNG whose samples need no conversion. The IDAT chunks contain one zlib stream of
 * filtered rows.
 *
 *     file ─▶ read_data ─▶ inflate_piece ─▶ 256 KiB of filtered rows ─▶ unfilter, swap ─▶ rows of the caller
 *
 * As with libpng and zlib, the checksums of chunks and of the stream must be right. The stream may be longer
 * than the image: up to 1 MiB is ignored; if it is longer, its rest is skipped with a warning. */
#include "base/sums.h"
#include "image/inflate.h"
#include "image/png/png.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUT_SIZE = 64 << 10, /* bytes of the file that are read at once */
    /* Bytes of filtered rows that are inflated at once: they stay in a core's cache until they are used. */
    ROWS_SIZE = 256 << 10,
    NAME_SIZE = 4,
    CRC_SIZE = 4,
    LENGTH_MAX = 0x7fffffff, /* of a chunk (ISO/IEC 15948, section 5.3) */
};

struct png_pixels {
    struct reader *reader;    /* the caller's */
    size_t row_size;          /* bytes of an unfiltered row */
    char name[NAME_SIZE + 1]; /* of the current chunk; ends in NUL */
    uint32_t left;            /* bytes of the chunk's data that were not read yet */
    uint32_t crc;             /* CRC of the chunk's name and of the data that were read */
    struct inflate_state stream;
    unsigned char *rows; /* filtered rows, each after the number of its filter */
    uint32_t capacity;   /* of `rows`, in rows */
    uint32_t rows_ready; /* number of rows in `rows` */
    uint32_t rows_used;  /* number of rows that were returned */
    uint32_t inflated;   /* rows of the image that were inflated so far */
    /* Copy of the last row that was returned, in the file's byte order; zeros before the first row. */
    unsigned char *above;
    unsigned char input[INPUT_SIZE];
};

/* Returns the bytes from row to row of `rows`. */
static size_t filtered_stride(const struct png_pixels *pixels)
{
    return pixels->row_size + 1;
}

struct png_pixels *png_pixels_open(struct reader *reader, uint32_t size, struct error *error)
{
    struct png_pixels *pixels = allocate_zeroed(1, sizeof *pixels, "PNG", error);
    if (pixels == NULL)
        return NULL;
    pixels->reader = reader;
    pixels->row_size = row_size(&reader->info);
    memcpy(pixels->name, "IDAT", NAME_SIZE);
    pixels->left = size;
    pixels->crc = isal_crc32(0, pixels->name, NAME_SIZE);
    inflate_begin(&pixels->stream);
    return pixels;
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
        return fail_reading(error);
    return fail(error, STATUS_FAILED, "damaged PNG: the file ends too early");
}

/* Reads up to INPUT_SIZE bytes of the chunk's data into `input`; *size receives their number. */
static enum status read_data(struct png_pixels *pixels, uint32_t *size, struct error *error)
{
    *size = pixels->left < INPUT_SIZE ? pixels->left : INPUT_SIZE;
    enum status status = png_read_bytes(pixels->reader->file, pixels->input, *size, error);
    pixels->left -= *size;
    pixels->crc = isal_crc32(pixels->crc, pixels->input, *size);
    return status;
}

/* True if the chunk is ancillary, not critical: its name begins with a small letter. */
static bool is_optional(const struct png_pixels *pixels)
{
    return (pixels->name[0] & 0x20) != 0;
}

/* After the chunk's data: reads and compares its CRC. A wrong CRC of an optional chunk is no error, as
 * optional chunks are left out here. */
static enum status check_checksum(struct png_pixels *pixels, struct error *error)
{
    unsigned char crc[CRC_SIZE];
    if (png_read_bytes(pixels->reader->file, crc, CRC_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    if (png_get_uint_32(crc) != pixels->crc && !is_optional(pixels))
        return fail(error, STATUS_FAILED, "damaged PNG: %s: CRC error", pixels->name);
    return STATUS_OK;
}

/* After the chunk's data: reads its CRC and the header of the next chunk. */
static enum status next_chunk(struct png_pixels *pixels, struct error *error)
{
    unsigned char length[4];
    if (check_checksum(pixels, error) != STATUS_OK ||
        png_read_bytes(pixels->reader->file, length, sizeof length, error) != STATUS_OK ||
        png_read_bytes(pixels->reader->file, pixels->name, NAME_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    pixels->left = png_get_uint_32(length);
    pixels->crc = isal_crc32(0, pixels->name, NAME_SIZE);
    for (int i = 0; i < NAME_SIZE; i++)
        if ((pixels->name[i] | 0x20) < 'a' || (pixels->name[i] | 0x20) > 'z')
            return fail(error, STATUS_FAILED, "damaged PNG: a chunk without a name");
    if (!is_optional(pixels) && strcmp(pixels->name, "IDAT") != 0 && strcmp(pixels->name, "IEND") != 0)
        return fail(error, STATUS_FAILED, "damaged PNG: %s: unknown critical chunk", pixels->name);
    if (pixels->left > LENGTH_MAX)
        return fail(error, STATUS_FAILED, "damaged PNG: %s: too long", pixels->name);
    return STATUS_OK;
}

/* Inflates some bytes; *produced is their number. If it is 0 because all input is used up, reads more of the
 * file. */
static enum status inflate_piece(struct png_pixels *pixels, unsigned char *to, size_t size, size_t *produced,
                                 struct error *error)
{
    struct inflate_state *stream = &pixels->stream;
    uint32_t input_size;
    const int code = inflate_some(stream, to, size, produced);
    if (code != 0)
        return fail(error, STATUS_FAILED, "damaged PNG: IDAT: %s",
                    code == ISAL_INCORRECT_CHECKSUM ? "a wrong checksum" : "invalid data");
    if (*produced > 0 || !inflate_needs_input(stream) || inflate_has_ended(stream))
        return STATUS_OK;
    while (pixels->left == 0) { /* also after empty IDAT chunks */
        if (next_chunk(pixels, error) != STATUS_OK)
            return STATUS_FAILED;
        if (strcmp(pixels->name, "IDAT") != 0)
            return fail(error, STATUS_FAILED, "damaged PNG: not enough image data");
    }
    if (read_data(pixels, &input_size, error) != STATUS_OK)
        return STATUS_FAILED;
    inflate_feed(stream, pixels->input, input_size);
    return STATUS_OK;
}

/* Inflates the next rows, after all of the last ones were used. */
static enum status inflate_rows(struct png_pixels *pixels, struct error *error)
{
    uint32_t left = pixels->reader->info.height - pixels->inflated;
    pixels->rows_ready = left < pixels->capacity ? left : pixels->capacity;
    pixels->rows_used = 0;
    pixels->inflated += pixels->rows_ready;
    unsigned char *to = pixels->rows;
    size_t size = pixels->rows_ready * filtered_stride(pixels);
    for (size_t produced; size > 0; to += produced, size -= produced) {
        if (inflate_has_ended(&pixels->stream))
            return fail(error, STATUS_FAILED, "damaged PNG: not enough image data");
        if (inflate_piece(pixels, to, size, &produced, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    return STATUS_OK;
}

enum status png_pixels_read(struct png_pixels *pixels, void *data, size_t pitch, uint32_t count,
                            struct error *error)
{
    const struct image_info *info = &pixels->reader->info;
    const bool swap = BYTE_ORDER == LITTLE_ENDIAN && info->type == SAMPLE_UINT16;
    const size_t size = pixels->row_size, stride = filtered_stride(pixels);
    /* Allocate at the first row, not before, as the header may promise rows that exceed the memory. */
    if (pixels->rows == NULL) {
        const size_t capacity = stride < ROWS_SIZE ? ROWS_SIZE / stride : 1;
        pixels->capacity = capacity < info->height ? (uint32_t)capacity : info->height;
        pixels->above = allocate_zeroed(1, size, "PNG", error);
        pixels->rows = pixels->above == NULL ? NULL : allocate(stride * pixels->capacity, "PNG", error);
        if (pixels->rows == NULL)
            return STATUS_FAILED;
    }
    const unsigned char *above = pixels->above;
    unsigned char *to = data;
    for (uint32_t i = 0; i < count; i++, to += pitch) {
        if (pixels->rows_used == pixels->rows_ready) {
            memmove(pixels->above, above, size); /* it may be in pixels->rows */
            above = pixels->above;
            if (inflate_rows(pixels, error) != STATUS_OK)
                return STATUS_FAILED;
        }
        /* A row whose bytes will be swapped is unfiltered in place: the filter of the row below needs it in
         * the file's byte order. */
        unsigned char *filtered = pixels->rows + pixels->rows_used++ * stride;
        unsigned char *unfiltered = swap ? filtered + 1 : to;
        const struct png_row row = {filtered + 1, above, size, pixel_size(info)};
        if (filtered[0] >= ROW_FILTER_COUNT)
            return fail(error, STATUS_FAILED, "damaged PNG: a row with the unknown filter %d", filtered[0]);
        png_unfilter_row((enum png_filter)filtered[0], &row, unfiltered);
        if (swap)
            sample_swap(unfiltered, size, to);
        above = unfiltered;
    }
    memmove(pixels->above, above, size); /* the caller may overwrite its rows */
    return STATUS_OK;
}

/* Reads the rest of the chunk's data for its CRC. */
static enum status skip_data(struct png_pixels *pixels, struct error *error)
{
    uint32_t size;
    while (pixels->left > 0)
        if (read_data(pixels, &size, error) != STATUS_OK)
            return STATUS_FAILED;
    return STATUS_OK;
}

enum status png_pixels_end(struct png_pixels *pixels, struct error *error)
{
    /* Inflate to the end of the stream, but at most 1 MiB: a small file may inflate to gigabytes. */
    enum { SURPLUS_MAX = 1 << 20 /* bytes */ };
    unsigned char extra[4096];
    size_t produced, surplus = 0;
    for (; !inflate_has_ended(&pixels->stream) && surplus <= SURPLUS_MAX; surplus += produced)
        if (inflate_piece(pixels, extra, sizeof extra, &produced, error) != STATUS_OK)
            return STATUS_FAILED;
    if (surplus > SURPLUS_MAX)
        metadata_warn(&pixels->reader->trailing, PNG_SURPLUS);
    if (skip_data(pixels, error) != STATUS_OK)
        return STATUS_FAILED;
    while (strcmp(pixels->name, "IEND") != 0) {
        if (next_chunk(pixels, error) != STATUS_OK)
            return STATUS_FAILED;
        if (is_optional(pixels))
            png_metadata_note_trailing(&pixels->reader->trailing, pixels->name);
        if (skip_data(pixels, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    return check_checksum(pixels, error);
}
