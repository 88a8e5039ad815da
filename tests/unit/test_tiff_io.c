/* TIFF from file to pixels and back. Files that climg does not write itself are made with libtiff here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/format.h"
#include "image/reader.h"
#include "image/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

enum { WIDTH = 37, HEIGHT = 29 };

static char path[] = "/tmp/climg-test-XXXXXX";

static int make_path(void **state)
{
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

/* Pseudo-random bytes, the same every time; as floats they may have any value. */
static unsigned char *make_pixels(size_t size)
{
    unsigned char *pixels = malloc(size);
    uint32_t seed = 1;
    assert_non_null(pixels);
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        pixels[i] = (unsigned char)(seed >> 24);
    }
    return pixels;
}

static void put_page(struct writer *writer, const struct image_info *info, const unsigned char *pixels,
                     uint32_t step)
{
    const size_t row = row_size(info);
    struct error error;
    assert_int_equal(writer_begin_page(writer, info, &error), STATUS_OK);
    for (uint32_t y = 0; y < info->height; y += step) {
        uint32_t count = info->height - y < step ? info->height - y : step;
        assert_int_equal(writer_write(writer, pixels + y * row, row, count, &error), STATUS_OK);
    }
    assert_int_equal(writer_end_page(writer, &error), STATUS_OK);
}

static struct writer *start_writing(int compression)
{
    const struct writer_options options = {.format = format_by_extension("tiff"), .compression = compression};
    struct writer *writer;
    struct error error;
    assert_int_equal(writer_open(path, &options, &writer, &error), STATUS_OK);
    return writer;
}

static void finish_writing(struct writer *writer)
{
    struct error error;
    assert_int_equal(writer_commit(writer, &error), STATUS_OK);
    writer_close(writer);
}

static void put_image(const struct image_info *info, const unsigned char *pixels, int compression,
                      uint32_t step)
{
    struct writer *writer = start_writing(compression);
    put_page(writer, info, pixels, step);
    finish_writing(writer);
}

static enum status try_reading(int page, struct reader **reader, struct error *error)
{
    const struct reader_options options = {.page = page, .max_pixels = 1 << 20};
    return reader_open(path, &options, reader, error);
}

static struct reader *start_reading(int page)
{
    struct reader *reader;
    struct error error;
    assert_int_equal(try_reading(page, &reader, &error), STATUS_OK);
    return reader;
}

/* The current page holds these pixels, also when its rows come in pieces with room between them. */
static void assert_page(struct reader *reader, const void *pixels, uint32_t step, size_t room)
{
    const struct image_info *info = reader_info(reader);
    const size_t row = row_size(info), pitch = row + room;
    unsigned char *rows = malloc(step * pitch);
    struct error error;
    assert_non_null(rows);
    for (uint32_t y = 0; y < info->height; y += step) {
        uint32_t count = info->height - y < step ? info->height - y : step;
        assert_int_equal(reader_read(reader, rows, pitch, count, &error), STATUS_OK);
        for (uint32_t i = 0; i < count; i++)
            assert_memory_equal(rows + i * pitch, (const char *)pixels + (y + i) * row, row);
    }
    free(rows);
}

static void assert_image(const void *pixels)
{
    static const uint32_t steps[] = {1, 7, HEIGHT};
    for (size_t i = 0; i < 3; i++) {
        struct reader *reader = start_reading(0);
        assert_page(reader, pixels, steps[i], 5 * i);
        reader_close(reader);
    }
}

static void assert_refused(const char *reason)
{
    struct reader *reader;
    struct error error;
    assert_int_equal(try_reading(0, &reader, &error), STATUS_FAILED);
    assert_null(reader);
    assert_non_null(strstr(error.text, reason));
}

static void metadata_survives(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"Title", "t"},  {"Description", "d \xc3\xa9"},         {"Creation Time", "2001:02:03 04:05:06"},
        {"Author", "a"}, {"Comment", "<&\"'> no tag has this"}, {"XML:com.adobe.xmp", "<x/>"},
    };
    struct image_info info = {.width = 1, .height = 1, .channels = 1};
    struct metadata *put = &info.metadata;
    struct error error;
    put->resolution_unit = RESOLUTION_PER_METRE;
    put->x_resolution = put->y_resolution = 11811;
    put->orientation = 6;
    put->has_chromaticities = true;
    for (int i = 0; i < 8; i++)
        put->chromaticities[i] = 0.1 * i + 0.00001;
    assert_int_equal(metadata_set_blob(&put->icc, "profile", 7, &error), STATUS_OK);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(metadata_set_text(put, texts[i][0], texts[i][1], strlen(texts[i][1]), &error),
                         STATUS_OK);
    put_image(&info, (const unsigned char *)"x", 0, 1);
    metadata_free(put);

    struct reader *reader = start_reading(0);
    const struct metadata *got = &reader_info(reader)->metadata;
    assert_int_equal(got->resolution_unit, RESOLUTION_PER_METRE);
    assert_true(got->x_resolution > 11811 && got->x_resolution < 11811.1); /* 300 dpi */
    assert_int_equal(got->orientation, 6);
    assert_true(got->has_chromaticities);
    for (int i = 0; i < 8; i++)
        assert_float_equal(got->chromaticities[i], 0.1 * i + 0.00001, 1e-9);
    assert_int_equal(got->icc.size, 7);
    assert_memory_equal(got->icc.data, "profile", 7);
    assert_int_equal(got->text_count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(metadata_text(got, texts[i][0]), texts[i][1]);
    reader_close(reader);
}

