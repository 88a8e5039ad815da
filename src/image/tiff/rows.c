/* Decodes the rows of a TIFF page, by one of three methods that tiff_rows_begin chooses:
 *
 *     TIFF_ROWS_RAW         uncompressed strips ─────────▶ tiff_rows_fetch ─▶ caller
 *     TIFF_ROWS_SEQUENTIAL  tall strips, row after row ──▶ tiff_rows_fetch ─▶ caller
 *     TIFF_ROWS_STRIPS      others: strips, tiles, RGBA ─▶ tiff_rows_decode_strip ─▶ prefetch.c ─▶ caller
 *
 * Rows of one plane are decoded straight into the caller's memory. Rows of several planes, and tiles, are
 * decoded into a block and copied from there, pixels interleaved. Tried and lost: reading uncompressed data
 * as whole strips, which copies the picture once more.
 *
 * "Strip" also means a row of tiles here. libtiff numbers strips plane by plane, and tiles row by row of each
 * plane (h strips or rows of tiles, w tiles in a row):
 *
 *     strip y of plane p: p * h + y          tile (x, y) of plane p: (p * h + y) * w + x */
#include "image/tiff/tiff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LARGE_STRIP_SIZE = 8 << 20, /* bytes: larger strips, often the whole image, are decoded row after row */
    BLOCK_SIZE = 256 << 10      /* bytes of a plane that tiff_rows_fetch reads at once */
};

/* One row of tiff_copy_strided. With constant sizes the compiler turns memcpy into moves. */
static void copy_strided_row(unsigned char *to, size_t stride, const unsigned char *from, size_t size,
                             size_t pixels)
{
    switch (size) {
    case 1:
        for (size_t x = 0; x < pixels; x++)
            to[x * stride] = from[x];
        break;
    case 2:
        for (size_t x = 0; x < pixels; x++)
            memcpy(to + x * stride, from + x * 2, 2);
        break;
    case 4:
        for (size_t x = 0; x < pixels; x++)
            memcpy(to + x * stride, from + x * 4, 4);
        break;
    default:
        for (size_t x = 0; x < pixels; x++)
            memcpy(to + x * stride, from + x * size, size);
    }
}

void tiff_copy_strided(unsigned char *to, size_t to_pitch, size_t stride, const unsigned char *from,
                       size_t from_pitch, size_t size, size_t pixels, uint32_t rows)
{
    for (uint32_t y = 0; y < rows; y++, to += to_pitch, from += from_pitch)
        if (stride == size)
            memcpy(to, from, pixels * size);
        else
            copy_strided_row(to, stride, from, size, pixels);
}

uint32_t tiff_rows_of_strip(const struct tiff_rows *rows, uint32_t number)
{
    uint32_t left = rows->layout->height - number * rows->strip_height;

    return left < rows->strip_height ? left : rows->strip_height;
}

uint32_t tiff_rows_strip_count(const struct tiff_rows *rows)
{
    return (rows->layout->height - 1) / rows->strip_height + 1;
}

/* Returns the number of planes that are stored one after another: 1 if pixels are interleaved. */
static uint32_t plane_count(const struct tiff_rows *rows)
{
    return rows->layout->separate ? rows->layout->samples : 1;
}

static uint32_t tiles_across(const struct tiff_rows *rows)
{
    return (rows->layout->width - 1) / rows->tile_width + 1;
}

/* Fails if a strip, or a tile of a row of tiles, has no offset in the directory: libtiff would return the
 * file's first bytes as pixels. Old-style JPEG has other tags for offsets. */
static enum status check_offsets(const struct tiff_rows *rows, uint32_t number, struct error *error)
{
    const uint32_t across = tiles_across(rows), planes = plane_count(rows),
                   count = tiff_rows_strip_count(rows);

    for (uint32_t i = 0; i < across * planes && rows->layout->compression != COMPRESSION_OJPEG; i++)
        if (TIFFGetStrileOffset(rows->file->tiff, (i / across * count + number) * across + i % across) == 0)
            return fail(error, STATUS_FAILED,
                        "damaged TIFF: %s %u of %u has no data; if GDAL omitted it as empty (SPARSE_OK), "
                        "gdal_translate IN OUT fills it",
                        rows->layout->tiled ? "row of tiles" : "strip", number + 1, count);
    return STATUS_OK;
}

/* Clears the destination: some codecs write fewer bytes than requested and report success, which would show
 * pixels of other images. */
static void clear_for_codec(const struct tiff_rows *rows, unsigned char *to, size_t size)
{
    if (rows->layout->compression != COMPRESSION_NONE && rows->inflate[0] == NULL)
        memset(to, 0, size);
}

