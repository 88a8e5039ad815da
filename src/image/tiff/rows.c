/* Decodes the rows of a TIFF page, by one of three methods that choose_method chooses:
 *
 *     DECODE_RAW         uncompressed strips: any rows ──────▶ rows of the caller
 *     DECODE_SEQUENTIAL  tall strips: a few rows at a time ──▶ rows of the caller
 *     DECODE_STRIPS      others: slots of `struct ordered`, each decoded by a thread ─▶ oldest slot ─▶ caller
 *
 * Strips of one plane are decoded to their destination. Strips of several planes, and tiles, are decoded into
 * a block and copied from there, pixels interleaved. Tried and lost: reading uncompressed data as whole
 * strips, which copies the picture once more.
 *
 * "Strip" also means a row of tiles here. libtiff numbers strips plane by plane, and tiles row by row of each
 * plane (h strips or rows of tiles, w tiles in a row):
 *
 *     strip y of plane p: p * h + y          tile (x, y) of plane p: (p * h + y) * w + x
 *
 * Each slot has its own libtiff handle, as a handle belongs to one thread. Handles share the descriptor and
 * read with pread. If threads gain nothing (the page is small, uncompressed or of few strips, or memory is
 * short), there is one slot, which the caller's thread decodes with the page's handle. */
#include "image/tiff/tiff.h"

#include "base/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLANES_MAX = 4,
    LARGE_STRIP_SIZE = 8 << 20, /* bytes: larger strips, often the whole image, are decoded row after row */
    BLOCK_SIZE = 256 << 10,     /* bytes of a plane that fetch_directly reads at once */
    STRIPS_PER_THREAD = 2,      /* one being decoded, one waiting to be fetched */
    STRIPS_MIN = 4,             /* a page of fewer strips is decoded by the caller */
    PAGE_MIN = 1 << 20,   /* bytes: for smaller pages the threads' handles cost more time than they save */
    SLOTS_SIZE = 1 << 28, /* maximum bytes of all slots */
};

enum decoding { DECODE_RAW, DECODE_SEQUENTIAL, DECODE_STRIPS };

/* The state of one handle. */
struct decoder {
    struct tiff_file *file;
    /* Only for deflate: one, or one per plane with DECODE_SEQUENTIAL. Owned. */
    struct tiff_inflater *inflater[PLANES_MAX];
    unsigned char *block; /* a tile, rows of one plane, or an RGBA raster; owned */
};

/* The size of strips or tiles. */
struct strip_size {
    uint32_t height; /* rows of a strip or tile, at most the page's */
    uint32_t width;  /* pixels of a tile; of strips: the page's */
};

struct tiff_rows {
    struct tiff_file *file;           /* the caller's */
    const struct tiff_layout *layout; /* the caller's */
    struct strip_size size;
    enum decoding method;
    uint32_t block_rows;   /* maximum rows of a plane that fetch_directly reads at once */
    uint64_t block_size;   /* bytes of a decoder's block */
    uint32_t next;         /* the next row to fetch */
    struct decoder direct; /* DECODE_RAW, DECODE_SEQUENTIAL */
    struct ordered strips; /* DECODE_STRIPS: ring of struct strip_slot */
};

/* A strip that is decoded, and its decoder. */
struct strip_slot {
    const struct tiff_rows *rows;
    struct tiff_file own_file; /* the thread's handle; closed if there is one slot */
    struct decoder decoder;
    uint32_t number;      /* of the strip in the page */
    unsigned char *bytes; /* decoded rows, adjacent; owned */
    enum status status;   /* of decoding */
    struct error error;
};

/* Copies `rows` rows of `pixels` pixels of `size` bytes. Pixels are adjacent in `from` and `stride` bytes
 * apart in `to`; pitches are bytes from row to row. */
