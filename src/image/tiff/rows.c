/*     uncompressed strips ─────────────────────────▶ fetch_raw (tiff_raw.c) ─▶ caller
 *     strips and tiles ──▶ block ──▶ band ─────────▶ fetch_bands ────────────▶ caller
 *     tall compressed strips ──────────────────────▶ fetch_scanlines ────────▶ caller
 *     YCbCr ──▶ libtiff's RGBA raster ──▶ band ────▶ fetch_bands ────────────▶ caller
 */
#include "image/tiff/rows.h"

#include <stdlib.h>
#include <string.h>

/* Strips up to this size are decoded at once (which libdeflate needs to be fast); of taller ones, often the
 * whole image, libtiff decodes row after row. */
enum { MAX_BAND = 8 << 20 };

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

static uint32_t rows_of_band(const struct tiff_rows *rows, uint32_t band)
{
    uint32_t left = rows->layout->height - band * rows->band_height;

    return left < rows->band_height ? left : rows->band_height;
}

static uint32_t band_count(const struct tiff_rows *rows)
{
    return (rows->layout->height - 1) / rows->band_height + 1;
}

/* libtiff sometimes reports an error and goes on; for climg the data is damaged then. Some codecs fill less
 * than they are asked for and call that success, so every target of libtiff's is cleared before: what was in
 * the memory belongs to other images. */
static bool decode_strip(struct tiff_rows *rows, uint32_t strip, unsigned char *to, size_t size)
{
    memset(to, 0, size);
    return TIFFReadEncodedStrip(rows->file->tiff, strip, to, (tmsize_t)size) == (tmsize_t)size &&
           rows->file->message[0] == '\0';
}

static bool decode_tile(struct tiff_rows *rows, uint32_t tile)
{
    const tmsize_t size = TIFFTileSize(rows->file->tiff);

    memset(rows->block, 0, (size_t)size);
    return TIFFReadEncodedTile(rows->file->tiff, tile, rows->block, size) == size &&
           rows->file->message[0] == '\0';
}

static bool load_strips(struct tiff_rows *rows, uint32_t band)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t height = rows_of_band(rows, band);
    const size_t pixel = (size_t)layout->bits / 8 * layout->samples;

    if (!layout->separate)
        return decode_strip(rows, band, rows->band, height * layout->row);
    const size_t plane_row = layout->row / layout->samples;
    for (uint32_t p = 0; p < layout->samples; p++) {
        if (!decode_strip(rows, band + p * band_count(rows), rows->block, height * plane_row))
            return false;
        tiff_place(rows->band + p * layout->bits / 8, layout->row, pixel, rows->block, plane_row,
                   layout->bits / 8, layout->width, height);
    }
    return true;
}

/* A tile of whole bytes into the band, interleaved with its sisters of the other planes. */
static void place_tile(struct tiff_rows *rows, uint32_t band, uint32_t x, uint32_t plane)
{
    const struct tiff_layout *layout = rows->layout;
    const size_t tile_pitch = (size_t)TIFFTileRowSize(rows->file->tiff);
    const uint32_t left = layout->width - x;
    const uint32_t pixels = left < rows->tile_width ? left : rows->tile_width;
    const size_t pixel = (size_t)layout->bits * layout->samples / 8;
    const size_t size = layout->separate ? layout->bits / 8 : pixel;

    /* Tile widths are multiples of 16, so that pixels of a few bits start at whole bytes too. */
    if (layout->bits % 8 != 0)
        tiff_place(rows->band + (size_t)x * layout->samples * layout->bits / 8, layout->row, 1, rows->block,
                   tile_pitch, 1, ((size_t)pixels * layout->samples * layout->bits + 7) / 8,
                   rows_of_band(rows, band));
    else
        tiff_place(rows->band + x * pixel + (size_t)plane * layout->bits / 8, layout->row, pixel, rows->block,
                   tile_pitch, size, pixels, rows_of_band(rows, band));
}