/* Decodes one strip or tile of one plane; `number` is libtiff's. Any error that libtiff reports means damage,
 * even if libtiff continues. */
static bool tiff_decode(struct tiff_rows *rows, uint32_t number, unsigned char *to, size_t size)
{
    TIFF *tiff = rows->file->tiff;

    if (rows->inflate[0] != NULL) {
        tiff_inflate_begin(rows->inflate[0], number);
        return tiff_inflate_rows(rows->inflate[0], to, size) && tiff_inflate_end(rows->inflate[0]);
    }
    clear_for_codec(rows, to, size);
    const tmsize_t got = rows->layout->tiled ? TIFFReadEncodedTile(tiff, number, to, (tmsize_t)size)
                                             : TIFFReadEncodedStrip(tiff, number, to, (tmsize_t)size);
    return got == (tmsize_t)size && rows->file->message[0] == '\0';
}

/* Decodes a strip of all planes, each plane into the block and from there to every samples-th sample. */
static bool decode_strip(struct tiff_rows *rows, uint32_t number, unsigned char *to)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t height = tiff_rows_of_strip(rows, number);
    const size_t pixel = (size_t)layout->bits / 8 * layout->samples;

    if (!layout->separate)
        return tiff_decode(rows, number, to, height * layout->row_size);
    const size_t plane_row = layout->row_size / layout->samples;
    for (uint32_t p = 0; p < layout->samples; p++) {
        if (!tiff_decode(rows, number + p * tiff_rows_strip_count(rows), rows->block, height * plane_row))
            return false;
        tiff_copy_strided(to + p * layout->bits / 8, layout->row_size, pixel, rows->block, plane_row,
                          layout->bits / 8, layout->width, height);
    }
    return true;
}

/* Decodes a row of tiles of all planes, and copies each to its place in the strip at `to`. */
static bool decode_tiles(struct tiff_rows *rows, uint32_t number, unsigned char *to)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t across = tiles_across(rows), height = tiff_rows_of_strip(rows, number);
    const size_t tile_pitch = (size_t)TIFFTileRowSize(rows->file->tiff);
    const size_t pixel_bits = (size_t)layout->bits * layout->samples, pixel = pixel_bits / 8;
    /* In the last row of tiles some programs encode only the rows inside the picture (PackBits). */
    const size_t size = layout->compression == COMPRESSION_PACKBITS ? height * tile_pitch
                                                                    : (size_t)TIFFTileSize(rows->file->tiff);

    for (uint32_t p = 0; p < plane_count(rows); p++)
        for (uint32_t i = 0; i < across; i++) {
            if (!tiff_decode(rows, (p * tiff_rows_strip_count(rows) + number) * across + i, rows->block,
                             size))
                return false;
            const uint32_t x = i * rows->tile_width, left = layout->width - x;
            const uint32_t pixels = left < rows->tile_width ? left : rows->tile_width;
            /* Tile widths are multiples of 16, so that tiles of few bits start at a whole byte, too. */
            if (layout->bits % 8 != 0)
                tiff_copy_strided(to + x * pixel_bits / 8, layout->row_size, 1, rows->block, tile_pitch, 1,
                                  (pixels * pixel_bits + 7) / 8, height);
            else
                tiff_copy_strided(to + x * pixel + (size_t)p * layout->bits / 8, layout->row_size, pixel,
                                  rows->block, tile_pitch, layout->separate ? layout->bits / 8 : pixel,
                                  pixels, height);
        }
    return true;
}

/* Decodes a strip of YCbCr by libtiff's RGBA interface into the block: 32 bits per pixel, as TIFFGetR(),
 * TIFFGetG() and TIFFGetB() read them. */
static bool decode_rgba(struct tiff_rows *rows, uint32_t number, unsigned char *to)
{
    const uint32_t width = rows->layout->width, height = tiff_rows_of_strip(rows, number);
    const int stop_on_error = 1;
    char reason[1024] = "";
    TIFFRGBAImage image;

    if (!TIFFRGBAImageBegin(&image, rows->file->tiff, stop_on_error, reason))
        return false;
    image.req_orientation = image.orientation;             /* do not rotate the page */
    image.row_offset = (int)(number * rows->strip_height); /* the first row */
    uint32_t *raster = (uint32_t *)rows->block;
    memset(raster, 0, (size_t)width * height * sizeof *raster);
    bool done = TIFFRGBAImageGet(&image, raster, width, height);
    TIFFRGBAImageEnd(&image);
    for (size_t i = 0; i < (size_t)width * height; i++) {
        to[3 * i] = (unsigned char)TIFFGetR(raster[i]);
        to[3 * i + 1] = (unsigned char)TIFFGetG(raster[i]);
        to[3 * i + 2] = (unsigned char)TIFFGetB(raster[i]);
    }
    return done && rows->file->message[0] == '\0';
}

