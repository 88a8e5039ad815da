/* Decodes strips and tiles compressed by deflate with ISA-L, compares their checksums,
 * and undoes the predictor. */
#include "image/tiff/tiff.h"

#include "image/inflate.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUT_SIZE = 64 << 10, /* compressed bytes that are read at once */
    /* Bytes that a strip may have beyond its rows: some programs fill up the last strip. */
    SURPLUS_MAX = 64 << 20,
};

struct tiff_inflate {
    struct inflate_state state;
    struct tiff_file *file;
    const struct tiff_layout *layout;
    uint64_t at, left;      /* offset and number of the compressed bytes that were not read yet */
    size_t row;             /* bytes */
    unsigned bits, samples; /* of a sample, of a pixel */
    uint16_t predictor;
    bool swapped;         /* samples are not in the host's byte order */
    bool reversed;        /* the compressed bytes have their lowest bit first */
    unsigned char *spare; /* a row; NULL where the predictor needs none */
    unsigned char input[INPUT_SIZE];
};

static bool tiff_damaged(struct tiff_inflate *inflate, const char *what)
{
    struct tiff_file *file = inflate->file;

    if (file->message[0] == '\0')
        snprintf(file->message, sizeof file->message, "%s", what);
    return false;
}

/* Adds to each sample its left neighbour: the strip has the differences. With constants for `bytes`, of a
 * sample, and `samples`, of a pixel, the sums stay in registers. */
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

/* A row has first the highest bytes of all floats, then the next ones, as differences of neighbouring bytes
 * (Adobe Photoshop TIFF Technical Note 3). */
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

static void finish_rows(const struct tiff_inflate *inflate, unsigned char *rows, size_t size)
{
    if (inflate->swapped && inflate->predictor != PREDICTOR_FLOATINGPOINT)
        tiff_layout_swap(inflate->layout, rows, size);
    for (size_t at = 0; inflate->predictor != PREDICTOR_NONE && at < size; at += inflate->row)
        if (inflate->predictor == PREDICTOR_HORIZONTAL)
            undo_horizontal(inflate, rows + at);
        else
            undo_floating_point(inflate, rows + at);
}

static uint64_t input_left(const struct tiff_inflate *inflate)
{
    const uint64_t size = inflate->file->size, behind = inflate->at < size ? size - inflate->at : 0;

    return inflate->left < behind ? inflate->left : behind;
}

static bool read_input(struct tiff_inflate *inflate)
{
    const uint64_t left = input_left(inflate);
    const size_t size = left < INPUT_SIZE ? (size_t)left : INPUT_SIZE;

    if (!tiff_file_read_at(inflate->file, inflate->at, inflate->input, size))
        return false;
    if (inflate->reversed)
        TIFFReverseBits(inflate->input, (tmsize_t)size);
    inflate->at += size;
    inflate->left -= size;
    inflate_feed(&inflate->state, inflate->input, size);
    return true;
}

/* *made receives the number of bytes that it wrote, at most `size`. */
static bool step(struct tiff_inflate *inflate, unsigned char *to, size_t size, size_t *made)
{
    if (inflate_is_hungry(&inflate->state) && input_left(inflate) > 0 && !read_input(inflate))
        return false;
    const bool hungry = inflate_is_hungry(&inflate->state); /* ISA-L may still have bytes to write */
    const int trouble = inflate_some(&inflate->state, to, size, made);
    if (trouble == ISAL_INCORRECT_CHECKSUM)
        return tiff_damaged(inflate, "the checksum of a strip or tile is wrong");
    if (trouble != 0)
        return tiff_damaged(inflate, "a strip or tile is not deflated as it should be");
    if (hungry && *made == 0 && !inflate_has_ended(&inflate->state))
        return tiff_damaged(inflate, inflate->left > 0
                                         ? "the file ends before its pixels do"
                                         : "a strip or tile ends before its pixels or its checksum");
    return true;
}

bool tiff_inflate_rows(struct tiff_inflate *inflate, unsigned char *to, size_t size)
{
    for (size_t at = 0, made; at < size; at += made)
        if (inflate_has_ended(&inflate->state))
            return tiff_damaged(inflate, "a strip or tile has too few pixels");
        else if (!step(inflate, to + at, size - at, &made))
            return false;
    finish_rows(inflate, to, size);
    return true;
}

bool tiff_inflate_end(struct tiff_inflate *inflate)
{
    unsigned char surplus[4096];
    size_t sum = 0;

    for (size_t made; !inflate_has_ended(&inflate->state); sum += made)
        if (!step(inflate, surplus, sizeof surplus, &made))
            return false;
        else if (sum > SURPLUS_MAX)
            return tiff_damaged(inflate, "a strip or tile has too many pixels");
    return true;
}

void tiff_inflate_begin(struct tiff_inflate *inflate, uint32_t number)
{
    inflate->at = TIFFGetStrileOffset(inflate->file->tiff, number);
    inflate->left = TIFFGetStrileByteCount(inflate->file->tiff, number);
    inflate_begin(&inflate->state);
}

static enum status check_predictor(const struct tiff_inflate *inflate, struct error *error)
{
    const unsigned bits = inflate->bits;
    const bool whole = bits == 8 || bits == 16 || bits == 32 || bits == 64;

    const bool is_float = inflate->layout->format == SAMPLEFORMAT_IEEEFP,
               is_complex = inflate->layout->format == SAMPLEFORMAT_COMPLEXIEEEFP;

    if (inflate->predictor == PREDICTOR_NONE ||
        (inflate->predictor == PREDICTOR_HORIZONTAL && whole && !is_complex) ||
        (inflate->predictor == PREDICTOR_FLOATINGPOINT && whole && is_float))
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "damaged TIFF: predictor %u does not go with its samples of %u bits",
                inflate->predictor, bits);
}

struct tiff_inflate *tiff_inflate_open(struct tiff_file *file, const struct tiff_layout *layout,
                                       struct error *error)
{
    struct tiff_inflate *inflate = allocate(sizeof *inflate, "TIFF", error);
    const unsigned samples = layout->separate ? 1 : layout->samples;
    uint16_t order = FILLORDER_MSB2LSB;

    if (inflate == NULL)
        return NULL;
    inflate->file = file;
    inflate->layout = layout;
    inflate->bits = layout->bits;
    inflate->samples = samples;
    inflate->row = layout->tiled ? (size_t)TIFFTileRowSize(file->tiff) : (size_t)TIFFScanlineSize(file->tiff);
    inflate->swapped = TIFFIsByteSwapped(file->tiff);
    inflate->spare = NULL;
    TIFFGetFieldDefaulted(file->tiff, TIFFTAG_FILLORDER, &order);
    inflate->reversed = order == FILLORDER_LSB2MSB;
    TIFFGetFieldDefaulted(file->tiff, TIFFTAG_PREDICTOR, &inflate->predictor);
    enum status status = check_predictor(inflate, error);
    if (status == STATUS_OK && inflate->predictor == PREDICTOR_FLOATINGPOINT) {
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
