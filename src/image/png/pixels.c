/* Reads the pixels of a PNG. The IDAT chunks contain one zlib stream of filtered rows.
 *
 *     chunks ─▶ inflate_piece ─▶ 256 KiB of filtered rows ─▶ unfilter ─▶ expand or swap ─▶ rows of the caller
 *
 * The checksums of chunks and of the stream must be right. The stream may be longer than the picture: up to
 * 1 MiB is ignored; if it is longer, its rest is skipped with a warning. */
#include "image/inflate.h"
#include "image/png/png.h"

#include <stdlib.h>

enum {
    INPUT_SIZE = 64 << 10, /* bytes of the file that are read at once */
    /* Bytes of filtered rows that are inflated at once: they stay in a core's cache until they are used. */
    ROWS_SIZE = 256 << 10,
};

struct png_pixels {
    const struct png_header *header; /* the caller's */
    struct png_chunk *chunk;         /* the caller's */
    struct inflate_state stream;
    unsigned char *rows;  /* filtered rows, each after the number of its filter */
    unsigned char *above; /* copy of the last row that was returned, as it is in the file */

    /* The picture, or the pass. */
    uint32_t width, height;
    size_t row_size;     /* bytes of an unfiltered row */
    uint32_t capacity;   /* of `rows`, in rows */
    uint32_t rows_ready; /* number of rows in `rows` */
    uint32_t rows_used;  /* number of those that were returned */
    uint32_t inflated;   /* rows that were inflated so far */

    unsigned char input[INPUT_SIZE];
};

/* Returns the bits of a pixel in the file. */
static size_t pixel_bits(const struct png_header *header)
{
    const int channels =
        header->colour_type == PNG_PALETTE
            ? 1
            : ((header->colour_type & PNG_COLOUR) != 0 ? 3 : 1) + ((header->colour_type & PNG_ALPHA) != 0);
    return (size_t)header->bits * (size_t)channels;
}

static size_t file_row_size(const struct png_header *header, uint32_t width)
{
    return (width * pixel_bits(header) + 7) / 8;
}

/* Returns the bytes from row to row of `rows`. */
static size_t filtered_stride(const struct png_pixels *pixels)
{
    return pixels->row_size + 1;
}

struct png_pixels *png_pixels_open(const struct png_header *header, struct png_chunk *chunk,
                                   struct error *error)
{
    struct png_pixels *pixels = allocate_zeroed(1, sizeof *pixels, "PNG", error);
    if (pixels == NULL)
        return NULL;
    pixels->header = header;
    pixels->chunk = chunk;
    inflate_begin(&pixels->stream);
    png_pixels_begin(pixels, header->width, header->height);
    return pixels;
}

void png_pixels_begin(struct png_pixels *pixels, uint32_t width, uint32_t height)
{
    pixels->width = width;
    pixels->height = height;
    pixels->row_size = file_row_size(pixels->header, width);
    const size_t capacity = ROWS_SIZE / filtered_stride(pixels);
    pixels->capacity = capacity == 0 ? 1 : capacity < height ? (uint32_t)capacity : height;
    pixels->rows_ready = pixels->rows_used = pixels->inflated = 0;
    if (pixels->above != NULL)
        memset(pixels->above, 0, pixels->row_size);
}

/* Allocates at the first row, not before, as the header may promise rows that exceed the memory. Passes of an
 * interlaced picture use the same memory. */
