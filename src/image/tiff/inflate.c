/* Decodes strips and tiles that are compressed by deflate:
 *
 *     file ─▶ input (64 KiB) ─▶ ISA-L: inflate, Adler-32 ─▶ rows of the caller: swap, undo the predictor
 *
 * Rows are decoded into the caller's memory, a few at a time: tall strips need no extra memory, and rows are
 * still in the cache when their predictor is undone. If the data are damaged, file->message says why, as
 * after an error of libtiff. */
#include "image/tiff/tiff.h"

#include "image/inflate.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUT_SIZE = 64 << 10, /* compressed bytes per read */
    /* Bytes that may follow the rows of a strip: some programs pad the last strip to its full height. */
    SURPLUS_MAX = 64 << 20,
};

struct tiff_inflater {
    struct inflate_state state;
    struct tiff_file *file;           /* the caller's */
    const struct tiff_layout *layout; /* the caller's */

    /* The current strip or tile. */
    uint64_t at, left; /* offset and number of the compressed bytes that were not read yet */
    unsigned char input[INPUT_SIZE];

    /* Decoded rows. */
    size_t row_size;     /* bytes of a row of one plane, or of a tile's row */
    uint16_t predictor;  /* PREDICTOR_... */
    bool reversed;       /* bytes have their lowest bit first (FillOrder 2) */
    unsigned char *copy; /* copy of a row, for the floating-point predictor; else NULL */
};

/* Sets the file's message unless it has one. Returns false. */
static bool fail_strip(struct tiff_inflater *inflater, const char *what)
{
    struct tiff_file *file = inflater->file;

    if (file->message[0] == '\0')
        snprintf(file->message, sizeof file->message, "%s", what);
    return false;
}

/* Undoes differences: adds to each sample the sample of the pixel to the left, modulo 2^bits. A sample has
 * `bytes` bytes, a pixel `samples` samples. Both are constants in each call, so that sums stay in registers.
 */
static inline __attribute__((always_inline)) void add_left(unsigned char *row, size_t size, size_t bytes,
                                                           unsigned samples)
{
    uint64_t sums[4] = {0}, value = 0;
    const size_t low = BYTE_ORDER == LITTLE_ENDIAN ? 0 : sizeof value - bytes;

    for (size_t i = 0; i < size; i += bytes * samples)
        for (unsigned s = 0; s < samples; s++) {
            memcpy((unsigned char *)&value + low, row + i + s * bytes, bytes);
            sums[s] += value;
            memcpy(row + i + s * bytes, (unsigned char *)&sums[s] + low, bytes);
        }
}

/* Undoes the differences of a row whose samples have `bytes` bytes. */
static inline __attribute__((always_inline)) void undo_differences(const struct tiff_inflater *inflater,
                                                                   unsigned char *row, size_t bytes)
{
    switch (inflater->layout->separate ? 1 : inflater->layout->samples) {
    case 1:
        add_left(row, inflater->row_size, bytes, 1);
        break;
    case 2:
        add_left(row, inflater->row_size, bytes, 2);
        break;
    case 3:
        add_left(row, inflater->row_size, bytes, 3);
        break;
    default:
        add_left(row, inflater->row_size, bytes, 4);
    }
}

/* Undoes horizontal differencing of a row (TIFF 6.0, section 14). */
static void undo_horizontal(const struct tiff_inflater *inflater, unsigned char *row)
{
    switch (inflater->layout->bits) {
    case 8:
        undo_differences(inflater, row, 1);
        break;
    case 16:
        undo_differences(inflater, row, 2);
        break;
    case 32:
        undo_differences(inflater, row, 4);
        break;
    default:
        undo_differences(inflater, row, 8);
    }
}

/* Undoes the floating-point predictor of a row (Adobe Photoshop TIFF Technical Note 3). The row contains the
 * most significant bytes of all floats, then the next bytes, and so on, all as horizontal differences. */
static void undo_floating_point(const struct tiff_inflater *inflater, unsigned char *row)
{
    const size_t size = inflater->layout->bits / 8, count = inflater->row_size / size;

    undo_differences(inflater, row, 1);
    memcpy(inflater->copy, row, inflater->row_size);
    for (size_t byte = 0; byte < size; byte++) {
        const size_t to = BYTE_ORDER == LITTLE_ENDIAN ? size - 1 - byte : byte;
        for (size_t i = 0; i < count; i++)
            row[i * size + to] = inflater->copy[byte * count + i];
    }
}