/* A gray image of 8 bits in one strip, to be changed before its rows are written. */
static TIFF *start_libtiff(const char *mode, uint32_t width, uint32_t height)
{
    TIFF *tiff = TIFFOpen(path, mode);
    assert_non_null(tiff);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, height);
    return tiff;
}

static void finish_libtiff(TIFF *tiff, const char *pixels, size_t size)
{
    unsigned char copy[64]; /* libtiff swaps bytes in place */
    assert_true(size <= sizeof copy);
    memcpy(copy, pixels, size);
    assert_int_equal(TIFFWriteEncodedStrip(tiff, 0, copy, (tmsize_t)size), size);
    TIFFClose(tiff);
}

static void palettes_become_rgb(void **state)
{
    (void)state;
    static const uint16_t eight[3][4] = {{0, 257, 514, 65535}, {257, 0, 0, 0}, {0, 0, 0, 257}};
    static const uint16_t sixteen[3][4] = {{1, 2, 3, 40000}, {1, 1, 1, 1}, {2, 2, 2, 2}};
    static const uint16_t wide[] = {3, 1, 2, 1, 1, 2};
    TIFF *tiff = start_libtiff("w", 2, 1);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 2);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_PALETTE);
    TIFFSetField(tiff, TIFFTAG_COLORMAP, eight[0], eight[1], eight[2]);
    finish_libtiff(tiff, "\xc0", 1);
    assert_image("\xff\0\x01\0\x01\0");
    tiff = start_libtiff("w", 2, 1);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 2);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_PALETTE);
    TIFFSetField(tiff, TIFFTAG_COLORMAP, sixteen[0], sixteen[1], sixteen[2]);
    finish_libtiff(tiff, "\x80", 1);
    assert_image(wide);
}

static void the_other_byte_order_is_read(void **state)
{
    (void)state;
    static const uint16_t pixels[] = {1, 2, 300, 40000};
    static const char *const modes[] = {"wl", "wb", "wl8", "wb8"};
    for (int i = 0; i < 4; i++) {
        TIFF *tiff = start_libtiff(modes[i], 2, 2);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 16);
        finish_libtiff(tiff, (const char *)pixels, sizeof pixels);
        assert_image(pixels);
    }
}

static void reduced_copies_are_no_pages(void **state)
{
    (void)state;
    TIFF *tiff = start_libtiff("w", 2, 1);
    finish_libtiff(tiff, "ab", 2);
    tiff = start_libtiff("a", 1, 1);
    TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
    finish_libtiff(tiff, "x", 1);
    tiff = start_libtiff("a", 2, 1);
    finish_libtiff(tiff, "cd", 2);
    struct reader *reader = start_reading(2);
    assert_int_equal(reader_page_count(reader), 2);
    assert_page(reader, "cd", 1, 0);
    reader_close(reader);
}

static void refusals_name_the_reason(void **state)
{
    (void)state;
    TIFF *tiff = start_libtiff("w", 1, 1);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 3);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_SEPARATED);
    finish_libtiff(tiff, "cmy", 3);
    assert_refused("this kind of CMYK data is not supported; convert it to RGB first");
    tiff = start_libtiff("w", 1, 1);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_INT);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 4);
    finish_libtiff(tiff, "x", 1);
    assert_refused("4-bit signed samples");
    tiff = start_libtiff("w", 2048, 1024);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 1);
    finish_libtiff(tiff, "x", 1);
    assert_refused("2048x1024 pixels");
}

/* The directory is after the pixels, so any truncation is noticed. */
static void cut_off_files_are_errors(void **state)
{
    (void)state;
    struct image_info info = {.width = WIDTH, .height = HEIGHT, .channels = 3};
    unsigned char *pixels = make_pixels(HEIGHT * row_size(&info));
    put_image(&info, pixels, 1, HEIGHT);
    free(pixels);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    fclose(file);
    while (--size >= 0) {
        assert_int_equal(truncate(path, size), 0);
        assert_refused(size < 4 ? "" : "damaged TIFF: ");
    }
}

