/* Converts decoded samples to those of image.h: palettes, samples of less than a byte, floats of 64 bits,
 * min-is-white. */
#include "image/tiff/tiff.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE = -1 };

/* A colour map has 16 bits for each colour. Many programs write 8-bit values: old ones as they are, others in
 * the high byte with the same value or 0 in the low byte. Returns by how many bits such colours are shifted
 * up, or WIDE if the map needs 16 bits. */
static int shift_of(uint16_t *const map[3], size_t size)
{
    bool low_only = true, replicated = true, shifted = true;

    for (size_t i = 0; i < 3 * size; i++) {
        const uint16_t v = map[i % 3][i / 3];
        low_only = low_only && v < 256;
        replicated = replicated && v % 257 == 0;
        shifted = shifted && v % 256 == 0;
    }
    return low_only ? 0 : replicated || shifted ? 8 : WIDE;
}

static enum status make_palette(TIFF *tiff, size_t size, struct tiff_table *table, struct error *error)
{
    uint16_t *map[3];

    if (!TIFFGetField(tiff, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]))
        return fail(error, STATUS_FAILED, "damaged TIFF: a palette image without colour map");
    const int shift = shift_of(map, size);
    table->wide_palette = shift == WIDE;
    table->entry_size = table->wide_palette ? 3 * sizeof(uint16_t) : 3;
    table->entries = allocate(size * table->entry_size, "a palette", error);
    if (table->entries == NULL)
        return STATUS_FAILED;
    for (size_t i = 0; i < 3 * size; i++) {
        uint16_t value = map[i % 3][i / 3];
        if (table->wide_palette)
            memcpy(table->entries + i * sizeof value, &value, sizeof value);
        else
            table->entries[i] = (unsigned char)(value >> shift);
    }
    return STATUS_OK;
}

/* Stretches gray of few bits, so that the largest value becomes full scale. */
static enum status make_gray(size_t size, struct tiff_table *table, struct error *error)
{
    const bool wide = size > 256;
    const uint32_t top = (uint32_t)size - 1;
    const uint32_t full = wide ? UINT16_MAX : UINT8_MAX;

    table->entry_size = wide ? sizeof(uint16_t) : 1;
    table->entries = allocate(size * table->entry_size, "a gray scale", error);
    if (table->entries == NULL)
        return STATUS_FAILED;
    for (uint32_t i = 0; i < size; i++) {
        uint16_t value = (uint16_t)(((uint64_t)i * full + top / 2) / top);
        if (wide)
            memcpy(table->entries + i * sizeof value, &value, sizeof value);
        else
            table->entries[i] = (unsigned char)value;
    }
    return STATUS_OK;
}

enum status tiff_table_make(TIFF *tiff, const struct tiff_layout *layout, struct tiff_table *table,
                            struct error *error)
{
    *table = (struct tiff_table){.entries = NULL};
    if (layout->palette)
        return make_palette(tiff, (size_t)1 << layout->bits, table, error);
    if (layout->bits % 8 != 0)
        return make_gray((size_t)1 << layout->bits, table, error);
    return STATUS_OK;
}

static bool is_double(const struct tiff_layout *layout)
{
    return layout->bits == 64 && layout->format == SAMPLEFORMAT_IEEEFP;
}

bool tiff_row_is_final(const struct tiff_layout *layout, const struct tiff_table *table)
{
    return table->entries == NULL && !is_double(layout);
}

/* 16-bit samples are in the host's byte order; smaller ones are packed, the highest bit first. */
static void look_up(const struct tiff_table *table, unsigned bits, size_t count, const unsigned char *from,
                    unsigned char *to)
{
    const uint32_t mask = ((uint32_t)1 << bits) - 1;
    uint32_t window = 0;
    unsigned have = 0;

    for (size_t i = 0; i < count; i++, to += table->entry_size) {
        uint16_t whole;
        uint32_t value;
        if (bits == 16) {
            memcpy(&whole, from + 2 * i, sizeof whole);
            value = whole;
        } else {
            for (; have < bits; have += 8)
                window = window << 8 | *from++;
            have -= bits;
            value = window >> have & mask;
        }
        memcpy(to, table->entries + value * table->entry_size, table->entry_size);
    }
}

static bool doubles_round(size_t count, const unsigned char *row)
{
    bool rounds = false;
    for (size_t i = 0; i < count; i++) {
        double wide;
        memcpy(&wide, row + i * sizeof wide, sizeof wide);
        rounds |= wide == wide && (float)wide != wide;
    }
    return rounds;
}

/* The largest value does not round: it is full scale, and is written as full scale again. */
static bool integers_round(bool is_signed, size_t count, const unsigned char *row)
{
    bool rounds = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, row + i * sizeof bits, sizeof bits);
        double wide = is_signed ? (double)(int32_t)bits : (double)bits;
        rounds |= (float)wide != wide && bits != (is_signed ? INT32_MAX : UINT32_MAX);
    }
    return rounds;
}

bool tiff_row_rounds(const struct tiff_layout *layout, const unsigned char *row)
{
    const size_t samples = (size_t)layout->width * layout->samples;

    if (is_double(layout))
        return doubles_round(samples, row);
    return layout->bits == 32 && layout->format != SAMPLEFORMAT_IEEEFP &&
           integers_round(layout->format == SAMPLEFORMAT_INT, samples, row);
}

static void narrow_doubles(size_t count, const unsigned char *from, unsigned char *to)
{
    for (size_t i = 0; i < count; i++) {
        double wide;
        memcpy(&wide, from + i * sizeof wide, sizeof wide);
        float narrow = (float)wide;
        memcpy(to + i * sizeof narrow, &narrow, sizeof narrow);
    }
}

/* Inverts the first channel; alpha stays. */
static void invert(const struct image_info *info, unsigned char *row)
{
    const size_t size = sample_size(info->type), step = pixel_size(info);

    for (size_t x = 0; x < info->width; x++)
        for (size_t i = 0; i < size; i++)
            row[x * step + i] ^= 0xff; /* full scale minus the value, in any byte order */
}

void tiff_row_convert(const struct tiff_layout *layout, const struct tiff_table *table,
                      const struct image_info *info, const unsigned char *from, unsigned char *to)
{
    const size_t samples = (size_t)layout->width * layout->samples;

    if (table->entries != NULL)
        look_up(table, layout->bits, samples, from, to);
    else if (is_double(layout))
        narrow_doubles(samples, from, to);
    else if (from != to)
        memcpy(to, from, row_size(info));
    if (layout->inverted)
        invert(info, to);
}