/* Decodes at most `size` bytes of the strip or tile; *written is their number. */
static bool inflate_step(struct tiff_inflater *inflater, unsigned char *to, size_t size, size_t *written)
{
    const uint64_t file_size = inflater->file->size,
                   in_file = inflater->at < file_size ? file_size - inflater->at : 0,
                   left = inflater->left < in_file ? inflater->left : in_file;

    /* Read more input if all of it was decoded, up to the strip's byte count and the file's end. */
    if (inflate_needs_input(&inflater->state) && left > 0) {
        const size_t count = left < INPUT_SIZE ? (size_t)left : INPUT_SIZE;
        if (!tiff_file_read_at(inflater->file, inflater->at, inflater->input, count))
            return false;
        if (inflater->reversed)
            TIFFReverseBits(inflater->input, (tmsize_t)count);
        inflater->at += count;
        inflater->left -= count;
        inflate_feed(&inflater->state, inflater->input, count);
    }
    const bool needs_input = inflate_needs_input(&inflater->state); /* ISA-L may still have bytes to write */
    const int failure = inflate_some(&inflater->state, to, size, written);
    if (failure == ISAL_INCORRECT_CHECKSUM)
        return fail_strip(inflater, "the checksum of a strip or tile is wrong");
    if (failure != 0)
        return fail_strip(inflater, "a strip or tile is not deflated as it should be");
    if (needs_input && *written == 0 && !inflate_has_ended(&inflater->state))
        return fail_strip(inflater, inflater->left > 0
                                        ? "the file ends before its pixels do"
                                        : "a strip or tile ends before its pixels or its checksum");
    return true;
}

bool tiff_inflate_rows(struct tiff_inflater *inflater, unsigned char *to, size_t size)
{
    for (size_t at = 0, written; at < size; at += written)
        if (inflate_has_ended(&inflater->state))
            return fail_strip(inflater, "a strip or tile has too few pixels");
        else if (!inflate_step(inflater, to + at, size - at, &written))
            return false;

    /* Swap bytes. The floating-point predictor has a byte order of its own. */
    if (TIFFIsByteSwapped(inflater->file->tiff) && inflater->predictor != PREDICTOR_FLOATINGPOINT)
        tiff_layout_swap(inflater->layout, to, size);
    for (size_t at = 0; inflater->predictor != PREDICTOR_NONE && at < size; at += inflater->row_size)
        if (inflater->predictor == PREDICTOR_HORIZONTAL)
            undo_horizontal(inflater, to + at);
        else
            undo_floating_point(inflater, to + at);
    return true;
}

/* Decodes to the end of the stream: its last 4 bytes are the checksum, which ISA-L compares. */
bool tiff_inflate_end(struct tiff_inflater *inflater)
{
    unsigned char surplus[4096]; /* bytes after the last row; not used */
    size_t sum = 0;

    for (size_t written; !inflate_has_ended(&inflater->state); sum += written)
        if (!inflate_step(inflater, surplus, sizeof surplus, &written))
            return false;
        else if (sum > SURPLUS_MAX)
            return fail_strip(inflater, "a strip or tile has too many pixels");
    return true;
}

void tiff_inflate_begin(struct tiff_inflater *inflater, uint32_t number)
{
    inflater->at = TIFFGetStrileOffset(inflater->file->tiff, number);
    inflater->left = TIFFGetStrileByteCount(inflater->file->tiff, number);
    inflate_begin(&inflater->state);
}

struct tiff_inflater *tiff_inflate_open(struct tiff_file *file, const struct tiff_layout *layout,
                                        struct error *error)
{
    struct tiff_inflater *inflater = allocate(sizeof *inflater, "TIFF", error);
    const unsigned bits = layout->bits;
    const bool has_whole_bytes = bits == 8 || bits == 16 || bits == 32 || bits == 64;
    const bool is_float = layout->format == SAMPLEFORMAT_IEEEFP,
               is_complex = layout->format == SAMPLEFORMAT_COMPLEXIEEEFP;
    uint16_t order = FILLORDER_MSB2LSB;

    if (inflater == NULL)
        return NULL;
    inflater->file = file;
    inflater->layout = layout;
    inflater->row_size =
        layout->tiled ? (size_t)TIFFTileRowSize(file->tiff) : (size_t)TIFFScanlineSize(file->tiff);
    inflater->copy = NULL;
    TIFFGetFieldDefaulted(file->tiff, TIFFTAG_FILLORDER, &order);
    inflater->reversed = order == FILLORDER_LSB2MSB;
    TIFFGetFieldDefaulted(file->tiff, TIFFTAG_PREDICTOR, &inflater->predictor);
    const bool is_suitable =
        inflater->predictor == PREDICTOR_NONE ||
        (inflater->predictor == PREDICTOR_HORIZONTAL && has_whole_bytes && !is_complex) ||
        (inflater->predictor == PREDICTOR_FLOATINGPOINT && has_whole_bytes && is_float);
    if (!is_suitable)
        fail(error, STATUS_FAILED, "damaged TIFF: predictor %u does not go with its samples of %u bits",
             inflater->predictor, bits);
    else if (inflater->predictor == PREDICTOR_FLOATINGPOINT)
        inflater->copy = allocate(inflater->row_size, "a TIFF row", error);
    if (is_suitable && (inflater->predictor != PREDICTOR_FLOATINGPOINT || inflater->copy != NULL))
        return inflater;
    tiff_inflate_close(inflater);
    return NULL;
}

void tiff_inflate_close(struct tiff_inflater *inflater)
{
    if (inflater == NULL)
        return;
    free(inflater->copy);
    free(inflater);
}