enum status tiff_rows_decode_strip(struct tiff_rows *rows, uint32_t number, unsigned char *to,
                                   struct error *error)
{
    if (check_offsets(rows, number, error) != STATUS_OK)
        return STATUS_FAILED;
    const bool done = rows->layout->rgba    ? decode_rgba(rows, number, to)
                      : rows->layout->tiled ? decode_tiles(rows, number, to)
                                            : decode_strip(rows, number, to);
    return done ? STATUS_OK : tiff_file_format_error(rows->file, error);
}

/* TIFF_ROWS_SEQUENTIAL: decodes the next `count` rows of a plane, all in one strip, with the plane's inflate
 * decoder or TIFFReadScanline. `row` is the size of a row in bytes. */
static bool decode_next_rows(struct tiff_rows *rows, uint32_t plane, uint32_t first, uint32_t count,
                             unsigned char *to, size_t row)
{
    struct tiff_inflate *inflate = rows->inflate[plane];
    const uint32_t number = first / rows->strip_height, inside = first % rows->strip_height;

    if (inflate == NULL) {
        bool done = true;
        clear_for_codec(rows, to, count * row);
        for (uint32_t y = 0; done && y < count; y++)
            done = TIFFReadScanline(rows->file->tiff, to + y * row, first + y, (uint16_t)plane) == 1;
        return done && rows->file->message[0] == '\0';
    }
    if (inside == 0)
        tiff_inflate_begin(inflate, plane * tiff_rows_strip_count(rows) + number);
    return tiff_inflate_rows(inflate, to, count * row) &&
           (inside + count < tiff_rows_of_strip(rows, number) || tiff_inflate_end(inflate));
}

/* TIFF_ROWS_RAW: reads rows of one strip and plane from the file. `row` is the size of a row in
 * bytes. */
static bool read_uncompressed(const struct tiff_rows *rows, uint32_t plane, uint32_t first, uint32_t count,
                              unsigned char *to, size_t row)
{
    struct tiff_file *file = rows->file;
    const uint32_t number = plane * tiff_rows_strip_count(rows) + first / rows->strip_height,
                   inside = first % rows->strip_height;
    const bool whole = TIFFGetStrileByteCount(file->tiff, number) >= (uint64_t)(inside + count) * row;
    const uint64_t strip = TIFFGetStrileOffset(file->tiff, number);

    /* strip + inside * row could wrap to the start of the file. */
    if (whole && strip <= file->size && tiff_file_read_at(file, strip + inside * row, to, count * row)) {
        if (TIFFIsByteSwapped(file->tiff))
            tiff_layout_swap(rows->layout, to, count * row);
        return true;
    }
    snprintf(file->message, sizeof file->message, "%s",
             whole ? "the file ends before its pixels do" : "a strip is shorter than its rows");
    return false;
}

enum status tiff_rows_fetch(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                            size_t pitch, struct error *error)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t planes = plane_count(rows);
    const size_t row = layout->row_size / planes, sample = layout->bits / 8;

    while (count > 0) {
        const uint32_t number = first / rows->strip_height,
                       left = tiff_rows_of_strip(rows, number) - first % rows->strip_height;
        uint32_t rows_at_once = left < count ? left : count; /* rows of this strip to read at once */
        rows_at_once = rows_at_once < rows->block_rows ? rows_at_once : rows->block_rows;
        if (check_offsets(rows, number, error) != STATUS_OK)
            return STATUS_FAILED;
        for (uint32_t p = 0; p < planes; p++) {
            unsigned char *dest = planes > 1 ? rows->block : to;
            if (!(rows->method == TIFF_ROWS_RAW ? read_uncompressed(rows, p, first, rows_at_once, dest, row)
                                                : decode_next_rows(rows, p, first, rows_at_once, dest, row)))
                return tiff_file_format_error(rows->file, error);
            if (planes > 1)
                tiff_copy_strided(to + p * sample, pitch, planes * sample, dest, row, sample, layout->width,
                                  rows_at_once);
            else /* rows were read adjacent to each other: move them apart, from the last one on */
                for (uint32_t y = rows_at_once; y-- > 1 && pitch > row;)
                    memmove(to + y * pitch, to + y * row, row);
        }
        first += rows_at_once;
        count -= rows_at_once;
        to += rows_at_once * pitch;
    }
    return STATUS_OK;
}

static bool is_deflate(const struct tiff_layout *layout)
{
    return layout->compression == COMPRESSION_ADOBE_DEFLATE || layout->compression == COMPRESSION_DEFLATE;
}

/* Returns the method for the page. Sequential decoding saves the memory of a whole strip, but threads cannot
 * share a strip, so that only tall strips are decoded so. */
