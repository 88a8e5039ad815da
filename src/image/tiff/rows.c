/*     strips and tiles ──▶ block ──▶ strip ─────────▶ fetch_strips ────────────▶ caller
 *     tall strips ──────────────────────────────────▶ fetch_scanlines ─────────▶ caller
 *     YCbCr ──▶ libtiff's RGBA raster ──▶ strip ────▶ fetch_strips ────────────▶ caller
 */
#include "image/tiff/rows.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Strips up to this size are decoded at once (which libdeflate needs to be fast); of taller ones, often the
 * whole image, libtiff decodes row after row. */
enum { TALL_STRIP = 8 << 20 };

static void place_bytes(unsigned char *to, size_t stride, const unsigned char *from, size_t size,
                        size_t pixels)
{
    /* Constant sizes let the compiler turn memcpy into moves. */
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

void tiff_place(unsigned char *to, size_t to_pitch, size_t stride, const unsigned char *from,
                size_t from_pitch, size_t size, size_t pixels, uint32_t rows)
{
    for (uint32_t y = 0; y < rows; y++, to += to_pitch, from += from_pitch)
        if (stride == size)
            memcpy(to, from, pixels * size);
        else
            place_bytes(to, stride, from, size, pixels);
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

/* Planes of the file, and tiles side by side. */
static uint32_t plane_count(const struct tiff_rows *rows)
{
    return rows->layout->separate ? rows->layout->samples : 1;
}

static uint32_t tiles_across(const struct tiff_rows *rows)
{
    return (rows->layout->width - 1) / rows->tile_width + 1;
}

/* libtiff takes strips and tiles that the directory does not list for ones at offset 0, and gives the file's
 * first bytes for pixels. Old-style JPEG has ways of its own to list them. */
static enum status check_listed(const struct tiff_rows *rows, uint32_t number, struct error *error)
{
    const uint32_t across = tiles_across(rows), planes = plane_count(rows),
                   count = tiff_rows_strip_count(rows);

    for (uint32_t i = 0; i < across * planes && rows->layout->compression != COMPRESSION_OJPEG; i++)
        if (TIFFGetStrileOffset(rows->file->tiff, (i / across * count + number) * across + i % across) == 0)
            return fail(error, STATUS_FAILED,
                        "damaged TIFF: %s %u of %u is not listed; where GDAL left it out as empty, "
                        "gdal_translate IN OUT fills it",
                        rows->layout->tiled ? "row of tiles" : "strip", number + 1, count);
    return STATUS_OK;
}

/* libtiff sometimes reports an error and goes on; for climg the data is damaged then. Some codecs fill less
 * than they are asked for and call that success, so every target of theirs is cleared before: what was in the
 * memory belongs to other images. */
static void clear(const struct tiff_rows *rows, unsigned char *to, size_t size)
{
    if (rows->layout->compression != COMPRESSION_NONE)
        memset(to, 0, size);
}

/* A strip, or a tile. */
static bool decode_piece(struct tiff_rows *rows, uint32_t number, unsigned char *to, size_t size)
{
    TIFF *tiff = rows->file->tiff;
    tmsize_t got = rows->layout->tiled ? TIFFReadEncodedTile(tiff, number, to, (tmsize_t)size)
                                       : TIFFReadEncodedStrip(tiff, number, to, (tmsize_t)size);

    return got == (tmsize_t)size && rows->file->message[0] == '\0';
}

/* Whether the last pixel of each row has nothing but bytes of that value. */
static bool ends_in(const struct tiff_rows *rows, const unsigned char *from, size_t size, unsigned char value)
{
    const size_t pixel = rows->layout->samples, row = rows->tile_width * pixel; /* of WebP: bytes */
    bool same = true;

    for (size_t at = row; same && at <= size; at += row)
        for (size_t i = 1; i <= pixel; i++)
            same = same && from[at - i] == value;
    return same;
}

/* libtiff before 4.6 calls a WebP picture decoded that is narrower than its strip or tile, and leaves the
 * rest of the rows as it was: where they end in the zeros that were there, other values show whether they
 * stay. */
static bool check_webp(struct tiff_rows *rows, uint32_t number, unsigned char *to, size_t size)
{
    if (rows->layout->compression != COMPRESSION_WEBP || !ends_in(rows, to, size, 0))
        return true;
    memset(to, UCHAR_MAX, size);
    if (!decode_piece(rows, number, to, size))
        return false;
    if (!ends_in(rows, to, size, UCHAR_MAX))
        return true;
    snprintf(rows->file->message, sizeof rows->file->message,
             "a WebP picture is smaller than its strip or tile");
    return false;
}

static bool decode(struct tiff_rows *rows, uint32_t number, unsigned char *to, size_t size)
{
    clear(rows, to, size);
    return decode_piece(rows, number, to, size) && check_webp(rows, number, to, size);
}

static bool load_strip_planes(struct tiff_rows *rows, uint32_t number)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t height = tiff_rows_of_strip(rows, number);
    const size_t pixel = (size_t)layout->bits / 8 * layout->samples;

    if (!layout->separate)
        return decode(rows, number, rows->strip, height * layout->row);
    const size_t plane_row = layout->row / layout->samples;
    for (uint32_t p = 0; p < layout->samples; p++) {
        if (!decode(rows, number + p * tiff_rows_strip_count(rows), rows->block, height * plane_row))
            return false;
        tiff_place(rows->strip + p * layout->bits / 8, layout->row, pixel, rows->block, plane_row,
                   layout->bits / 8, layout->width, height);
    }
    return true;
}

/* A tile of whole bytes into the strip, interleaved with its sisters of the other planes. */
static void place_tile(struct tiff_rows *rows, uint32_t number, uint32_t x, uint32_t plane)
{
    const struct tiff_layout *layout = rows->layout;
    const size_t tile_pitch = (size_t)TIFFTileRowSize(rows->file->tiff);
    const uint32_t left = layout->width - x;
    const uint32_t pixels = left < rows->tile_width ? left : rows->tile_width;
    const size_t pixel = (size_t)layout->bits * layout->samples / 8;
    const size_t size = layout->separate ? layout->bits / 8 : pixel;

    /* Tile widths are multiples of 16, so that pixels of a few bits start at whole bytes too. */
    if (layout->bits % 8 != 0)
        tiff_place(rows->strip + (size_t)x * layout->samples * layout->bits / 8, layout->row, 1, rows->block,
                   tile_pitch, 1, ((size_t)pixels * layout->samples * layout->bits + 7) / 8,
                   tiff_rows_of_strip(rows, number));
    else
        tiff_place(rows->strip + x * pixel + (size_t)plane * layout->bits / 8, layout->row, pixel,
                   rows->block, tile_pitch, size, pixels, tiff_rows_of_strip(rows, number));
}

static bool load_tiles(struct tiff_rows *rows, uint32_t number)
{
    const uint32_t across = tiles_across(rows);

    for (uint32_t p = 0; p < plane_count(rows); p++)
        for (uint32_t i = 0; i < across; i++) {
            if (!decode(rows, (p * tiff_rows_strip_count(rows) + number) * across + i, rows->block,
                        (size_t)TIFFTileSize(rows->file->tiff)))
                return false;
            place_tile(rows, number, i * rows->tile_width, p);
        }
    return true;
}

/* libtiff's own conversion of YCbCr; the raster has R in the lowest byte of its numbers. */
static bool load_rgba(struct tiff_rows *rows, uint32_t number)
{
    const uint32_t width = rows->layout->width, height = tiff_rows_of_strip(rows, number);
    const int stop_on_error = 1;
    char reason[1024] = "";
    TIFFRGBAImage image;

    if (!TIFFRGBAImageBegin(&image, rows->file->tiff, stop_on_error, reason))
        return false;
    image.req_orientation = image.orientation; /* the pixels stay where they are in the file */
    image.row_offset = (int)(number * rows->strip_height);
    uint32_t *raster = (uint32_t *)rows->block;
    memset(raster, 0, (size_t)width * height * sizeof *raster);
    bool done = TIFFRGBAImageGet(&image, raster, width, height);
    TIFFRGBAImageEnd(&image);
    for (size_t i = 0; i < (size_t)width * height; i++) {
        rows->strip[3 * i] = (unsigned char)TIFFGetR(raster[i]);
        rows->strip[3 * i + 1] = (unsigned char)TIFFGetG(raster[i]);
        rows->strip[3 * i + 2] = (unsigned char)TIFFGetB(raster[i]);
    }
    return done && rows->file->message[0] == '\0';
}

static enum status load_strip(struct tiff_rows *rows, uint32_t number, struct error *error)
{
    bool done;

    if (rows->strip_number == number)
        return STATUS_OK;
    rows->strip_number = UINT32_MAX;
    if (rows->layout->rgba)
        done = load_rgba(rows, number);
    else if (rows->layout->tiled)
        done = load_tiles(rows, number);
    else
        done = load_strip_planes(rows, number);
    if (!done)
        return tiff_file_damaged(rows->file, error);
    rows->strip_number = number;
    return STATUS_OK;
}

/* A strip that is wanted whole, and is nothing but its rows, needs no buffer. */
static bool strip_is_direct(const struct tiff_rows *rows, uint32_t first, uint32_t count, size_t pitch)
{
    const struct tiff_layout *layout = rows->layout;

    return !layout->tiled && !layout->separate && !layout->rgba && pitch == layout->row &&
           first % rows->strip_height == 0 && count >= tiff_rows_of_strip(rows, first / rows->strip_height);
}

static enum status fetch_strips(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                                size_t pitch, struct error *error)
{
    const size_t row = rows->layout->row;

    while (count > 0) {
        const uint32_t number = first / rows->strip_height, inside = first % rows->strip_height;
        const uint32_t left = tiff_rows_of_strip(rows, number) - inside, some = left < count ? left : count;
        const bool direct = strip_is_direct(rows, first, count, pitch);
        enum status status = inside == 0 ? check_listed(rows, number, error) : STATUS_OK;
        if (status == STATUS_OK && direct && !decode(rows, number, to, some * row))
            status = tiff_file_damaged(rows->file, error);
        if (status == STATUS_OK && !direct)
            status = load_strip(rows, number, error);
        if (status != STATUS_OK)
            return status;
        if (!direct)
            tiff_place(to, pitch, row, rows->strip + inside * row, row, row, 1, some);
        first += some;
        count -= some;
        to += some * pitch;
    }
    return STATUS_OK;
}

static enum status read_scanline(struct tiff_rows *rows, uint32_t plane, uint32_t y, unsigned char *to,
                                 size_t size, struct error *error)
{
    struct tiff_file *file = plane == 0 ? rows->file : &rows->planes[plane - 1];

    clear(rows, to, size);
    if (TIFFReadScanline(file->tiff, to, y, (uint16_t)plane) != 1 || file->message[0] != '\0')
        return tiff_file_damaged(file, error);
    return STATUS_OK;
}

static enum status fetch_scanlines(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                                   size_t pitch, struct error *error)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t planes = plane_count(rows);
    const size_t row = layout->row / planes, sample = layout->bits / 8;

    for (uint32_t y = first; y < first + count; y++, to += pitch) {
        enum status status =
            y % rows->strip_height == 0 ? check_listed(rows, y / rows->strip_height, error) : STATUS_OK;
        for (uint32_t p = 0; status == STATUS_OK && p < planes; p++) {
            status = read_scanline(rows, p, y, planes > 1 ? rows->block : to, row, error);
            if (status == STATUS_OK && planes > 1)
                tiff_place(to + p * sample, 0, planes * sample, rows->block, 0, sample, layout->width, 1);
        }
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* JBIG has no rows before it has all of them; of WebP they are looked at together. */
static bool suits_scanlines(const struct tiff_rows *rows)
{
    const struct tiff_layout *layout = rows->layout;

    return !layout->tiled && !layout->rgba && layout->compression != COMPRESSION_JBIG &&
           layout->compression != COMPRESSION_WEBP &&
           rows->strip_height * layout->row / plane_count(rows) > TALL_STRIP;
}

/* Neither compressed nor in need of any conversion. */
static bool is_plain(const struct tiff_rows *rows)
{
    const struct tiff_layout *layout = rows->layout;
    TIFF *tiff = rows->file->tiff;
    uint16_t order = FILLORDER_MSB2LSB;

    TIFFGetFieldDefaulted(tiff, TIFFTAG_FILLORDER, &order);
    return layout->compression == COMPRESSION_NONE && !layout->tiled && !layout->rgba &&
           plane_count(rows) == 1 && layout->bits % 8 == 0 && order == FILLORDER_MSB2LSB &&
           (layout->bits == 8 || !TIFFIsByteSwapped(tiff));
}

/* Straight from the file to their place: libtiff reads whole strips, which slices then have to copy from.
 * False: not all were to be had, and libtiff can say why. */
static bool read_plain(const struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to)
{
    TIFF *tiff = rows->file->tiff;
    const uint64_t row = rows->layout->row;

    while (count > 0) {
        const uint32_t number = first / rows->strip_height, inside = first % rows->strip_height;
        const uint32_t left = tiff_rows_of_strip(rows, number) - inside, some = left < count ? left : count;
        const uint64_t begin = TIFFGetStrileOffset(tiff, number), at = begin + inside * row;
        if (begin == 0 || at < begin || TIFFGetStrileByteCount(tiff, number) < (inside + some) * row ||
            !tiff_file_read_at(rows->file, at, to, some * row))
            return false;
        first += some;
        count -= some;
        to += some * row;
    }
    return true;
}

/* libtiff decodes the rows of one strip at a time: where those of several planes are wanted together, each
 * plane has a handle of its own. */
static enum status begin_scanlines(struct tiff_rows *rows, struct error *error)
{
    const uint32_t planes = plane_count(rows);
    enum status status = STATUS_OK;

    rows->scanlines = true;
    rows->memory = planes > 1 ? rows->layout->row / planes : 0;
    for (uint32_t p = 1; status == STATUS_OK && p < planes; p++)
        status = tiff_layout_reopen(&rows->planes[p - 1], rows->file, rows->layout, error);
    if (status == STATUS_OK && planes > 1) {
        rows->block = allocate(rows->memory, "a TIFF plane", error);
        status = rows->block == NULL ? STATUS_FAILED : STATUS_OK;
    }
    return status;
}

static enum status begin_strips(struct tiff_rows *rows, struct error *error)
{
    const struct tiff_layout *layout = rows->layout;
    const size_t strip = layout->row * rows->strip_height;
    size_t block = 0;

    if (layout->rgba)
        block = (size_t)layout->width * rows->strip_height * sizeof(uint32_t);
    else if (layout->tiled)
        block = (size_t)TIFFTileSize(rows->file->tiff);
    else if (layout->separate)
        block = strip / layout->samples;
    rows->memory = strip + block;
    rows->strip = allocate(strip, "a strip of TIFF rows", error);
    rows->block = rows->strip == NULL ? NULL : allocate(block, "a TIFF tile", error);
    return rows->block == NULL ? STATUS_FAILED : STATUS_OK;
}

/* What libtiff will decode must be of the size that the tags say, or rows would overflow. */
static enum status check_sizes(const struct tiff_rows *rows, struct error *error)
{
    const struct tiff_layout *layout = rows->layout;
    const uint64_t row = layout->separate ? layout->row / layout->samples : layout->row;

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

    *rows = (struct tiff_rows){.file = file, .layout = layout, .strip_number = UINT32_MAX};
    file->message[0] = '\0'; /* about tags that climg does not need */
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

    enum status status = check_sizes(rows, error);
    if (status != STATUS_OK)
        return status;
    rows->plain = is_plain(rows);
    return suits_scanlines(rows) ? begin_scanlines(rows, error) : begin_strips(rows, error);
}

enum status tiff_rows_fetch(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                            size_t pitch, struct error *error)
{
    if (rows->plain && pitch == rows->layout->row && read_plain(rows, first, count, to))
        return STATUS_OK;
    return rows->scanlines ? fetch_scanlines(rows, first, count, to, pitch, error)
                           : fetch_strips(rows, first, count, to, pitch, error);
}

void tiff_rows_end(struct tiff_rows *rows)
{
    for (int p = 0; p < TIFF_PLANES - 1; p++)
        tiff_file_close(&rows->planes[p]);
    free(rows->strip);
    free(rows->block);
    rows->strip = rows->block = NULL;
}