static enum status allocate_rows(struct png_pixels *pixels, struct error *error)
{
    const struct png_header *header = pixels->header;
    const size_t row = file_row_size(header, header->width) + 1;
    const size_t whole = row > ROWS_SIZE / header->height ? ROWS_SIZE : row * header->height;
    if (pixels->rows != NULL)
        return STATUS_OK;
    pixels->above = allocate_zeroed(1, row, "PNG", error);
    pixels->rows = pixels->above == NULL ? NULL : allocate(row > whole ? row : whole, "PNG", error);
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

/* Feeds the inflater with more of the file. Skips empty IDAT chunks. */
static enum status feed_inflater(struct png_pixels *pixels, struct error *error)
{
    struct png_chunk *chunk = pixels->chunk;
    bool is_damaged;
    while (chunk->left == 0) {
        if (png_chunk_end(chunk, &is_damaged, error) != STATUS_OK ||
            png_chunk_next(chunk, error) != STATUS_OK)
            return STATUS_FAILED;
        if (strcmp(chunk->name, "IDAT") != 0)
            return fail(error, STATUS_FAILED, "damaged PNG: not enough image data");
    }
    const uint32_t size = chunk->left < INPUT_SIZE ? chunk->left : INPUT_SIZE;
    enum status status = png_chunk_read(chunk, pixels->input, size, error);
    inflate_feed(&pixels->stream, pixels->input, size);
    return status;
}

static const char *inflate_error_text(int result)
{
    switch (result) {
    case ISAL_NEED_DICT:
        return "it needs a preset dictionary";
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

/* Inflates some bytes; *made is their number. If it is 0 because all input is used up, feeds the stream. */
static enum status inflate_piece(struct png_pixels *pixels, unsigned char *to, size_t size, size_t *made,
                                 struct error *error)
{
    struct inflate_state *stream = &pixels->stream;
    const int code = inflate_some(stream, to, size, made);
    if (code != 0)
        return fail(error, STATUS_FAILED, "damaged PNG: IDAT: %s", inflate_error_text(code));
    const bool needs_input = *made == 0 && inflate_is_hungry(stream) && !inflate_has_ended(stream);
    return needs_input ? feed_inflater(pixels, error) : STATUS_OK;
}

/* Inflates the next rows, after all of the last ones were used. */
static enum status inflate_rows(struct png_pixels *pixels, struct error *error)
{
    uint32_t left = pixels->height - pixels->inflated;
    pixels->rows_ready = left < pixels->capacity ? left : pixels->capacity;
    pixels->rows_used = 0;
    pixels->inflated += pixels->rows_ready;
    unsigned char *to = pixels->rows;
    size_t size = pixels->rows_ready * filtered_stride(pixels);
    for (size_t made; size > 0; to += made, size -= made) {
        if (inflate_has_ended(&pixels->stream))
            return fail(error, STATUS_FAILED, "damaged PNG: not enough image data");
        if (inflate_piece(pixels, to, size, &made, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    return STATUS_OK;
}

/* Replaces samples of at most 8 bits, the highest bits first, by entries of the header's table. */
static void expand_by_table(const struct png_header *header, const unsigned char *from, uint32_t width,
                            unsigned char *to)
{
    const size_t size =
        (header->colour_type == PNG_PALETTE ? 3 : 1) + (size_t)header->has_transparency; /* of a pixel */
    const unsigned bits = (unsigned)header->bits, mask = (1u << bits) - 1;
    for (uint32_t x = 0; x < width; from++)
        for (unsigned shift = 8; shift > 0 && x < width; x++, to += size) {
            shift -= bits;
            memcpy(to, header->table[*from >> shift & mask], size);
        }
}

/* Appends alpha to samples of whole bytes: 0 if they are tRNS's. Swaps samples of 16 bits to the host's byte
 * order. */
static void expand_transparency(const struct png_header *header, const unsigned char *from, uint32_t width,
                                unsigned char *to)
{
    const size_t channels = header->colour_type == PNG_RGB ? 3 : 1;
    const bool is_wide = header->bits == 16;
    for (uint32_t x = 0; x < width; x++) {
        uint16_t pixel[4] = {0};
        bool is_transparent = true;
        for (size_t c = 0; c < channels; c++, from += 1 + is_wide) {
            pixel[c] = is_wide ? (uint16_t)(from[0] << 8 | from[1]) : from[0];
            is_transparent = is_transparent && pixel[c] == header->transparent[c];
        }
        pixel[channels] = is_transparent ? 0 : UINT16_MAX;
        for (size_t c = 0; c <= channels && !is_wide; c++)
            *to++ = (unsigned char)pixel[c];
        if (is_wide) {
            memcpy(to, pixel, 2 * (channels + 1));
            to += 2 * (channels + 1);
        }
    }
}

enum status png_pixels_read(struct png_pixels *pixels, void *data, size_t pitch, uint32_t count,
                            struct error *error)
{
    const struct png_header *header = pixels->header;
    const bool is_expanded = header->has_table || header->has_transparency,
               is_swapped = BYTE_ORDER == LITTLE_ENDIAN && header->bits == 16;
    const size_t size = pixels->row_size, pixel = pixel_bits(header) / 8;
    if (allocate_rows(pixels, error) != STATUS_OK)
        return STATUS_FAILED;
    const unsigned char *above = pixels->above;
    unsigned char *to = data;
    for (uint32_t i = 0; i < count; i++, to += pitch) {
        if (pixels->rows_used == pixels->rows_ready) {
            memmove(pixels->above, above, size); /* it may be in pixels->rows */
            above = pixels->above;
            if (inflate_rows(pixels, error) != STATUS_OK)
                return STATUS_FAILED;
        }
        /* A row that is changed further is unfiltered in place: the filter of the row below needs it as it is
         * in the file. */
        unsigned char *filtered = pixels->rows + pixels->rows_used++ * filtered_stride(pixels);
        unsigned char *unfiltered = is_expanded || is_swapped ? filtered + 1 : to;
        const struct png_row row = {filtered + 1, above, size, pixel > 0 ? pixel : 1};
        if (filtered[0] >= ROW_FILTER_COUNT)
            return fail(error, STATUS_FAILED, "damaged PNG: a row with the unknown filter %d", filtered[0]);
        png_unfilter_row((enum png_filter)filtered[0], &row, unfiltered);
        if (header->has_table)
            expand_by_table(header, unfiltered, pixels->width, to);
        else if (header->has_transparency)
            expand_transparency(header, unfiltered, pixels->width, to);
        else if (is_swapped)
            sample_swap(unfiltered, size, to);
        above = unfiltered;
    }
    memmove(pixels->above, above, size); /* the caller may overwrite its rows */
    return STATUS_OK;
}

/* After the last row: inflates to the end of the stream, but at most 1 MiB, and warns if there is more. A
 * small file may inflate to gigabytes. */
static enum status skip_surplus(struct png_pixels *pixels, struct metadata *trailing, struct error *error)
{
    enum { SURPLUS_MAX = 1 << 20 /* bytes */ };
    unsigned char extra[4096];
    size_t made, surplus = 0;
    for (; !inflate_has_ended(&pixels->stream) && surplus <= SURPLUS_MAX; surplus += made)
        if (inflate_piece(pixels, extra, sizeof extra, &made, error) != STATUS_OK)
            return STATUS_FAILED;
    if (surplus > SURPLUS_MAX)
        metadata_warn(trailing, "has more image data than its header says, which is left out");
    return STATUS_OK;
}

enum status png_pixels_end(struct png_pixels *pixels, struct metadata *trailing, struct error *error)
{
    struct png_chunk *chunk = pixels->chunk;
    bool is_damaged; /* an optional chunk, which is left out here */
    if (skip_surplus(pixels, trailing, error) != STATUS_OK ||
        png_chunk_end(chunk, &is_damaged, error) != STATUS_OK)
        return STATUS_FAILED;
    while (strcmp(chunk->name, "IEND") != 0) {
        if (png_chunk_next(chunk, error) != STATUS_OK)
            return STATUS_FAILED;
        if (png_chunk_is_optional(chunk))
            png_metadata_note_trailing(trailing, chunk->name);
        else if (strcmp(chunk->name, "IDAT") != 0 && strcmp(chunk->name, "IEND") != 0)
            return fail(error, STATUS_FAILED, "damaged PNG: %s: out of place", chunk->name);
        if (png_chunk_end(chunk, &is_damaged, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    return STATUS_OK;
}