static bool load_tiles(struct tiff_rows *rows, uint32_t band)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t across = (layout->width - 1) / rows->tile_width + 1;
    const uint32_t planes = layout->separate ? layout->samples : 1;

    for (uint32_t p = 0; p < planes; p++)
        for (uint32_t i = 0; i < across; i++) {
            if (!decode_tile(rows, (p * band_count(rows) + band) * across + i))
                return false;
            place_tile(rows, band, i * rows->tile_width, p);
        }
    return true;
}

/* libtiff's own conversion of YCbCr; the raster has R in the lowest byte of its numbers. */
static bool load_rgba(struct tiff_rows *rows, uint32_t band)
{
    const uint32_t width = rows->layout->width, height = rows_of_band(rows, band);
    const int stop_on_error = 1;
    char reason[1024] = "";
    TIFFRGBAImage image;

    if (!TIFFRGBAImageBegin(&image, rows->file->tiff, stop_on_error, reason))
        return false;
    image.req_orientation = image.orientation; /* the pixels stay where they are in the file */
    image.row_offset = (int)(band * rows->band_height);
    uint32_t *raster = (uint32_t *)rows->block;
    memset(raster, 0, (size_t)width * height * sizeof *raster);
    bool done = TIFFRGBAImageGet(&image, raster, width, height);
    TIFFRGBAImageEnd(&image);
    for (size_t i = 0; i < (size_t)width * height; i++) {
        rows->band[3 * i] = (unsigned char)TIFFGetR(raster[i]);
        rows->band[3 * i + 1] = (unsigned char)TIFFGetG(raster[i]);
        rows->band[3 * i + 2] = (unsigned char)TIFFGetB(raster[i]);
    }
    return done && rows->file->message[0] == '\0';
}

static enum status load_band(struct tiff_rows *rows, uint32_t band, struct error *error)
{
    bool done;

    if (rows->band_index == band)
        return STATUS_OK;
    rows->band_index = UINT32_MAX;
    if (rows->layout->rgba)
        done = load_rgba(rows, band);
    else if (rows->layout->tiled)
        done = load_tiles(rows, band);
    else
        done = load_strips(rows, band);
    if (!done)
        return tiff_file_damaged(rows->file, error);
    rows->band_index = band;
    return STATUS_OK;
}

/* A strip that is wanted whole, and is nothing but its rows, needs no buffer. */
static bool strip_is_direct(const struct tiff_rows *rows, uint32_t first, uint32_t count, size_t pitch)
{
    const struct tiff_layout *layout = rows->layout;

    return !layout->tiled && !layout->separate && !layout->rgba && pitch == layout->row &&
           first % rows->band_height == 0 && count >= rows_of_band(rows, first / rows->band_height);
}

static enum status fetch_bands(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                               size_t pitch, struct error *error)
{
    const size_t row = rows->layout->row;

    while (count > 0) {
        uint32_t band = first / rows->band_height, inside = first % rows->band_height;
        uint32_t some = rows_of_band(rows, band) - inside;
        if (some > count)
            some = count;
        if (strip_is_direct(rows, first, count, pitch)) {
            if (!decode_strip(rows, band, to, some * row))
                return tiff_file_damaged(rows->file, error);
        } else {
            enum status status = load_band(rows, band, error);
            if (status != STATUS_OK)
                return status;
            tiff_place(to, pitch, row, rows->band + inside * row, row, row, 1, some);
        }
        first += some;
        count -= some;
        to += some * pitch;
    }
    return STATUS_OK;
}

static enum status fetch_scanlines(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                                   size_t pitch, struct error *error)
{
    for (uint32_t y = first; y < first + count; y++, to += pitch) {
        memset(to, 0, rows->layout->row);
        if (TIFFReadScanline(rows->file->tiff, to, y, 0) != 1 || rows->file->message[0] != '\0')
            return tiff_file_damaged(rows->file, error);
    }
    return STATUS_OK;
}

