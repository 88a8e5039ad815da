/* A bit that flips in the pixels of a deflated TIFF never gives other pixels: each strip and tile has a
 * checksum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tiffio.h>
#include <unistd.h>

enum { WIDTH = 70, HEIGHT = 50, FLIPS = 2000, SAMPLES = 3 };

struct layout {
    const char *name, *mode;
    uint16_t bits, format, planar, predictor;
    uint32_t tile; /* pixels along a side; 0: strips */
};

static const struct layout layouts[] = {
    {"strips", "w", 8, SAMPLEFORMAT_UINT, PLANARCONFIG_CONTIG, PREDICTOR_NONE, 0},
    {"differences", "w", 8, SAMPLEFORMAT_UINT, PLANARCONFIG_CONTIG, PREDICTOR_HORIZONTAL, 0},
    {"the other byte order", "wb", 16, SAMPLEFORMAT_UINT, PLANARCONFIG_CONTIG, PREDICTOR_HORIZONTAL, 0},
    {"floats", "w8", 32, SAMPLEFORMAT_IEEEFP, PLANARCONFIG_CONTIG, PREDICTOR_FLOATINGPOINT, 0},
    {"tiles", "w", 8, SAMPLEFORMAT_UINT, PLANARCONFIG_CONTIG, PREDICTOR_NONE, 32},
    {"differences in tiles", "w", 16, SAMPLEFORMAT_UINT, PLANARCONFIG_CONTIG, PREDICTOR_HORIZONTAL, 32},
    {"planes", "w", 8, SAMPLEFORMAT_UINT, PLANARCONFIG_SEPARATE, PREDICTOR_NONE, 0},
    {"planes in tiles", "w", 8, SAMPLEFORMAT_UINT, PLANARCONFIG_SEPARATE, PREDICTOR_HORIZONTAL, 32},
    {"complex numbers", "w", 64, SAMPLEFORMAT_COMPLEXIEEEFP, PLANARCONFIG_CONTIG, PREDICTOR_NONE, 0},
};

static int file; /* in memory */
static char path[32];

static void write_file(const struct layout *layout)
{
    TIFF *tiff = TIFFOpen(path, layout->mode);
    assert_non_null(tiff);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, WIDTH);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, HEIGHT);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, layout->bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, SAMPLES);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, layout->format);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, layout->planar);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(tiff, TIFFTAG_PREDICTOR, layout->predictor);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 20);
    if (layout->tile > 0) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, layout->tile);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, layout->tile);
    }
    const uint32_t count = layout->tile > 0 ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
    const tmsize_t size = layout->tile > 0 ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
    unsigned char *piece = malloc((size_t)size);
    assert_non_null(piece);
    for (uint32_t i = 0; i < count; i++) {
        for (tmsize_t at = 0; at < size; at++)
            piece[at] = (unsigned char)(random() % 64); /* Adler-32 is weak where few values repeat */
        if (layout->tile > 0)
            assert_int_equal(TIFFWriteEncodedTile(tiff, i, piece, size), size);
        else
            assert_true(TIFFWriteEncodedStrip(tiff, i, piece, TIFFVStripSize(tiff, i % 3 == 2 ? 10 : 20)) >
                        0);
    }
    free(piece);
    TIFFClose(tiff);
}

/* The rows of the picture, `size` bytes; NULL: it is refused. */
static unsigned char *decode(size_t *size)
{
    const struct reader_options options = {.max_pixels = 1 << 20, .jobs = 1};
    struct reader *reader;
    struct error error = {.text = ""};
    if (reader_open(path, &options, &reader, &error) != STATUS_OK)
        return NULL;
    const struct image_info *info = reader_info(reader);
    *size = row_size(info) * info->height;
    unsigned char *rows = malloc(*size);
    assert_non_null(rows);
    if (reader_read(reader, rows, row_size(info), info->height, &error) != STATUS_OK) {
        assert_non_null(strstr(error.text, "damaged TIFF: "));
        free(rows);
        rows = NULL;
    }
    reader_close(reader);
    return rows;
}

/* Returns the offset of a random strip or tile. */
static off_t draw_place(TIFF *tiff)
{
    const uint32_t count = TIFFIsTiled(tiff) ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff),
                   number = (uint32_t)random() % count;
    return (off_t)(TIFFGetStrileOffset(tiff, number) +
                   (uint64_t)random() % TIFFGetStrileByteCount(tiff, number));
}

static void flip_bits(const struct layout *layout)
{
    size_t size = 0, found_size = 0;
    write_file(layout);
    unsigned char *right = decode(&size);
    assert_non_null(right);
    TIFF *tiff = TIFFOpen(path, "r");
    for (int i = 0; i < FLIPS; i++) {
        const off_t at = draw_place(tiff);
        const unsigned char bit = (unsigned char)(1 << random() % 8);
        unsigned char byte = 0;
        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= bit;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
        unsigned char *found = decode(&found_size);
        const bool same = found != NULL && found_size == size && memcmp(found, right, size) == 0;
        if (found != NULL && !same)
            print_error("%s: bit %d of byte %ld changes pixels\n", layout->name, bit, (long)at);
        assert_true(found == NULL || same);
        free(found);
        byte ^= bit;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
    }
    TIFFClose(tiff);
    free(right);
}

static void flipped_bits_are_refused(void **state)
{
    (void)state;
    file = memfd_create("flips", MFD_CLOEXEC);
    assert_true(file >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        flip_bits(&layouts[i]);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(flipped_bits_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
