/* Strips that are compressed on several threads: what arrives, in which order, and what a failure does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/tiff/strips.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

enum { WIDTH = 500, HEIGHT = 95, STRIP = 4, COUNT = (HEIGHT + STRIP - 1) / STRIP };

static unsigned char rows[HEIGHT * WIDTH];

static int make_rows(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof rows; i++)
        rows[i] = (unsigned char)(i * i / 7 + i / WIDTH);
    return 0;
}

struct sink {
    uint32_t strips, strips_until_failure;
    bool broken; /* the tags make no sense */
};

static void describe(const void *context, TIFF *tiff, uint32_t height)
{
    const struct sink *sink = context;
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, WIDTH);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(tiff, TIFFTAG_PREDICTOR, sink->broken ? PREDICTOR_FLOATINGPOINT : PREDICTOR_NONE);
}

static enum status take(void *context, uint32_t strip, const unsigned char *data, size_t size,
                        struct error *error)
{
    struct sink *sink = context;
    if (sink->strips == sink->strips_until_failure)
        return fail(error, STATUS_FAILED, "the disk is full");
    unsigned char found[STRIP * WIDTH + 1];
    uLongf length = sizeof found;
    uLong consumed = (uLong)size;
    assert_int_equal(strip, sink->strips++);
    assert_int_equal(uncompress2(found, &length, data, &consumed), Z_OK);
    assert_int_equal(consumed, size);
    assert_int_equal(length, strip + 1 < COUNT ? STRIP * WIDTH : (HEIGHT - (COUNT - 1) * STRIP) * WIDTH);
    assert_memory_equal(found, rows + (size_t)strip * STRIP * WIDTH, length);
    return STATUS_OK;
}

/* In steps of three rows, up to `height`. */
static enum status write_rows(struct tiff_strips *strips, uint32_t height, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t y = 0; status == STATUS_OK && y < height; y += 3) {
        uint32_t count = height - y < 3 ? height - y : 3;
        status = tiff_strips_write(strips, rows + (size_t)y * WIDTH, WIDTH, count, error);
    }
    return status;
}

static struct tiff_strips *open_strips(struct sink *sink, int jobs)
{
    struct error error;
    struct tiff_strips_options options = {.row_size = WIDTH,
                                          .height = HEIGHT,
                                          .strip_height = STRIP,
                                          .jobs = jobs,
                                          .describe = describe,
                                          .emit = take,
                                          .context = sink};
    struct tiff_strips *strips = tiff_strips_open(&options, &error);
    assert_non_null(strips);
    return strips;
}

static void strips_arrive_in_order(void **state)
{
    (void)state;
    static const int jobs[] = {1, 2, 16};
    for (int i = 0; i < 3; i++) {
        struct sink sink = {.strips_until_failure = UINT32_MAX};
        struct error error;
        struct tiff_strips *strips = open_strips(&sink, jobs[i]);
        assert_int_equal(write_rows(strips, HEIGHT, &error), STATUS_OK);
        assert_int_equal(tiff_strips_finish(strips, &error), STATUS_OK);
        assert_int_equal(sink.strips, COUNT);
        tiff_strips_close(strips);
    }
}

static void a_failure_ends_it_at_any_strip(void **state)
{
    (void)state;
    for (uint32_t failing = 0; failing < COUNT; failing++) {
        struct sink sink = {.strips_until_failure = failing};
        struct error error = {.text = ""};
        struct tiff_strips *strips = open_strips(&sink, 3);
        enum status status = write_rows(strips, HEIGHT, &error);
        if (status == STATUS_OK)
            status = tiff_strips_finish(strips, &error);
        assert_int_equal(status, STATUS_FAILED);
        assert_string_equal(error.text, "the disk is full");
        assert_int_equal(sink.strips, failing);
        tiff_strips_close(strips);
    }
}

static void what_libtiff_refuses_is_told(void **state)
{
    (void)state;
    struct sink sink = {.strips_until_failure = UINT32_MAX, .broken = true};
    struct error error = {.text = ""};
    struct tiff_strips *strips = open_strips(&sink, 2);
    enum status status = write_rows(strips, HEIGHT, &error);
    if (status == STATUS_OK)
        status = tiff_strips_finish(strips, &error);
    assert_int_equal(status, STATUS_FAILED);
    assert_memory_equal(error.text, "cannot write TIFF: ", 19);
    assert_int_equal(sink.strips, 0);
    tiff_strips_close(strips);
}

static void closing_is_possible_at_any_row(void **state)
{
    (void)state;
    for (uint32_t there = 0; there <= HEIGHT; there++) {
        struct sink sink = {.strips_until_failure = UINT32_MAX};
        struct error error;
        struct tiff_strips *strips = open_strips(&sink, 4);
        assert_int_equal(write_rows(strips, there, &error), STATUS_OK);
        tiff_strips_close(strips);
    }
    tiff_strips_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strips_arrive_in_order),
        cmocka_unit_test(a_failure_ends_it_at_any_strip),
        cmocka_unit_test(what_libtiff_refuses_is_told),
        cmocka_unit_test(closing_is_possible_at_any_row),
    };
    return cmocka_run_group_tests(tests, make_rows, NULL);
}