static void copy_strided(unsigned char *to, size_t to_pitch, size_t stride, const unsigned char *from,
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

/* Returns the number of rows of a strip; the last one may have fewer than the others. */
static uint32_t strip_rows(const struct tiff_rows *rows, uint32_t number)
{
    const uint32_t left = rows->layout->height - number * rows->size.height;

    return left < rows->size.height ? left : rows->size.height;
}

/* Returns the number of strips of a plane. */
static uint32_t strip_count(const struct tiff_rows *rows)
{
    return (rows->layout->height - 1) / rows->size.height + 1;
}

/* Returns the number of planes that are stored one after another: 1 if pixels are interleaved. */
static uint32_t plane_count(const struct tiff_rows *rows)
{
    return rows->layout->separate ? rows->layout->samples : 1;
}

static uint32_t tiles_across(const struct tiff_rows *rows)
{
    return (rows->layout->width - 1) / rows->size.width + 1;
}

/* Fails if a strip, or a tile of a row of tiles, has the offset 0: libtiff would return the file's first
 * bytes as pixels. Old-style JPEG has other tags for offsets. */
static enum status check_offsets(const struct tiff_rows *rows, const struct decoder *decoder, uint32_t number,
                                 struct error *error)
{
    const uint32_t across = tiles_across(rows), planes = plane_count(rows), count = strip_count(rows);

    if (rows->layout->compression == COMPRESSION_OJPEG)
        return STATUS_OK;
    for (uint32_t i = 0; i < across * planes; i++)
        if (TIFFGetStrileOffset(decoder->file->tiff, (i / across * count + number) * across + i % across) ==
            0)
            return fail(error, STATUS_FAILED,
                        "damaged TIFF: %s %u of %u has no data; if GDAL omitted it as empty (SPARSE_OK), "
                        "gdal_translate IN OUT fills it",
                        rows->layout->tiled ? "row of tiles" : "strip", number + 1, count);
    return STATUS_OK;
}

/* Clears the destination before libtiff decodes to it. Some codecs write fewer bytes than requested and
 * report success: the other bytes would be pixels of other images. */
static void clear_for_codec(const struct tiff_layout *layout, unsigned char *to, size_t size)
{
    if (layout->compression != COMPRESSION_NONE)
        memset(to, 0, size);
}

/* Decodes one strip or tile of one plane; `number` is libtiff's. Any message of an error means damage, even
 * if libtiff continues. */
static bool decode(const struct tiff_rows *rows, const struct decoder *decoder, uint32_t number,
                   unsigned char *to, size_t size)
{
    TIFF *tiff = decoder->file->tiff;

    if (decoder->inflater[0] != NULL) {
        tiff_inflate_begin(decoder->inflater[0], number);
        return tiff_inflate_rows(decoder->inflater[0], to, size) && tiff_inflate_end(decoder->inflater[0]);
    }
    clear_for_codec(rows->layout, to, size);
    const tmsize_t got = rows->layout->tiled ? TIFFReadEncodedTile(tiff, number, to, (tmsize_t)size)
                                             : TIFFReadEncodedStrip(tiff, number, to, (tmsize_t)size);
    return got == (tmsize_t)size && decoder->file->message[0] == '\0';
}

/* Decodes a strip of all planes. Several planes are decoded into the block, one after the other, and copied
 * from there to their channels in `to`. */
static bool decode_strip(const struct tiff_rows *rows, const struct decoder *decoder, uint32_t number,
                         unsigned char *to)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t height = strip_rows(rows, number);
    const size_t pixel = (size_t)layout->bits / 8 * layout->samples;

    if (!layout->separate)
        return decode(rows, decoder, number, to, height * layout->row_size);
    const size_t plane_row = layout->row_size / layout->samples;
    for (uint32_t p = 0; p < layout->samples; p++) {
        if (!decode(rows, decoder, number + p * strip_count(rows), decoder->block, height * plane_row))
            return false;
        copy_strided(to + p * layout->bits / 8, layout->row_size, pixel, decoder->block, plane_row,
                     layout->bits / 8, layout->width, height);
    }
    return true;
}

