/* Decodes the rows of a TIFF page, by one of three methods that tiff_decoder_open chooses:
 *
 *     TIFF_DECODE_RAW         uncompressed strips ────────▶ tiff_decoder_fetch ─▶ caller
 *     TIFF_DECODE_SEQUENTIAL  tall strips, row after row ─▶ tiff_decoder_fetch ─▶ caller
 *     TIFF_DECODE_STRIPS      others ─▶ tiff_decoder_decode_strip ─▶ prefetch.c ─▶ caller
 *
 * Strips of one plane are decoded into the caller's memory. Strips of several planes, and tiles, are decoded
 * into a block and copied from there, pixels interleaved. Tried and lost: reading uncompressed data as whole
 * strips, which copies the picture once more.
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
    BLOCK_SIZE = 256 << 10      /* bytes of a plane that tiff_decoder_fetch reads at once */
};

void tiff_copy_strided(unsigned char *to, size_t to_pitch, size_t stride, const unsigned char *from,
                       size_t from_pitch, size_t size, size_t pixels, uint32_t rows)
{
    for (uint32_t y = 0; y < rows; y++, to += to_pitch, from += from_pitch)
        if (stride == size)
            memcpy(to, from, pixels * size);
        else /* with constant sizes the compiler turns memcpy into moves */
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

uint32_t tiff_decoder_strip_rows(const struct tiff_decoder *decoder, uint32_t number)
{
    uint32_t left = decoder->layout->height - number * decoder->strip_height;

    return left < decoder->strip_height ? left : decoder->strip_height;
}

uint32_t tiff_decoder_strip_count(const struct tiff_decoder *decoder)
{
    return (decoder->layout->height - 1) / decoder->strip_height + 1;
}

/* Returns the number of planes that are stored one after another: 1 if pixels are interleaved. */
static uint32_t plane_count(const struct tiff_decoder *decoder)
{
    return decoder->layout->separate ? decoder->layout->samples : 1;
}

static uint32_t tiles_across(const struct tiff_decoder *decoder)
{
    return (decoder->layout->width - 1) / decoder->tile_width + 1;
}

/* Fails if a strip, or a tile of a row of tiles, has the offset 0: libtiff would return the file's first
 * bytes as pixels. Old-style JPEG has other tags for offsets. */
static enum status check_offsets(const struct tiff_decoder *decoder, uint32_t number, struct error *error)
{
    const uint32_t across = tiles_across(decoder), planes = plane_count(decoder),
                   count = tiff_decoder_strip_count(decoder);

    for (uint32_t i = 0; i < across * planes && decoder->layout->compression != COMPRESSION_OJPEG; i++)
        if (TIFFGetStrileOffset(decoder->file->tiff, (i / across * count + number) * across + i % across) ==
            0)
            return fail(error, STATUS_FAILED,
                        "damaged TIFF: %s %u of %u has no data; if GDAL omitted it as empty (SPARSE_OK), "
                        "gdal_translate IN OUT fills it",
                        decoder->layout->tiled ? "row of tiles" : "strip", number + 1, count);
    return STATUS_OK;
}

/* Before libtiff decodes: clears the destination. Some codecs write fewer bytes than requested and report
 * success, which would show pixels of other images. */
static void clear_for_codec(const struct tiff_decoder *decoder, unsigned char *to, size_t size)
{
    if (decoder->layout->compression != COMPRESSION_NONE)
        memset(to, 0, size);
}

/* Decodes one strip or tile of one plane; `number` is libtiff's. Any message of an error means damage, even
 * if libtiff continues. */
static bool tiff_decode(struct tiff_decoder *decoder, uint32_t number, unsigned char *to, size_t size)
{
    TIFF *tiff = decoder->file->tiff;

    if (decoder->inflater[0] != NULL) {
        tiff_inflate_begin(decoder->inflater[0], number);
        return tiff_inflate_rows(decoder->inflater[0], to, size) && tiff_inflate_end(decoder->inflater[0]);
    }
    clear_for_codec(decoder, to, size);
    const tmsize_t got = decoder->layout->tiled ? TIFFReadEncodedTile(tiff, number, to, (tmsize_t)size)
                                                : TIFFReadEncodedStrip(tiff, number, to, (tmsize_t)size);
    return got == (tmsize_t)size && decoder->file->message[0] == '\0';
}

/* Decodes a strip of all planes: each plane into the block, and copies it from there to its channel in `to`.
 */
static bool decode_strip(struct tiff_decoder *decoder, uint32_t number, unsigned char *to)
{
    const struct tiff_layout *layout = decoder->layout;
    const uint32_t height = tiff_decoder_strip_rows(decoder, number);
    const size_t pixel = (size_t)layout->bits / 8 * layout->samples;

    if (!layout->separate)
        return tiff_decode(decoder, number, to, height * layout->row_size);
    const size_t plane_row = layout->row_size / layout->samples;
    for (uint32_t p = 0; p < layout->samples; p++) {
        if (!tiff_decode(decoder, number + p * tiff_decoder_strip_count(decoder), decoder->block,
                         height * plane_row))
            return false;
        tiff_copy_strided(to + p * layout->bits / 8, layout->row_size, pixel, decoder->block, plane_row,
                          layout->bits / 8, layout->width, height);
    }
    return true;
}

/* Decodes a row of tiles of all planes, and copies each tile to its place in the strip at `to`. */
static bool decode_tiles(struct tiff_decoder *decoder, uint32_t number, unsigned char *to)
{
    const struct tiff_layout *layout = decoder->layout;
    const uint32_t across = tiles_across(decoder), height = tiff_decoder_strip_rows(decoder, number);
    const size_t tile_pitch = (size_t)TIFFTileRowSize(decoder->file->tiff);
    const size_t pixel_bits = (size_t)layout->bits * layout->samples, pixel = pixel_bits / 8;
    /* In the last row of tiles some programs encode only the rows inside the picture (PackBits). */
    const size_t size = layout->compression == COMPRESSION_PACKBITS
                            ? height * tile_pitch
                            : (size_t)TIFFTileSize(decoder->file->tiff);

    for (uint32_t p = 0; p < plane_count(decoder); p++)
        for (uint32_t i = 0; i < across; i++) {
            if (!tiff_decode(decoder, (p * tiff_decoder_strip_count(decoder) + number) * across + i,
                             decoder->block, size))
                return false;
            const uint32_t x = i * decoder->tile_width, left = layout->width - x;
            const uint32_t pixels = left < decoder->tile_width ? left : decoder->tile_width;
            /* Tile widths are multiples of 16, so that tiles of few bits start at a whole byte, too. */
            if (layout->bits % 8 != 0)
                tiff_copy_strided(to + x * pixel_bits / 8, layout->row_size, 1, decoder->block, tile_pitch, 1,
                                  (pixels * pixel_bits + 7) / 8, height);
            else
                tiff_copy_strided(to + x * pixel + (size_t)p * layout->bits / 8, layout->row_size, pixel,
                                  decoder->block, tile_pitch, layout->separate ? layout->bits / 8 : pixel,
                                  pixels, height);
        }
    return true;
}

/* Decodes a strip of YCbCr by libtiff's RGBA interface into the block, which has 32 bits per pixel, and
 * copies RGB from there. */
static bool decode_rgba(struct tiff_decoder *decoder, uint32_t number, unsigned char *to)
{
    const uint32_t width = decoder->layout->width, height = tiff_decoder_strip_rows(decoder, number);
    const int stop_on_error = 1;
    char reason[1024] = "";
    TIFFRGBAImage image;

    if (!TIFFRGBAImageBegin(&image, decoder->file->tiff, stop_on_error, reason))
        return false;
    image.req_orientation = image.orientation;                /* do not rotate the page */
    image.row_offset = (int)(number * decoder->strip_height); /* the first row */
    uint32_t *raster = (uint32_t *)decoder->block;
    memset(raster, 0, (size_t)width * height * sizeof *raster);
    bool done = TIFFRGBAImageGet(&image, raster, width, height);
    TIFFRGBAImageEnd(&image);
    for (size_t i = 0; i < (size_t)width * height; i++) {
        to[3 * i] = (unsigned char)TIFFGetR(raster[i]);
        to[3 * i + 1] = (unsigned char)TIFFGetG(raster[i]);
        to[3 * i + 2] = (unsigned char)TIFFGetB(raster[i]);
    }
    return done && decoder->file->message[0] == '\0';
}

enum status tiff_decoder_decode_strip(struct tiff_decoder *decoder, uint32_t number, unsigned char *to,
                                      struct error *error)
{
    if (check_offsets(decoder, number, error) != STATUS_OK)
        return STATUS_FAILED;
    const bool done = decoder->layout->needs_rgba ? decode_rgba(decoder, number, to)
                      : decoder->layout->tiled    ? decode_tiles(decoder, number, to)
                                                  : decode_strip(decoder, number, to);
    return done ? STATUS_OK : tiff_file_fail_reading(decoder->file, error);
}

/* TIFF_DECODE_SEQUENTIAL: decodes the next `count` rows of a plane, all in one strip, with the plane's
 * inflater or TIFFReadScanline. `row` is the size of a row in bytes. */
static bool decode_next_rows(struct tiff_decoder *decoder, uint32_t plane, uint32_t first, uint32_t count,
                             unsigned char *to, size_t row)
{
    struct tiff_inflater *inflater = decoder->inflater[plane];
    const uint32_t number = first / decoder->strip_height, inside = first % decoder->strip_height;

    if (inflater == NULL) {
        bool done = true;
        clear_for_codec(decoder, to, count * row);
        for (uint32_t y = 0; done && y < count; y++)
            done = TIFFReadScanline(decoder->file->tiff, to + y * row, first + y, (uint16_t)plane) == 1;
        return done && decoder->file->message[0] == '\0';
    }
    if (inside == 0)
        tiff_inflate_begin(inflater, plane * tiff_decoder_strip_count(decoder) + number);
    return tiff_inflate_rows(inflater, to, count * row) &&
           (inside + count < tiff_decoder_strip_rows(decoder, number) || tiff_inflate_end(inflater));
}

/* TIFF_DECODE_RAW: reads rows of one strip and plane from the file. `row` is the size of a row in
 * bytes. */
static bool read_uncompressed(const struct tiff_decoder *decoder, uint32_t plane, uint32_t first,
                              uint32_t count, unsigned char *to, size_t row)
{
    struct tiff_file *file = decoder->file;
    const uint32_t number = plane * tiff_decoder_strip_count(decoder) + first / decoder->strip_height,
                   inside = first % decoder->strip_height;
    const bool whole = TIFFGetStrileByteCount(file->tiff, number) >= (uint64_t)(inside + count) * row;
    const uint64_t strip = TIFFGetStrileOffset(file->tiff, number);

    /* strip + inside * row could wrap to the start of the file. */
    if (whole && strip <= file->size && tiff_file_read_at(file, strip + inside * row, to, count * row)) {
        if (TIFFIsByteSwapped(file->tiff))
            tiff_layout_swap(decoder->layout, to, count * row);
        return true;
    }
    snprintf(file->message, sizeof file->message, "%s",
             whole ? "the file ends before its pixels do" : "a strip is shorter than its rows");
    return false;
}

enum status tiff_decoder_fetch(struct tiff_decoder *decoder, uint32_t first, uint32_t count,
                               unsigned char *to, size_t pitch, struct error *error)
{
    const struct tiff_layout *layout = decoder->layout;
    const uint32_t planes = plane_count(decoder);
    const size_t row = layout->row_size / planes, sample = layout->bits / 8;

    while (count > 0) {
        const uint32_t number = first / decoder->strip_height,
                       left = tiff_decoder_strip_rows(decoder, number) - first % decoder->strip_height;
        uint32_t rows_at_once = left < count ? left : count; /* rows of this strip to read at once */
        rows_at_once = rows_at_once < decoder->block_rows ? rows_at_once : decoder->block_rows;
        if (check_offsets(decoder, number, error) != STATUS_OK)
            return STATUS_FAILED;
        for (uint32_t p = 0; p < planes; p++) {
            unsigned char *dest = planes > 1 ? decoder->block : to;
            if (!(decoder->method == TIFF_DECODE_RAW
                      ? read_uncompressed(decoder, p, first, rows_at_once, dest, row)
                      : decode_next_rows(decoder, p, first, rows_at_once, dest, row)))
                return tiff_file_fail_reading(decoder->file, error);
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
 * share a strip, so that it is used only for tall strips. */
static enum tiff_decoding choose_method(const struct tiff_decoder *decoder)
{
    const struct tiff_layout *layout = decoder->layout;
    const uint32_t planes = plane_count(decoder);
    uint16_t order = FILLORDER_MSB2LSB;

    TIFFGetFieldDefaulted(decoder->file->tiff, TIFFTAG_FILLORDER, &order);
    if (layout->tiled || layout->needs_rgba)
        return TIFF_DECODE_STRIPS;
    if (layout->compression == COMPRESSION_NONE && layout->bits % 8 == 0 && order == FILLORDER_MSB2LSB)
        return TIFF_DECODE_RAW;
    /* libtiff decodes all rows of JBIG and WebP at once. One libtiff handle decodes one plane at a time, and
       each plane of deflate has a decoder of its own. */
    const bool is_sequential =
        is_deflate(layout) ||
        (planes == 1 && layout->compression != COMPRESSION_JBIG && layout->compression != COMPRESSION_WEBP);
    return is_sequential && decoder->strip_height * layout->row_size / planes > LARGE_STRIP_SIZE
               ? TIFF_DECODE_SEQUENTIAL
               : TIFF_DECODE_STRIPS;
}

/* Fails if libtiff's rows have another size than the layout's: buffers would overflow. */
static enum status check_sizes(const struct tiff_decoder *decoder, struct error *error)
{
    const struct tiff_layout *layout = decoder->layout;
    const uint64_t row = layout->separate ? layout->row_size / layout->samples : layout->row_size;

    if (layout->needs_rgba)
        return STATUS_OK;
    if (!layout->tiled && TIFFScanlineSize64(decoder->file->tiff) == row)
        return STATUS_OK;
    const uint64_t tile_bits =
        (uint64_t)decoder->tile_width * layout->bits * (layout->separate ? 1 : layout->samples);
    if (layout->tiled && TIFFTileRowSize64(decoder->file->tiff) == (tile_bits + 7) / 8 &&
        (decoder->tile_width % 8 == 0 || layout->bits % 8 == 0))
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "damaged TIFF: rows are not of the size that the tags say");
}

enum status tiff_decoder_open(struct tiff_decoder *decoder, struct tiff_file *file,
                              const struct tiff_layout *layout, struct error *error)
{
    uint32_t height = layout->height;

    *decoder = (struct tiff_decoder){.file = file, .layout = layout};
    file->message[0] = '\0'; /* earlier messages are about tags that climg does not need */

    /* The size of strips or tiles. */
    if (layout->tiled) {
        TIFFGetField(file->tiff, TIFFTAG_TILEWIDTH, &decoder->tile_width);
        TIFFGetField(file->tiff, TIFFTAG_TILELENGTH, &height);
    } else {
        decoder->tile_width = layout->width;
        TIFFGetFieldDefaulted(file->tiff, TIFFTAG_ROWSPERSTRIP, &height);
    }
    if (height == 0 || decoder->tile_width == 0)
        return fail(error, STATUS_FAILED, "damaged TIFF: strips or tiles without size");
    decoder->strip_height = height < layout->height ? height : layout->height;
    if (check_sizes(decoder, error) != STATUS_OK)
        return STATUS_FAILED;
    decoder->method = choose_method(decoder);

    /* Decoders of deflate. */
    const uint32_t planes = plane_count(decoder),
                   decoders = decoder->method == TIFF_DECODE_SEQUENTIAL ? planes : 1;
    for (uint32_t p = 0; p < decoders && is_deflate(layout); p++) {
        decoder->inflater[p] = tiff_inflate_open(file, layout, error);
        if (decoder->inflater[p] == NULL)
            return STATUS_FAILED;
    }

    /* The block: an RGBA raster, a tile, or rows of one plane. A single plane of strips needs none. */
    const size_t row = layout->row_size / planes;
    decoder->block_rows = row < BLOCK_SIZE ? (uint32_t)(BLOCK_SIZE / row) : 1;
    if (layout->needs_rgba)
        decoder->memory = (uint64_t)layout->width * decoder->strip_height * sizeof(uint32_t);
    else if (layout->tiled)
        decoder->memory = (uint64_t)TIFFTileSize(file->tiff);
    else if (planes > 1)
        decoder->memory =
            row * (decoder->method == TIFF_DECODE_STRIPS ? decoder->strip_height : decoder->block_rows);
    decoder->block = allocate(decoder->memory, "a TIFF tile", error);
    return decoder->block == NULL ? STATUS_FAILED : STATUS_OK;
}

void tiff_decoder_close(struct tiff_decoder *decoder)
{
    for (int p = 0; p < TIFF_PLANES; p++) {
        tiff_inflate_close(decoder->inflater[p]);
        decoder->inflater[p] = NULL;
    }
    free(decoder->block);
    decoder->block = NULL;
}
