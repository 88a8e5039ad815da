/* Strips that are compressed on several threads: what arrives, in which order, and what a failure does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/strips.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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
    bool broken; /* encoding fails */
};

struct packed {
    struct strip strip;
    unsigned char *bytes;
    uLongf size;
};

static enum status pack(struct strip *strip, struct error *error)
{
    struct packed *packed = (struct packed *)strip;
    const struct sink *sink = strip->options->context;
    if (sink->broken)
        return fail(error, STATUS_FAILED, "cannot be packed");
    if (packed->bytes == NULL)
        packed->bytes = malloc(compressBound(STRIP * WIDTH));
    assert_non_null(packed->bytes);
    packed->size = compressBound(STRIP * WIDTH);
    assert_int_equal(compress(packed->bytes, &packed->size, strip->rows, strip->count * WIDTH), Z_OK);
    return STATUS_OK;
}

static void close_packed(struct strip *strip)
{
    free(((struct packed *)strip)->bytes);
}

static enum status take(void *context, struct strip *strip, struct error *error)
{
    static const unsigned char zeros[WIDTH];
    const struct packed *packed = (struct packed *)strip;
    struct sink *sink = context;
    if (sink->strips == sink->strips_until_failure)
        return fail(error, STATUS_FAILED, "the disk is full");
    unsigned char found[STRIP * WIDTH + 1];
    uLongf length = sizeof found;
    uLong consumed = packed->size;
    const uint32_t number = strip->number;
    assert_int_equal(number, sink->strips++);
    assert_int_equal(strip->last, number + 1 == COUNT);
    assert_int_equal(uncompress2(found, &length, packed->bytes, &consumed), Z_OK);
    assert_int_equal(consumed, packed->size);
    assert_int_equal(length, number + 1 < COUNT ? STRIP * WIDTH : (HEIGHT - (COUNT - 1) * STRIP) * WIDTH);
    assert_memory_equal(found, rows + (size_t)number * STRIP * WIDTH, length);
    assert_memory_equal(strip->rows - WIDTH,
                        number == 0 ? zeros : rows + ((size_t)number * STRIP - 1) * WIDTH, WIDTH);
    return STATUS_OK;
}

/* In steps of three rows, up to `height`. */
static enum status write_rows(struct strips *strips, uint32_t height, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t y = 0; status == STATUS_OK && y < height; y += 3) {
        uint32_t count = height - y < 3 ? height - y : 3;
        status = strips_write(strips, rows + (size_t)y * WIDTH, WIDTH, count, error);
    }
    return status;
}

static struct strips *open_strips(struct sink *sink, int jobs)
{
    struct error error;
    struct strips_options options = {.row_size = WIDTH,
                                     .height = HEIGHT,
                                     .strip_rows = STRIP,
                                     .has_row_above = true,
                                     .strip_size = sizeof(struct packed),
                                     .strip_memory = 1,
                                     .threads = jobs,
                                     .encode = pack,
                                     .emit = take,
                                     .close = close_packed,
                                     .context = sink};
    struct strips *strips = strips_open(&options, &error);
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
        struct strips *strips = open_strips(&sink, jobs[i]);
        assert_int_equal(write_rows(strips, HEIGHT, &error), STATUS_OK);
        assert_int_equal(strips_finish(strips, &error), STATUS_OK);
        assert_int_equal(sink.strips, COUNT);
        strips_close(strips);
    }
}

static void a_failure_ends_it_at_any_strip(void **state)
{
    (void)state;
    for (uint32_t failing = 0; failing < COUNT; failing++) {
        struct sink sink = {.strips_until_failure = failing};
        struct error error = {.text = ""};
        struct strips *strips = open_strips(&sink, 3);
        enum status status = write_rows(strips, HEIGHT, &error);
        if (status == STATUS_OK)
            status = strips_finish(strips, &error);
        assert_int_equal(status, STATUS_FAILED);
        assert_string_equal(error.text, "the disk is full");
        assert_int_equal(sink.strips, failing);
        strips_close(strips);
    }
}

static void what_cannot_be_encoded_is_told(void **state)
{
    (void)state;
    struct sink sink = {.strips_until_failure = UINT32_MAX, .broken = true};
    struct error error = {.text = ""};
    struct strips *strips = open_strips(&sink, 2);
    enum status status = write_rows(strips, HEIGHT, &error);
    if (status == STATUS_OK)
        status = strips_finish(strips, &error);
    assert_int_equal(status, STATUS_FAILED);
    assert_string_equal(error.text, "cannot be packed");
    assert_int_equal(sink.strips, 0);
    strips_close(strips);
}

static void closing_is_possible_at_any_row(void **state)
{
    (void)state;
    for (uint32_t there = 0; there <= HEIGHT; there++) {
        struct sink sink = {.strips_until_failure = UINT32_MAX};
        struct error error;
        struct strips *strips = open_strips(&sink, 4);
        assert_int_equal(write_rows(strips, there, &error), STATUS_OK);
        strips_close(strips);
    }
    strips_close(NULL);
}

static void too_few_and_too_many_rows_are_told(void **state)
{
    (void)state;
    struct sink sink = {.strips_until_failure = UINT32_MAX};
    struct error error = {.text = ""};
    struct strips *strips = open_strips(&sink, 2);
    assert_int_equal(write_rows(strips, HEIGHT - 1, &error), STATUS_OK);
    assert_int_equal(strips_finish(strips, &error), STATUS_FAILED);
    assert_string_equal(error.text, "the last 1 rows are missing");
    assert_int_equal(strips_write(strips, rows, WIDTH, 2, &error), STATUS_FAILED);
    assert_string_equal(error.text, "more rows than the header says");
    strips_close(strips);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strips_arrive_in_order),
        cmocka_unit_test(a_failure_ends_it_at_any_strip),
        cmocka_unit_test(what_cannot_be_encoded_is_told),
        cmocka_unit_test(closing_is_possible_at_any_row),
        cmocka_unit_test(too_few_and_too_many_rows_are_told),
    };
    return cmocka_run_group_tests(tests, make_rows, NULL);
}
