/* Decodes strips and tiles that are compressed by deflate:
 *
 *     file ─▶ input (64 KiB) ─▶ ISA-L inflate, Adler-32 ─▶ rows of the caller: swap bytes, undo the predictor
 *
 * Any number of rows can be asked for at a time, so that tall strips need no memory of their own. A row is in
 * the cache when its predictor is undone. Damage is reported by the message of the file, as libtiff does. */
#include "image/tiff/tiff.h"

#include "image/inflate.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUT_SIZE = 64 << 10, /* compressed bytes that are read at once */
    /* Bytes that a strip may have beyond its rows: some programs pad the last strip to its full height. */
    SURPLUS_MAX = 64 << 20,
};

struct tiff_inflate {
    struct inflate_state state;
    struct tiff_file *file;           /* the caller's */
    const struct tiff_layout *layout; /* the caller's */

    /* The current strip or tile. */
    uint64_t at, left; /* offset and number of the compressed bytes that were not read yet */
    unsigned char input[INPUT_SIZE];

    /* Decoded rows. */
    size_t row;           /* bytes of a row of one plane; of tiles: of a tile's row */
    unsigned bits;        /* of a sample */
    unsigned samples;     /* per pixel of a plane */
    uint16_t predictor;   /* PREDICTOR_... */
    bool swapped;         /* samples are not in the host's byte order */
    bool reversed;        /* bytes have their lowest bit first (FillOrder 2) */
    unsigned char *spare; /* a row; NULL if the predictor needs none */
};

/* Sets the file's message unless an earlier one is there. Returns false. */
static bool strip_damaged(struct tiff_inflate *inflate, const char *what)
{
    struct tiff_file *file = inflate->file;

    if (file->message[0] == '\0')
        snprintf(file->message, sizeof file->message, "%s", what);
    return false;
}

/* Adds to each sample the one of the pixel to its left, modulo its size: the strip stores the differences.
 * `bytes` of a sample and `samples` of a pixel are constants in all calls, so that the sums stay in
 * registers. */
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

/* add_left for 1 to 4 samples per pixel. */
static inline __attribute__((always_inline)) void add_left_of(unsigned char *row, size_t size, size_t bytes,
                                                              unsigned samples)
{
    switch (samples) {
    case 1:
        add_left(row, size, bytes, 1);
        break;
    case 2:
        add_left(row, size, bytes, 2);
        break;
    case 3:
        add_left(row, size, bytes, 3);
        break;
    default:
        add_left(row, size, bytes, 4);
    }
}

/* Undoes horizontal differencing of a row (TIFF 6.0, section 14). Complex samples were refused. */
static void undo_horizontal(const struct tiff_inflate *inflate, unsigned char *row)
{
    switch (inflate->bits) {
    case 8:
        add_left_of(row, inflate->row, 1, inflate->samples);
        break;
    case 16:
        add_left_of(row, inflate->row, 2, inflate->samples);
        break;
    case 32:
        add_left_of(row, inflate->row, 4, inflate->samples);
        break;
    default:
        add_left_of(row, inflate->row, 8, inflate->samples);
    }
}

/* A row has first the most significant bytes of all floats, then the next ones, and so on; these bytes are
 * stored as differences. Source: Adobe Photoshop TIFF Technical Note 3. */
static void undo_floating_point(const struct tiff_inflate *inflate, unsigned char *row)
{
    const size_t size = inflate->bits / 8, count = inflate->row / size;

    add_left_of(row, inflate->row, 1, inflate->samples);
    memcpy(inflate->spare, row, inflate->row);
    for (size_t byte = 0; byte < size; byte++) {
        const size_t place = BYTE_ORDER == LITTLE_ENDIAN ? size - 1 - byte : byte;
        for (size_t i = 0; i < count; i++)
            row[i * size + place] = inflate->spare[byte * count + i];
    }
}

/* Decodes some bytes of the strip. *written receives their number, at most `size`. */
static bool inflate_step(struct tiff_inflate *inflate, unsigned char *to, size_t size, size_t *written)
{
    const uint64_t file_size = inflate->file->size,
                   in_file = inflate->at < file_size ? file_size - inflate->at : 0,
                   left = inflate->left < in_file ? inflate->left : in_file;

    /* Read more input if all was decoded and the strip has more, in the file and by its byte count. */
    if (inflate_is_hungry(&inflate->state) && left > 0) {
        const size_t count = left < INPUT_SIZE ? (size_t)left : INPUT_SIZE;
        if (!tiff_file_read_at(inflate->file, inflate->at, inflate->input, count))
            return false;
        if (inflate->reversed)
            TIFFReverseBits(inflate->input, (tmsize_t)count);
        inflate->at += count;
        inflate->left -= count;
        inflate_feed(&inflate->state, inflate->input, count);
    }
    const bool hungry = inflate_is_hungry(&inflate->state); /* ISA-L may still have bytes to write */
    const int failure = inflate_some(&inflate->state, to, size, written);
    if (failure == ISAL_INCORRECT_CHECKSUM)
        return strip_damaged(inflate, "the checksum of a strip or tile is wrong");
    if (failure != 0)
        return strip_damaged(inflate, "a strip or tile is not deflated as it should be");
    if (hungry && *written == 0 && !inflate_has_ended(&inflate->state))
        return strip_damaged(inflate, inflate->left > 0
                                          ? "the file ends before its pixels do"
                                          : "a strip or tile ends before its pixels or its checksum");
    return true;
}