/* Decodes a row of tiles of all planes, and copies each tile to its place in the strip at `to`. */
static bool decode_tiles(const struct tiff_rows *rows, const struct decoder *decoder, uint32_t number,
                         unsigned char *to)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t across = tiles_across(rows), height = strip_rows(rows, number);
    const size_t tile_pitch = (size_t)TIFFTileRowSize(decoder->file->tiff);
    const size_t pixel_bits = (size_t)layout->bits * layout->samples, pixel = pixel_bits / 8;
    /* In the last row of tiles some programs encode only the rows inside the picture (PackBits). */
    const size_t size = layout->compression == COMPRESSION_PACKBITS
                            ? height * tile_pitch
                            : (size_t)TIFFTileSize(decoder->file->tiff);

    for (uint32_t p = 0; p < plane_count(rows); p++)
        for (uint32_t i = 0; i < across; i++) {
            if (!decode(rows, decoder, (p * strip_count(rows) + number) * across + i, decoder->block, size))
                return false;
            const uint32_t x = i * rows->size.width, left = layout->width - x;
            const uint32_t pixels = left < rows->size.width ? left : rows->size.width;
            /* Tile widths are multiples of 16, so that tiles of few bits start at a whole byte, too. */
            if (layout->bits % 8 != 0)
                copy_strided(to + x * pixel_bits / 8, layout->row_size, 1, decoder->block, tile_pitch, 1,
                             (pixels * pixel_bits + 7) / 8, height);
            else
                copy_strided(to + x * pixel + (size_t)p * layout->bits / 8, layout->row_size, pixel,
                             decoder->block, tile_pitch, layout->separate ? layout->bits / 8 : pixel, pixels,
                             height);
        }
    return true;
}

/* Decodes a strip of YCbCr by libtiff's RGBA interface into the block, which has 32 bits per pixel, and
 * copies RGB from there. */