/* JBIG has no rows before it has all of them. */
static bool suits_scanlines(const struct tiff_rows *rows)
{
    const struct tiff_layout *layout = rows->layout;

    return !layout->tiled && !layout->separate && !layout->rgba && layout->compression != COMPRESSION_JBIG &&
           rows->band_height * layout->row > MAX_BAND;
}

static enum status allocate_bands(struct tiff_rows *rows, struct error *error)
{
    const struct tiff_layout *layout = rows->layout;
    const size_t band = layout->row * rows->band_height;
    size_t block = 0;

    if (layout->rgba)
        block = (size_t)layout->width * rows->band_height * sizeof(uint32_t);
    else if (layout->tiled)
        block = (size_t)TIFFTileSize(rows->file->tiff);
    else if (layout->separate)
        block = band / layout->samples;
    rows->memory = band + block;
    rows->band = allocate(band, "a band of TIFF rows", error);
    rows->block = rows->band == NULL ? NULL : allocate(block, "a TIFF tile", error);
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

/* libtiff takes strips and tiles that the directory does not list for ones at offset 0, and gives the file's
 * first bytes for pixels. */
static enum status check_count(const struct tiff_rows *rows, struct error *error)
{
    const bool tiled = rows->layout->tiled;
    const uint32_t needed =
        tiled ? TIFFNumberOfTiles(rows->file->tiff) : TIFFNumberOfStrips(rows->file->tiff);
    struct ifd_source source;
    struct ifd_entry entry = {.count = 0};
    uint64_t ifd;

    tiff_file_ifd(rows->file, &source, &ifd);
    if (rows->layout->compression == COMPRESSION_OJPEG) /* has ways of its own to list them */
        return STATUS_OK;
    if (ifd_find(&source, ifd, tiled ? TIFFTAG_TILEOFFSETS : TIFFTAG_STRIPOFFSETS, &entry) &&
        entry.count >= needed)
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "damaged TIFF: %llu of %u %s are listed",
                (unsigned long long)entry.count, needed, tiled ? "tiles" : "strips");
}

enum status tiff_rows_begin(struct tiff_rows *rows, struct tiff_file *file, const struct tiff_layout *layout,
                            struct error *error)
{
    uint32_t height = layout->height;

    *rows = (struct tiff_rows){.file = file, .layout = layout, .band_index = UINT32_MAX};
    file->message[0] = '\0'; /* about tags that climg does not need */
    if (layout->tiled) {
        TIFFGetField(file->tiff, TIFFTAG_TILEWIDTH, &rows->tile_width);
        TIFFGetField(file->tiff, TIFFTAG_TILELENGTH, &height);
    } else {
        TIFFGetFieldDefaulted(file->tiff, TIFFTAG_ROWSPERSTRIP, &height);
    }
    if (height == 0 || (layout->tiled && rows->tile_width == 0))
        return fail(error, STATUS_FAILED, "damaged TIFF: strips or tiles without size");
    rows->band_height = height < layout->height ? height : layout->height;

    enum status status = check_sizes(rows, error);
    if (status == STATUS_OK)
        status = check_count(rows, error);
    if (status != STATUS_OK)
        return status;
    rows->fetch = fetch_bands;
    if (tiff_rows_are_raw(rows))
        rows->fetch = tiff_rows_fetch_raw;
    else if (suits_scanlines(rows))
        rows->fetch = fetch_scanlines;
    else
        return allocate_bands(rows, error);
    return STATUS_OK;
}

bool tiff_rows_are_bands(const struct tiff_rows *rows)
{
    return rows->fetch == fetch_bands;
}

enum status tiff_rows_fetch(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                            size_t pitch, struct error *error)
{
    return rows->fetch(rows, first, count, to, pitch, error);
}

bool tiff_rows_are_plain(const struct tiff_rows *rows)
{
    return rows->fetch == tiff_rows_fetch_raw && !rows->layout->separate;
}

uint64_t tiff_rows_memory(const struct tiff_rows *rows)
{
    return rows->memory;
}

void tiff_rows_end(struct tiff_rows *rows)
{
    free(rows->band);
    free(rows->block);
    rows->band = rows->block = NULL;
}