bool tiff_inflate_rows(struct tiff_inflate *inflate, unsigned char *to, size_t size)
{
    for (size_t at = 0, written; at < size; at += written)
        if (inflate_has_ended(&inflate->state))
            return strip_damaged(inflate, "a strip or tile has too few pixels");
        else if (!inflate_step(inflate, to + at, size - at, &written))
            return false;

    /* The floating-point predictor has a byte order of its own, so that nothing is to be swapped. */
    if (inflate->swapped && inflate->predictor != PREDICTOR_FLOATINGPOINT)
        tiff_layout_swap(inflate->layout, to, size);
    for (size_t at = 0; inflate->predictor != PREDICTOR_NONE && at < size; at += inflate->row)
        if (inflate->predictor == PREDICTOR_HORIZONTAL)
            undo_horizontal(inflate, to + at);
        else
            undo_floating_point(inflate, to + at);
    return true;
}

/* Decodes to the end of the stream, as its last 4 bytes are the checksum. */
bool tiff_inflate_end(struct tiff_inflate *inflate)
{
    unsigned char surplus[4096]; /* bytes after the last row; not used */
    size_t sum = 0;

    for (size_t written; !inflate_has_ended(&inflate->state); sum += written)
        if (!inflate_step(inflate, surplus, sizeof surplus, &written))
            return false;
        else if (sum > SURPLUS_MAX)
            return strip_damaged(inflate, "a strip or tile has too many pixels");
    return true;
}

void tiff_inflate_begin(struct tiff_inflate *inflate, uint32_t number)
{
    inflate->at = TIFFGetStrileOffset(inflate->file->tiff, number);
    inflate->left = TIFFGetStrileByteCount(inflate->file->tiff, number);
    inflate_begin(&inflate->state);
}

struct tiff_inflate *tiff_inflate_open(struct tiff_file *file, const struct tiff_layout *layout,
                                       struct error *error)
{
    struct tiff_inflate *inflate = allocate(sizeof *inflate, "TIFF", error);
    const unsigned bits = layout->bits;
    const bool whole = bits == 8 || bits == 16 || bits == 32 || bits == 64;
    const bool is_float = layout->format == SAMPLEFORMAT_IEEEFP,
               is_complex = layout->format == SAMPLEFORMAT_COMPLEXIEEEFP;
    uint16_t order = FILLORDER_MSB2LSB;
    enum status status = STATUS_OK;

    if (inflate == NULL)
        return NULL;
    inflate->file = file;
    inflate->layout = layout;
    inflate->bits = bits;
    inflate->samples = layout->separate ? 1 : layout->samples;
    inflate->row = layout->tiled ? (size_t)TIFFTileRowSize(file->tiff) : (size_t)TIFFScanlineSize(file->tiff);
    inflate->swapped = TIFFIsByteSwapped(file->tiff);
    inflate->spare = NULL;
    TIFFGetFieldDefaulted(file->tiff, TIFFTAG_FILLORDER, &order);
    inflate->reversed = order == FILLORDER_LSB2MSB;
    TIFFGetFieldDefaulted(file->tiff, TIFFTAG_PREDICTOR, &inflate->predictor);
    if (inflate->predictor != PREDICTOR_NONE &&
        !(inflate->predictor == PREDICTOR_HORIZONTAL && whole && !is_complex) &&
        !(inflate->predictor == PREDICTOR_FLOATINGPOINT && whole && is_float)) {
        status =
            fail(error, STATUS_FAILED, "damaged TIFF: predictor %u does not go with its samples of %u bits",
                 inflate->predictor, bits);
    } else if (inflate->predictor == PREDICTOR_FLOATINGPOINT) {
        inflate->spare = allocate(inflate->row, "a TIFF row", error);
        status = inflate->spare == NULL ? STATUS_FAILED : STATUS_OK;
    }
    if (status == STATUS_OK)
        return inflate;
    tiff_inflate_close(inflate);
    return NULL;
}

void tiff_inflate_close(struct tiff_inflate *inflate)
{
    if (inflate == NULL)
        return;
    free(inflate->spare);
    free(inflate);
}