static bool decode_rgba(const struct tiff_rows *rows, const struct decoder *decoder, uint32_t number,
                        unsigned char *to)
{
    const uint32_t width = rows->layout->width, height = strip_rows(rows, number);
    const int stop_on_error = 1;
    char reason[1024] = "";
    TIFFRGBAImage image;

    if (!TIFFRGBAImageBegin(&image, decoder->file->tiff, stop_on_error, reason)) {
        /* libtiff's error handler does not get this message. */
        if (decoder->file->message[0] == '\0')
            snprintf(decoder->file->message, sizeof decoder->file->message, "%.200s", reason);
        return false;
    }
    image.req_orientation = image.orientation;            /* do not rotate the page */
    image.row_offset = (int)(number * rows->size.height); /* the first row */
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

/* Decodes the slot's strip of all planes. The task of a thread. */
static void decode_slot(void *argument)
{
    struct strip_slot *slot = argument;
    const struct tiff_rows *rows = slot->rows;

    slot->status = check_offsets(rows, &slot->decoder, slot->number, &slot->error);
    if (slot->status == STATUS_OK &&
        !(rows->layout->needs_rgba ? decode_rgba
          : rows->layout->tiled    ? decode_tiles
                                   : decode_strip)(rows, &slot->decoder, slot->number, slot->bytes))
        slot->status = tiff_file_fail_reading(slot->decoder.file, &slot->error);
}

/* DECODE_SEQUENTIAL: decodes the next `count` rows of a plane, all in one strip, with the plane's
 * inflater or TIFFReadScanline. `row` is the size of a row in bytes. */
static bool decode_next_rows(const struct tiff_rows *rows, uint32_t plane, uint32_t first, uint32_t count,
                             unsigned char *to, size_t row)
{
    struct tiff_inflater *inflater = rows->direct.inflater[plane];
    const uint32_t number = first / rows->size.height, inside = first % rows->size.height;

    if (inflater == NULL) {
        bool done = true;
        clear_for_codec(rows->layout, to, count * row);
        for (uint32_t y = 0; done && y < count; y++)
            done = TIFFReadScanline(rows->file->tiff, to + y * row, first + y, (uint16_t)plane) == 1;
        return done && rows->file->message[0] == '\0';
    }
    if (inside == 0)
        tiff_inflate_begin(inflater, plane * strip_count(rows) + number);
    return tiff_inflate_rows(inflater, to, count * row) &&
           (inside + count < strip_rows(rows, number) || tiff_inflate_end(inflater));
}

/* DECODE_RAW: reads rows of one strip and plane from the file. `row` is the size of a row in
 * bytes. */
static bool read_uncompressed(const struct tiff_rows *rows, uint32_t plane, uint32_t first, uint32_t count,
                              unsigned char *to, size_t row)
{
    struct tiff_file *file = rows->file;
    const uint32_t number = plane * strip_count(rows) + first / rows->size.height,
                   inside = first % rows->size.height;
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

/* DECODE_RAW, DECODE_SEQUENTIAL: decodes rows from `first` on. */
static enum status fetch_directly(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                                  size_t pitch, struct error *error)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t planes = plane_count(rows);
    const size_t row = layout->row_size / planes, sample = layout->bits / 8;

    while (count > 0) {
        const uint32_t number = first / rows->size.height,
                       left = strip_rows(rows, number) - first % rows->size.height;
        uint32_t some = left < count ? left : count; /* rows of this strip to read at once */
        some = some < rows->block_rows ? some : rows->block_rows;
        if (check_offsets(rows, &rows->direct, number, error) != STATUS_OK)
            return STATUS_FAILED;
        for (uint32_t p = 0; p < planes; p++) {
            unsigned char *dest = planes > 1 ? rows->direct.block : to;
            if (!(rows->method == DECODE_RAW ? read_uncompressed : decode_next_rows)(rows, p, first, some,
                                                                                     dest, row))
                return tiff_file_fail_reading(rows->file, error);
            if (planes > 1)
                copy_strided(to + p * sample, pitch, planes * sample, dest, row, sample, layout->width, some);
            else /* rows were read adjacent to each other: move them apart, from the last one on */
                for (uint32_t y = some; y-- > 1 && pitch > row;)
                    memmove(to + y * pitch, to + y * row, row);
        }
        first += some;
        count -= some;
        to += some * pitch;
    }
    return STATUS_OK;
}

/* Submits the next strips to all free slots. */
static void submit_all(struct tiff_rows *rows)
{
    struct ordered *strips = &rows->strips;
    while (!ordered_is_full(strips) && strips->submitted < strip_count(rows)) {
        struct strip_slot *slot = ordered_slot(strips, strips->submitted);
        slot->number = (uint32_t)strips->submitted;
        ordered_submit(strips, strips->count == 1);
    }
}

/* DECODE_STRIPS: copies rows from the slots, in the order of their strips. A slot whose last row was copied
 * gets the next strip. */
static enum status fetch_from_slots(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                                    size_t pitch, struct error *error)
{
    const size_t row = rows->layout->row_size;
    struct ordered *strips = &rows->strips;

    /* After tiff_rows_skip, strips before the first row are not needed: wait for the submitted ones, and
     * submit no others. Then continue with the strip of the first row. */
    const size_t number = first / rows->size.height;
    while (strips->released < strips->submitted && strips->released < number) {
        ordered_oldest(strips);
        ordered_release(strips);
    }
    if (strips->released < number)
        strips->released = strips->submitted = number;

    while (count > 0) {
        submit_all(rows);
        const struct strip_slot *slot = ordered_oldest(strips);
        const uint32_t inside = first % rows->size.height, left = strip_rows(rows, slot->number) - inside;
        const bool ends = left <= count;
        const uint32_t some = ends ? left : count;
        rows->file->broken_lines = rows->file->broken_lines || slot->decoder.file->broken_lines;
        if (slot->status != STATUS_OK) {
            *error = slot->error;
            return slot->status;
        }
        /* A row counts as one pixel here. */
        copy_strided(to, pitch, row, slot->bytes + inside * row, row, row, 1, some);
        if (ends)
            ordered_release(strips);
        first += some;
        count -= some;
        to += some * pitch;
    }
    if (strips->count > 1) /* threads decode until the next call */
        submit_all(rows);
    return STATUS_OK;
}

enum status tiff_rows_fetch(struct tiff_rows *rows, uint32_t count, unsigned char *to, size_t pitch,
                            struct error *error)
{
    const uint32_t first = rows->next;
    rows->next += count;
    return (rows->method == DECODE_STRIPS ? fetch_from_slots : fetch_directly)(rows, first, count, to, pitch,
                                                                               error);
}

bool tiff_rows_skip(struct tiff_rows *rows, uint32_t count)
{
    if (rows->method == DECODE_SEQUENTIAL)
        return false;
    rows->next += count;
    return true;
}

bool tiff_rows_rewind(struct tiff_rows *rows)
{
    if (rows->method != DECODE_RAW)
        return false;
    rows->next = 0;
    return true;
}

static bool is_deflate(const struct tiff_layout *layout)
{
    return layout->compression == COMPRESSION_ADOBE_DEFLATE || layout->compression == COMPRESSION_DEFLATE;
}

/* Returns the method for the page. Sequential decoding saves the memory of a whole strip, but threads cannot
 * share a strip, so that it is used only for tall strips. */
static enum decoding choose_method(const struct tiff_rows *rows)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t planes = plane_count(rows);
    uint16_t order = FILLORDER_MSB2LSB;

    TIFFGetFieldDefaulted(rows->file->tiff, TIFFTAG_FILLORDER, &order);
    if (layout->tiled || layout->needs_rgba)
        return DECODE_STRIPS;
    if (layout->compression == COMPRESSION_NONE && layout->bits % 8 == 0 && order == FILLORDER_MSB2LSB)
        return DECODE_RAW;
    /* libtiff decodes all rows of JBIG and WebP at once. One libtiff handle decodes one plane at a time, and
       each plane of deflate has a decoder of its own. */
    const bool is_sequential =
        is_deflate(layout) ||
        (planes == 1 && layout->compression != COMPRESSION_JBIG && layout->compression != COMPRESSION_WEBP);
    return is_sequential && rows->size.height * layout->row_size / planes > LARGE_STRIP_SIZE
               ? DECODE_SEQUENTIAL
               : DECODE_STRIPS;
}

