#include "image/tiff/rows.h"

#include <stdlib.h>

/* Bytes of planes that are read before they are interleaved: enough for few reads, small enough for the
 * cache. */
enum { PLANE_CHUNK = 256 << 10 };

static size_t plane_row(const struct tiff_layout *layout)
{
    return layout->separate ? layout->row / layout->samples : layout->row;
}

static uint32_t strips_of_plane(const struct tiff_rows *rows)
{
    return (rows->layout->height - 1) / rows->band_height + 1;
}

/* Every strip must say that it has all its bytes. Where some do not, the writer was odd, and libtiff knows
 * many an odd writer. */
static bool strips_are_full(const struct tiff_rows *rows)
{
    const struct tiff_layout *layout = rows->layout;
    const uint32_t strips = strips_of_plane(rows), planes = layout->separate ? layout->samples : 1;
    int failed = 0;

    if (TIFFNumberOfStrips(rows->file->tiff) != (uint64_t)strips * planes)
        return false;
    for (uint32_t i = 0; i < strips * planes && !failed; i++) {
        uint32_t left = layout->height - i % strips * rows->band_height;
        uint32_t height = left < rows->band_height ? left : rows->band_height;
        if (TIFFGetStrileByteCountWithErr(rows->file->tiff, i, &failed) < height * plane_row(layout))
            return false;
    }
    return !failed;
}

bool tiff_rows_are_raw(const struct tiff_rows *rows)
{
    const struct tiff_layout *layout = rows->layout;
    uint16_t fill_order;

    TIFFGetFieldDefaulted(rows->file->tiff, TIFFTAG_FILLORDER, &fill_order);
    return layout->compression == COMPRESSION_NONE && !layout->tiled && !layout->rgba &&
           fill_order == FILLORDER_MSB2LSB && strips_are_full(rows);
}

/* As many of the `count` rows as lie one after the other in the file: whole strips often do. */
static uint32_t run_of_rows(const struct tiff_rows *rows, uint32_t first, uint32_t count, uint32_t plane,
                            uint64_t *offset)
{
    const uint32_t base = plane * strips_of_plane(rows);
    const size_t row = plane_row(rows->layout);
    uint32_t strip = first / rows->band_height;
    uint32_t run = rows->band_height - first % rows->band_height;

    *offset = TIFFGetStrileOffset(rows->file->tiff, base + strip) + first % rows->band_height * row;
    while (run < count && TIFFGetStrileOffset(rows->file->tiff, base + ++strip) == *offset + run * row)
        run += rows->band_height;
    return run < count ? run : count;
}

static void to_host_order(const struct tiff_layout *layout, unsigned char *bytes, size_t size)
{
    const unsigned bits = layout->format == SAMPLEFORMAT_COMPLEXIEEEFP ? layout->bits / 2 : layout->bits;

    if (bits == 16)
        TIFFSwabArrayOfShort((uint16_t *)bytes, (tmsize_t)(size / 2));
    else if (bits == 32)
        TIFFSwabArrayOfLong((uint32_t *)bytes, (tmsize_t)(size / 4));
    else if (bits == 64)
        TIFFSwabArrayOfLong8((uint64_t *)bytes, (tmsize_t)(size / 8));
}

static enum status read_run(struct tiff_rows *rows, uint64_t offset, unsigned char *to, size_t size,
                            struct error *error)
{
    if (offset > rows->file->size || size > rows->file->size - offset)
        return fail(error, STATUS_FAILED, "damaged TIFF: the file ends before its pixels do");
    if (!tiff_file_read_at(rows->file, offset, to, size))
        return fail(error, STATUS_FAILED, "damaged TIFF: cannot read at offset %llu",
                    (unsigned long long)offset);
    if (TIFFIsByteSwapped(rows->file->tiff))
        to_host_order(rows->layout, to, size);
    return STATUS_OK;
}

static enum status fetch_interleaved(struct tiff_rows *rows, uint32_t first, uint32_t count,
                                     unsigned char *to, size_t pitch, struct error *error)
{
    const size_t row = rows->layout->row;

    while (count > 0) {
        uint64_t offset;
        uint32_t some = run_of_rows(rows, first, pitch == row ? count : 1, 0, &offset);
        enum status status = read_run(rows, offset, to, some * row, error);
        if (status != STATUS_OK)
            return status;
        first += some;
        count -= some;
        to += some * pitch;
    }
    return STATUS_OK;
}

static enum status fetch_plane(struct tiff_rows *rows, uint32_t plane, uint32_t first, uint32_t count,
                               unsigned char *to, size_t pitch, struct error *error)
{
    const struct tiff_layout *layout = rows->layout;
    const size_t row = plane_row(layout), size = layout->bits / 8;

    while (count > 0) {
        uint64_t offset;
        uint32_t limit = row < PLANE_CHUNK ? (uint32_t)(PLANE_CHUNK / row) : 1;
        uint32_t some = run_of_rows(rows, first, count < limit ? count : limit, plane, &offset);
        enum status status = read_run(rows, offset, rows->block, some * row, error);
        if (status != STATUS_OK)
            return status;
        tiff_place(to + plane * size, pitch, size * layout->samples, rows->block, row, size, layout->width,
                   some);
        first += some;
        count -= some;
        to += some * pitch;
    }
    return STATUS_OK;
}

enum status tiff_rows_fetch_raw(struct tiff_rows *rows, uint32_t first, uint32_t count, unsigned char *to,
                                size_t pitch, struct error *error)
{
    const struct tiff_layout *layout = rows->layout;
    const size_t row = plane_row(layout);

    if (!layout->separate)
        return fetch_interleaved(rows, first, count, to, pitch, error);
    if (rows->block == NULL)
        rows->block = allocate(row < PLANE_CHUNK ? PLANE_CHUNK : row, "a TIFF plane", error);
    if (rows->block == NULL)
        return STATUS_FAILED;
    for (uint32_t p = 0; p < layout->samples; p++) {
        enum status status = fetch_plane(rows, p, first, count, to, pitch, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}