static enum tiff_rows_method choose_method(const struct tiff_rows *rows)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t planes = plane_count(rows);
    uint16_t order = FILLORDER_MSB2LSB;

    TIFFGetFieldDefaulted(rows->file->tiff, TIFFTAG_FILLORDER, &order);
    if (layout->tiled || layout->rgba)
        return TIFF_ROWS_STRIPS;
    if (layout->compression == COMPRESSION_NONE && layout->bits % 8 == 0 && order == FILLORDER_MSB2LSB)
        return TIFF_ROWS_RAW;
    /* libtiff decodes all rows of JBIG and WebP at once. One libtiff handle decodes one plane at a time, and
       each plane of deflate has a decoder of its own. */
    const bool is_sequential =
        is_deflate(layout) ||
        (planes == 1 && layout->compression != COMPRESSION_JBIG && layout->compression != COMPRESSION_WEBP);
    return is_sequential && rows->strip_height * layout->row_size / planes > LARGE_STRIP_SIZE
               ? TIFF_ROWS_SEQUENTIAL
               : TIFF_ROWS_STRIPS;
}

/* Fails if libtiff decodes rows of another size than the layout's: buffers would overflow. */
static enum status check_sizes(const struct tiff_rows *rows, struct error *error)
{
    const struct tiff_layout *layout = rows->layout;
    const uint64_t row = layout->separate ? layout->row_size / layout->samples : layout->row_size;

    if (layout->rgba)
        return STATUS_OK;
    if (!layout->tiled && TIFFScanlineSize64(rows->file->tiff) == row)
        return STATUS_OK;
    const uint64_t tile_bits =
        (uint64_t)rows->tile_width * layout->bits * (layout->separate ? 1 : layout->samples);
    if (layout->tiled && TIFFTileRowSize64(rows->file->tiff) == (tile_bits + 7) / 8 &&
        (rows->tile_width % 8 == 0 || layout->bits % 8 == 0))
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "damaged TIFF: rows are not of the size that the tags say");
}

enum status tiff_rows_begin(struct tiff_rows *rows, struct tiff_file *file, const struct tiff_layout *layout,
                            struct error *error)
{
    uint32_t height = layout->height;

    *rows = (struct tiff_rows){.file = file, .layout = layout};
    file->message[0] = '\0'; /* earlier messages are about tags that climg does not need */

    /* The size of strips or tiles. */
    if (layout->tiled) {
        TIFFGetField(file->tiff, TIFFTAG_TILEWIDTH, &rows->tile_width);
        TIFFGetField(file->tiff, TIFFTAG_TILELENGTH, &height);
    } else {
        rows->tile_width = layout->width;
        TIFFGetFieldDefaulted(file->tiff, TIFFTAG_ROWSPERSTRIP, &height);
    }
    if (height == 0 || rows->tile_width == 0)
        return fail(error, STATUS_FAILED, "damaged TIFF: strips or tiles without size");
    rows->strip_height = height < layout->height ? height : layout->height;
    if (check_sizes(rows, error) != STATUS_OK)
        return STATUS_FAILED;
    rows->method = choose_method(rows);

    /* Decoders of deflate. */
    const uint32_t planes = plane_count(rows), decoders = rows->method == TIFF_ROWS_SEQUENTIAL ? planes : 1;
    for (uint32_t p = 0; p < decoders && is_deflate(layout) && !layout->rgba; p++) {
        rows->inflate[p] = tiff_inflate_open(file, layout, error);
        if (rows->inflate[p] == NULL)
            return STATUS_FAILED;
    }

    /* The block: an RGBA raster, a tile, or rows of one plane. A single plane of strips needs none. */
    const size_t row = layout->row_size / planes;
    rows->block_rows = row < BLOCK_SIZE ? (uint32_t)(BLOCK_SIZE / row) : 1;
    if (layout->rgba)
        rows->memory = (uint64_t)layout->width * rows->strip_height * sizeof(uint32_t);
    else if (layout->tiled)
        rows->memory = (uint64_t)TIFFTileSize(file->tiff);
    else if (planes > 1)
        rows->memory = row * (rows->method == TIFF_ROWS_STRIPS ? rows->strip_height : rows->block_rows);
    rows->block = allocate(rows->memory, "a TIFF tile", error);
    return rows->block == NULL ? STATUS_FAILED : STATUS_OK;
}

void tiff_rows_end(struct tiff_rows *rows)
{
    for (int p = 0; p < TIFF_PLANES; p++) {
        tiff_inflate_close(rows->inflate[p]);
        rows->inflate[p] = NULL;
    }
    free(rows->block);
    rows->block = NULL;
}
