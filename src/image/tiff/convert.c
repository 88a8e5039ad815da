/* Converts decoded rows to the sample types of image.h:
 *
 *     palettes                        ─▶ table ─▶ RGB of 8 or 16 bits
 *     gray or RGB of 1 to 15 bits     ─▶ table ─▶ full scale of 8 or 16 bits
 *     floats of 64 bits               ─▶ floats of 32 bits
 *     min-is-white                    ─▶ min-is-black, after the others
 *
 * All other rows have their final form when they are decoded (tiff_row_is_final). */
#include "image/tiff/tiff.h"

#include <string.h>

/* The largest value of gray samples becomes full scale. A ColorMap has 16 bits for each channel, but many
 * programs write values of 8 bits: old ones in the low byte; others in the high byte, with the same value or
 * 0 in the low byte. */
enum status tiff_table_make(TIFF *tiff, const struct tiff_layout *layout, struct tiff_table *table,
                            struct error *error)
{
    *table = (struct tiff_table){.entries = NULL};
    if (!layout->palette && layout->bits % 8 == 0)
        return STATUS_OK;
    const uint32_t size = (uint32_t)1 << layout->bits, top = size - 1;
    const uint32_t channels = layout->palette ? 3 : 1;
    bool low_only = true, wide = layout->bits > 8;
    uint16_t *map[3];
    if (layout->palette) {
        bool replicated = true, high_only = true;
        if (!TIFFGetField(tiff, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]))
            return fail(error, STATUS_FAILED, "damaged TIFF: a palette image without colour map");
        for (uint32_t i = 0; i < 3 * size; i++) {
            const uint16_t v = map[i % 3][i / 3];
            low_only = low_only && v < 256;
            replicated = replicated && v % 257 == 0;
            high_only = high_only && v % 256 == 0;
        }
        wide = table->wide_palette = !low_only && !replicated && !high_only;
    }
    const uint32_t full = wide ? UINT16_MAX : UINT8_MAX;
    table->entry_size = channels * (wide ? sizeof(uint16_t) : 1);
    table->entries = allocate(size * table->entry_size, "a table of samples", error);
    if (table->entries == NULL)
        return STATUS_FAILED;
    for (uint32_t i = 0; i < channels * size; i++) {
        const uint16_t value = !layout->palette   ? (uint16_t)(((uint64_t)i * full + top / 2) / top)
                               : wide || low_only ? map[i % 3][i / 3]
                                                  : map[i % 3][i / 3] >> 8;
        if (wide)
            memcpy(table->entries + i * sizeof value, &value, sizeof value);
        else
            table->entries[i] = (unsigned char)value;
    }
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

/* Replaces `count` samples by entries of the table. Samples of 16 bits are in the host's byte order; smaller
 * ones follow each other bit by bit, the highest bit first. */
static void apply_table(const struct tiff_table *table, unsigned bits, size_t count,
                        const unsigned char *from, unsigned char *to)
{
    const uint32_t mask = ((uint32_t)1 << bits) - 1;
    uint32_t window = 0; /* the last bytes that were read */
    unsigned left = 0;   /* number of its low bits that are not used yet */

    for (size_t i = 0; i < count; i++, to += table->entry_size) {
        uint16_t whole;
        uint32_t value;
        if (bits == 16) {
            memcpy(&whole, from + 2 * i, sizeof whole);
            value = whole;
        } else {
            for (; left < bits; left += 8)
                window = window << 8 | *from++;
            left -= bits;
            value = window >> left & mask;
        }
        memcpy(to, table->entries + value * table->entry_size, table->entry_size);
    }
}

bool tiff_row_rounds(const struct tiff_layout *layout, const unsigned char *row)
{
    const size_t count = (size_t)layout->width * layout->samples;
    const bool is_signed = layout->format == SAMPLEFORMAT_INT;
    bool rounds = false;

    if (is_double(layout)) {
        for (size_t i = 0; i < count; i++) {
            double wide;
            memcpy(&wide, row + i * sizeof wide, sizeof wide);
            rounds |= wide == wide && (float)wide != wide; /* NaN does not round */
        }
    } else if (layout->bits == 32 && layout->format != SAMPLEFORMAT_IEEEFP) {
        /* The largest value does not count: it is full scale, which is written as full scale again. */
        for (size_t i = 0; i < count; i++) {
            uint32_t bits;
            memcpy(&bits, row + i * sizeof bits, sizeof bits);
            if (layout->inverted && i % layout->samples == 0) /* gray, as tiff_row_convert will invert it */
                bits = ~bits;
            const double wide = is_signed ? (double)(int32_t)bits : (double)bits;
            rounds |= (float)wide != wide && bits != (is_signed ? INT32_MAX : UINT32_MAX);
        }
    }
    return rounds;
}

/* First converts to the final type, then inverts in place. */
void tiff_row_convert(const struct tiff_layout *layout, const struct tiff_table *table,
                      const struct image_info *info, const unsigned char *from, unsigned char *to)
{
    const size_t samples = (size_t)layout->width * layout->samples;

    if (table->entries != NULL)
        apply_table(table, layout->bits, samples, from, to);
    else if (is_double(layout))
        for (size_t i = 0; i < samples; i++) {
            double wide;
            memcpy(&wide, from + i * sizeof wide, sizeof wide);
            const float narrow = (float)wide;
            memcpy(to + i * sizeof narrow, &narrow, sizeof narrow);
        }

    /* Invert gray but not alpha. Flipping all bits is full scale minus the value, in any byte order. */
    if (!layout->inverted)
        return;
    const size_t size = sample_size(info->type), step = pixel_size(info);
    for (size_t x = 0; x < info->width; x++)
        for (size_t i = 0; i < size; i++)
            to[x * step + i] ^= 0xff;
}