/* Reads the size of strips or tiles. Fails if libtiff's rows have another size than the tags say: its rows
 * would overflow our buffers. */
static enum status read_size(const struct tiff_file *file, const struct tiff_layout *layout,
                             struct strip_size *size, struct error *error)
{
    TIFF *tiff = file->tiff;
    const uint64_t samples = layout->separate ? 1 : layout->samples;

    *size = (struct strip_size){.height = layout->height, .width = layout->width};
    TIFFGetFieldDefaulted(tiff, layout->tiled ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, &size->height);
    if (layout->tiled)
        TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &size->width);
    if (size->height == 0 || size->width == 0)
        return fail(error, STATUS_FAILED, "damaged TIFF: strips or tiles without size");
    size->height = size->height < layout->height ? size->height : layout->height;
    const uint64_t row = (size->width * samples * layout->bits + 7) / 8;
    if (layout->needs_rgba || (!layout->tiled && TIFFScanlineSize64(tiff) == row) ||
        (layout->tiled && TIFFTileRowSize64(tiff) == row && (size->width % 8 == 0 || layout->bits % 8 == 0)))
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "damaged TIFF: rows are not of the size that the tags say");
}

/* Allocates the block and the inflaters of a decoder, whose file is set. */
static enum status open_decoder(const struct tiff_rows *rows, struct decoder *decoder, struct error *error)
{
    const uint32_t inflaters = !is_deflate(rows->layout)           ? 0
                               : rows->method == DECODE_SEQUENTIAL ? plane_count(rows)
                                                                   : 1;
    decoder->file->message[0] = '\0'; /* earlier messages are about tags that climg does not need */
    for (uint32_t p = 0; p < inflaters; p++) {
        decoder->inflater[p] = tiff_inflate_open(decoder->file, rows->layout, error);
        if (decoder->inflater[p] == NULL)
            return STATUS_FAILED;
    }
    decoder->block = allocate(rows->block_size, "a TIFF tile", error);
    return decoder->block == NULL ? STATUS_FAILED : STATUS_OK;
}

static void close_decoder(struct decoder *decoder)
{
    for (int p = 0; p < PLANES_MAX; p++)
        tiff_inflate_close(decoder->inflater[p]);
    free(decoder->block);
}