/* Large enough to be decoded on several threads: pages of seven strips. */
enum { LARGE_WIDTH = 1000, LARGE_HEIGHT = 1600 };

static struct reader *read_large(int jobs)
{
    const struct reader_options options = {.max_pixels = 1 << 21, .jobs = jobs};
    struct reader *reader;
    struct error error;
    assert_int_equal(reader_open(path, &options, &reader, &error), STATUS_OK);
    return reader;
}

enum { TALL_WIDTH = 4096, TALL_HEIGHT = 2100 };

static unsigned char tall_sample(uint32_t x, uint32_t y, int plane)
{
    return (unsigned char)(x / 64 + 3 * y + 85 * (uint32_t)plane);
}

/* In one strip of more bytes than are held at once. */
static void write_tall(int planes)
{
    unsigned char row[TALL_WIDTH];
    TIFF *tiff = start_libtiff("w", TALL_WIDTH, TALL_HEIGHT);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, planes);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, planes == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_SEPARATE);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_PACKBITS);
    for (int plane = 0; plane < planes; plane++)
        for (uint32_t y = 0; y < TALL_HEIGHT; y++) {
            for (uint32_t x = 0; x < TALL_WIDTH; x++)
                row[x] = tall_sample(x, y, plane);
            assert_int_equal(TIFFWriteScanline(tiff, row, y, (uint16_t)plane), 1);
        }
    TIFFClose(tiff);
}

static void tall_strips_are_read_by_rows(void **state)
{
    static unsigned char rows[500 * TALL_WIDTH * 3];
    const struct reader_options options = {.max_pixels = 1 << 30};
    struct reader *reader;
    struct error error = {.text = ""};
    (void)state;
    for (int planes = 1; planes <= 3; planes += 2) {
        const size_t pitch = (size_t)TALL_WIDTH * (size_t)planes;
        write_tall(planes);
        assert_int_equal(reader_open(path, &options, &reader, &error), STATUS_OK);
        for (uint32_t y = 0; y < TALL_HEIGHT; y += 500) {
            const uint32_t count = TALL_HEIGHT - y < 500 ? TALL_HEIGHT - y : 500;
            assert_int_equal(reader_read(reader, rows, pitch, count, &error), STATUS_OK);
            for (size_t i = 0; i < count * pitch; i += 61) /* of all columns and planes */
                assert_int_equal(rows[i], tall_sample((uint32_t)(i % pitch) / (uint32_t)planes,
                                                      y + (uint32_t)(i / pitch), (int)(i % (size_t)planes)));
        }
        reader_close(reader);
    }
    assert_int_equal(truncate(path, 60000), 0);
    assert_int_equal(reader_open(path, &options, &reader, &error), STATUS_FAILED);
}

static void damage_is_told_where_it_is(void **state)
{
    (void)state;
    const struct image_info info = {
        .width = LARGE_WIDTH, .height = LARGE_HEIGHT, .channels = 1, .type = SAMPLE_UINT8};
    unsigned char *pixels = make_pixels(LARGE_WIDTH * LARGE_HEIGHT), *found = malloc(262 * LARGE_WIDTH);
    put_image(&info, pixels, 1, 100);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 600000, SEEK_SET); /* in the third strip: noise does not shrink */
    for (int i = 0; i < 100; i++)
        fputc(0xff, file);
    fclose(file);
    for (int jobs = 1; jobs <= 4; jobs++) {
        struct reader *reader = read_large(jobs);
        struct error error = {.text = ""};
        assert_int_equal(reader_read(reader, found, LARGE_WIDTH, 262, &error), STATUS_OK);
        assert_int_equal(reader_read(reader, found, LARGE_WIDTH, 262, &error), STATUS_OK);
        assert_memory_equal(found, pixels + 262 * LARGE_WIDTH, 262 * LARGE_WIDTH);
        assert_int_equal(reader_read(reader, found, LARGE_WIDTH, 1, &error), STATUS_FAILED);
        assert_non_null(strstr(error.text, "damaged TIFF: "));
        reader_close(reader);
    }
    free(found);
    free(pixels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_survives),
        cmocka_unit_test(palettes_become_rgb),
        cmocka_unit_test(the_other_byte_order_is_read),
        cmocka_unit_test(reduced_copies_are_no_pages),
        cmocka_unit_test(refusals_name_the_reason),
        cmocka_unit_test(cut_off_files_are_errors),
        cmocka_unit_test(tall_strips_are_read_by_rows),
        cmocka_unit_test(damage_is_told_where_it_is),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
