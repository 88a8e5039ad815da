/* Parts that are compressed on several threads: what arrives, in which order, and what a failure does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/parts.h"

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
    uint32_t parts, parts_until_failure;
    bool broken; /* encoding fails */
};

struct packed {
    struct part part;
    unsigned char *bytes;
    uLongf size;
};

static enum status pack(struct part *part, struct error *error)
{
    struct packed *packed = (struct packed *)part;
    const struct sink *sink = part->options->context;
    if (sink->broken)
        return fail(error, STATUS_FAILED, "cannot be packed");
    if (packed->bytes == NULL)
        packed->bytes = malloc(compressBound(STRIP * WIDTH));
    assert_non_null(packed->bytes);
    packed->size = compressBound(STRIP * WIDTH);
    assert_int_equal(compress(packed->bytes, &packed->size, part->rows, part->count * WIDTH), Z_OK);
    return STATUS_OK;
}

static void close_packed(struct part *part)
{
    free(((struct packed *)part)->bytes);
}

static enum status take(void *context, struct part *part, struct error *error)
{
    static const unsigned char zeros[WIDTH];
    const struct packed *packed = (struct packed *)part;
    struct sink *sink = context;
    if (sink->parts == sink->parts_until_failure)
        return fail(error, STATUS_FAILED, "the disk is full");
    unsigned char found[STRIP * WIDTH + 1];
    uLongf length = sizeof found;
    uLong consumed = packed->size;
    const uint32_t number = part->number;
    assert_int_equal(number, sink->parts++);
    assert_int_equal(part->last, number + 1 == COUNT);
    assert_int_equal(uncompress2(found, &length, packed->bytes, &consumed), Z_OK);
    assert_int_equal(consumed, packed->size);
    assert_int_equal(length, number + 1 < COUNT ? STRIP * WIDTH : (HEIGHT - (COUNT - 1) * STRIP) * WIDTH);
    assert_memory_equal(found, rows + (size_t)number * STRIP * WIDTH, length);
    assert_memory_equal(part->rows - WIDTH, number == 0 ? zeros : rows + ((size_t)number * STRIP - 1) * WIDTH,
                        WIDTH);
    return STATUS_OK;
}

/* In steps of three rows, up to `height`. */
static enum status write_rows(struct parts *parts, uint32_t height, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t y = 0; status == STATUS_OK && y < height; y += 3) {
        uint32_t count = height - y < 3 ? height - y : 3;
        status = parts_write(parts, rows + (size_t)y * WIDTH, WIDTH, count, error);
    }
    return status;
}

static struct parts *open_parts(struct sink *sink, int jobs)
{
    struct error error;
    struct parts_options options = {.row_size = WIDTH,
                                    .height = HEIGHT,
                                    .part_rows = STRIP,
                                    .has_row_above = true,
                                    .part_size = sizeof(struct packed),
                                    .part_memory = 1,
                                    .threads = jobs,
                                    .encode = pack,
                                    .emit = take,
                                    .close = close_packed,
                                    .context = sink};
    struct parts *parts = parts_open(&options, &error);
    assert_non_null(parts);
    return parts;
}

static void parts_arrive_in_order(void **state)
{
    (void)state;
    static const int jobs[] = {1, 2, 16};
    for (int i = 0; i < 3; i++) {
        struct sink sink = {.parts_until_failure = UINT32_MAX};
        struct error error;
        struct parts *parts = open_parts(&sink, jobs[i]);
        assert_int_equal(write_rows(parts, HEIGHT, &error), STATUS_OK);
        assert_int_equal(parts_finish(parts, &error), STATUS_OK);
        assert_int_equal(sink.parts, COUNT);
        parts_close(parts);
    }
}

static void a_failure_ends_it_at_any_part(void **state)
{
    (void)state;
    for (uint32_t failing = 0; failing < COUNT; failing++) {
        struct sink sink = {.parts_until_failure = failing};
        struct error error = {.text = ""};
        struct parts *parts = open_parts(&sink, 3);
        enum status status = write_rows(parts, HEIGHT, &error);
        if (status == STATUS_OK)
            status = parts_finish(parts, &error);
        assert_int_equal(status, STATUS_FAILED);
        assert_string_equal(error.text, "the disk is full");
        assert_int_equal(sink.parts, failing);
        parts_close(parts);
    }
}

static void what_cannot_be_encoded_is_told(void **state)
{
    (void)state;
    struct sink sink = {.parts_until_failure = UINT32_MAX, .broken = true};
    struct error error = {.text = ""};
    struct parts *parts = open_parts(&sink, 2);
    enum status status = write_rows(parts, HEIGHT, &error);
    if (status == STATUS_OK)
        status = parts_finish(parts, &error);
    assert_int_equal(status, STATUS_FAILED);
    assert_string_equal(error.text, "cannot be packed");
    assert_int_equal(sink.parts, 0);
    parts_close(parts);
}

static void closing_is_possible_at_any_row(void **state)
{
    (void)state;
    for (uint32_t there = 0; there <= HEIGHT; there++) {
        struct sink sink = {.parts_until_failure = UINT32_MAX};
        struct error error;
        struct parts *parts = open_parts(&sink, 4);
        assert_int_equal(write_rows(parts, there, &error), STATUS_OK);
        parts_close(parts);
    }
    parts_close(NULL);
}

static void too_few_and_too_many_rows_are_told(void **state)
{
    (void)state;
    struct sink sink = {.parts_until_failure = UINT32_MAX};
    struct error error = {.text = ""};
    struct parts *parts = open_parts(&sink, 2);
    assert_int_equal(write_rows(parts, HEIGHT - 1, &error), STATUS_OK);
    assert_int_equal(parts_finish(parts, &error), STATUS_FAILED);
    assert_string_equal(error.text, "the last 1 rows are missing");
    assert_int_equal(parts_write(parts, rows, WIDTH, 2, &error), STATUS_FAILED);
    assert_string_equal(error.text, "more rows than the header says");
    parts_close(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_arrive_in_order),
        cmocka_unit_test(a_failure_ends_it_at_any_part),
        cmocka_unit_test(what_cannot_be_encoded_is_told),
        cmocka_unit_test(closing_is_possible_at_any_row),
        cmocka_unit_test(too_few_and_too_many_rows_are_told),
    };
    return cmocka_run_group_tests(tests, make_rows, NULL);
}