/* Allocates a slot's rows, and opens its handle on the page if there are several slots. */
static enum status open_slot(struct tiff_rows *rows, struct strip_slot *slot, struct error *error)
{
    slot->rows = rows;
    slot->decoder.file = rows->file;
    if (rows->strips.count > 1) {
        struct strip_size size;
        slot->decoder.file = &slot->own_file;
        if (tiff_layout_reopen(&slot->own_file, rows->file, rows->layout, error) != STATUS_OK ||
            read_size(&slot->own_file, rows->layout, &size, error) != STATUS_OK)
            return STATUS_FAILED;
        if (size.height != rows->size.height || size.width != rows->size.width)
            return fail(error, STATUS_FAILED, "damaged TIFF: it is being changed while it is read");
    }
    if (open_decoder(rows, &slot->decoder, error) != STATUS_OK)
        return STATUS_FAILED;
    slot->bytes = allocate(rows->size.height * rows->layout->row_size, "a strip of TIFF rows", error);
    return slot->bytes == NULL ? STATUS_FAILED : STATUS_OK;
}

/* Frees the content of a slot, also of one that was not opened, which is zeroed. */
static void close_slot(void *argument)
{
    struct strip_slot *slot = argument;

    close_decoder(&slot->decoder);
    tiff_file_close(&slot->own_file);
    free(slot->bytes);
}

/* Returns the bytes of a slot. */
static uint64_t slot_memory(const struct tiff_rows *rows)
{
    return rows->size.height * rows->layout->row_size + rows->block_size;
}

/* Returns the number of slots for `threads` threads and `memory` bytes (0: no limit). */
static uint32_t choose_slots(const struct tiff_rows *rows, int threads, uint64_t memory)
{
    const struct tiff_layout *layout = rows->layout;
    const uint64_t total = strip_count(rows), limit = memory > 0 && memory < SLOTS_SIZE ? memory : SLOTS_SIZE,
                   affordable = limit / slot_memory(rows);
    uint64_t count = (uint64_t)threads * STRIPS_PER_THREAD;

    /* The codec of old-style JPEG cannot read from a descriptor that other handles use. */
    if (threads < 2 || layout->compression == COMPRESSION_NONE || layout->compression == COMPRESSION_OJPEG ||
        total < STRIPS_MIN || total * rows->size.height * layout->row_size < PAGE_MIN)
        return 1;
    count = count < total ? count : total;
    count = count < affordable ? count : affordable;
    return count > 0 ? (uint32_t)count : 1;
}

enum status tiff_rows_open(struct tiff_file *file, const struct tiff_layout *layout,
                           const struct reader_options *options, struct tiff_rows **opened,
                           struct error *error)
{
    const int threads = options->jobs > 0 ? options->jobs : processors_available();
    struct tiff_rows *rows = *opened = allocate_zeroed(1, sizeof *rows, "TIFF strips", error);

    if (rows == NULL)
        return STATUS_FAILED;
    rows->file = rows->direct.file = file;
    rows->layout = layout;
    if (read_size(file, layout, &rows->size, error) != STATUS_OK)
        return STATUS_FAILED;
    rows->method = choose_method(rows);

    /* The block: an RGBA raster, a tile, or rows of one plane. A single plane of strips needs none. */
    const uint32_t planes = plane_count(rows);
    const size_t row = layout->row_size / planes;
    rows->block_rows = row < BLOCK_SIZE ? (uint32_t)(BLOCK_SIZE / row) : 1;
    if (layout->needs_rgba)
        rows->block_size = (uint64_t)layout->width * rows->size.height * sizeof(uint32_t);
    else if (layout->tiled)
        rows->block_size = (uint64_t)TIFFTileSize(file->tiff);
    else if (planes > 1)
        rows->block_size = row * (rows->method == DECODE_STRIPS ? rows->size.height : rows->block_rows);
    if (rows->method != DECODE_STRIPS)
        return open_decoder(rows, &rows->direct, error);
    enum status status = ordered_open(&rows->strips, threads, choose_slots(rows, threads, options->memory),
                                      sizeof(struct strip_slot), decode_slot, error);
    for (size_t i = 0; status == STATUS_OK && i < rows->strips.count; i++)
        status = open_slot(rows, ordered_slot(&rows->strips, i), error);
    return status;
}

uint64_t tiff_rows_memory(const struct tiff_rows *rows)
{
    return rows->method == DECODE_STRIPS ? rows->strips.count * slot_memory(rows) : rows->block_size;
}

void tiff_rows_close(struct tiff_rows *rows)
{
    if (rows == NULL)
        return;
    ordered_close(&rows->strips, close_slot);
    close_decoder(&rows->direct);
    free(rows);
}
