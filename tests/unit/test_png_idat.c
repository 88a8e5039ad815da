/* PNG's row filters and the compressed stream that is joined from segments, against the formulas of the
 * specification and zlib's inflate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/png/png.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_OF_TEST = 1 << 20 };

static unsigned random_state = 1;

static unsigned char random_byte(void)
{
    random_state = random_state * 1664525 + 1013904223;
    return (unsigned char)(random_state >> 24);
}

/* The table of section 9.2, one byte at a time. */
static unsigned char filtered_byte(int filter, const unsigned char *row, const unsigned char *above, size_t i,
                                   size_t step)
{
    int a = i >= step ? row[i - step] : 0, b = above[i], c = i >= step ? above[i - step] : 0;
    int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    int paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
    int guesses[] = {0, a, b, (a + b) / 2, paeth};
    return (unsigned char)(row[i] - guesses[filter]);
}

static void filters_are_those_of_the_specification(void **state)
{
    (void)state;
    static const size_t pixels[] = {1, 2, 5, 16, 33, 200};
    static const enum png_filter filters[] = {ROW_FILTER_NONE, ROW_FILTER_PAETH};
    unsigned char row[1600], above[1600], to[1601];
    for (size_t step = 1; step <= 8; step++)
        for (size_t k = 0; k < sizeof pixels / sizeof pixels[0]; k++) {
            size_t size = pixels[k] * step;
            for (size_t i = 0; i < size; i++) {
                row[i] = random_byte();
                above[i] = (unsigned char)(k % 2 ? random_byte() : row[i] + random_byte() % 5);
            }
            const struct png_row both = {row, above, size, step};
            for (size_t f = 0; f < sizeof filters / sizeof filters[0]; f++) {
                png_filter_row(filters[f], &both, to);
                assert_int_equal(to[0], filters[f]);
                for (size_t i = 0; i < size; i++)
                    assert_int_equal(to[1 + i], filtered_byte(filters[f], row, above, i, step));
            }
        }
}

/* The emitted bytes. */
struct stream {
    unsigned char *data;
    size_t size;
    int chunks, chunks_until_failure;
};

static enum status collect(void *context, const unsigned char *data, size_t size, struct error *error)
{
    struct stream *stream = context;
    if (stream->chunks++ == stream->chunks_until_failure)
        return fail(error, STATUS_FAILED, "the disk is full");
    assert_true(stream->size + size <= 2 * SIZE_MAX_OF_TEST);
    memcpy(stream->data + stream->size, data, size);
    stream->size += size;
    return STATUS_OK;
}

static struct stream new_stream(void)
{
    struct stream stream = {.data = malloc(2 * SIZE_MAX_OF_TEST), .chunks_until_failure = -1};
    assert_non_null(stream.data);
    return stream;
}

/* In steps of three rows. */
static enum status write_rows(struct strips *strips, const unsigned char *rows, size_t row_size,
                              uint32_t height, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t y = 0; status == STATUS_OK && y < height; y += 3) {
        uint32_t count = height - y < 3 ? height - y : 3;
        status = strips_write(strips, rows + y * row_size, row_size, count, error);
    }
    return status;
}

/* Whose chunks `stream` collects; usual for RGB of 8 bit. */
static struct strips *open_segments(struct png_encoder *options, uint32_t height, size_t segment_size,
                                    int jobs, struct stream *stream)
{
    struct error error = {.text = ""};
    *options = (struct png_encoder){.level = 1,
                                    .strategy = Z_RLE,
                                    .filter = ROW_FILTER_PAETH,
                                    .row_size = 300,
                                    .pixel_size = 3,
                                    .height = height,
                                    .segment_size = segment_size,
                                    .jobs = jobs,
                                    .emit = collect,
                                    .context = stream};
    *stream = new_stream();
    return png_encoder_open(options, &error);
}

static struct stream compress_rows(struct png_encoder options, const unsigned char *rows, int jobs)
{
    struct stream stream = new_stream();
    struct error error = {.text = ""};
    options.jobs = jobs;
    options.emit = collect;
    options.context = &stream;
    struct strips *strips = png_encoder_open(&options, &error);
    assert_non_null(strips);
    assert_int_equal(write_rows(strips, rows, options.row_size, options.height, &error), STATUS_OK);
    assert_int_equal(strips_finish(strips, &error), STATUS_OK);
    assert_string_equal(error.text, "");
    strips_close(strips);
    return stream;
}

static void assert_holds(const struct png_encoder *options, const unsigned char *rows,
                         const struct stream *stream)
{
    size_t size = options->row_size, found_size = (size + 1) * options->height;
    unsigned char *found = malloc(found_size + 1), *zeros = calloc(size, 1);
    uLongf length = (uLongf)found_size + 1;
    assert_int_equal(uncompress(found, &length, stream->data, (uLong)stream->size), Z_OK);
    assert_int_equal(length, found_size);
    for (uint32_t y = 0; y < options->height; y++) {
        const unsigned char *line = found + y * (size + 1), *row = rows + y * size;
        assert_int_equal(line[0], options->filter);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(line[1 + i],
                             filtered_byte(line[0], row, y > 0 ? row - size : zeros, i, options->pixel_size));
    }
    free(found);
    free(zeros);
}

static const struct encoding {
    int level, strategy;
    enum png_filter filter;
} encodings[] = {{0, Z_FILTERED, ROW_FILTER_NONE},
                 {1, Z_RLE, ROW_FILTER_PAETH},
                 {2, Z_FILTERED, ROW_FILTER_PAETH},
                 {6, Z_FILTERED, ROW_FILTER_PAETH},
                 {9, Z_DEFAULT_STRATEGY, ROW_FILTER_NONE}};

static struct png_encoder encoded(const struct encoding *encoding, struct png_encoder options)
{
    options.level = encoding->level;
    options.strategy = encoding->strategy;
    options.filter = encoding->filter;
    return options;
}

struct shape {
    size_t row_size, pixel_size;
    uint32_t height;
    size_t segment_size;
};

static const struct shape shapes[] = {
    {1, 1, 1, 0},       {3, 3, 1, 1},       {8, 8, 700, 64},        {1, 1, 900, 100},
    {333, 3, 50, 5000}, {999, 3, 21, 6000}, {70001, 1, 5, 1 << 16}, {4000, 4, 60, 1 << 15},
    {600, 6, 100, 601}, {600, 2, 7, 0},
};

static void fill(unsigned char *rows, const struct shape *shape, bool smooth)
{
    for (size_t i = 0; i < shape->row_size * shape->height; i++)
        rows[i] = (unsigned char)(smooth ? i % shape->row_size / 3 + i / shape->row_size + random_byte() % 3
                                         : random_byte());
}

static void check_shape(const struct shape *shape, const struct encoding *encoding, bool smooth)
{
    static const int more_jobs[] = {2, 16};
    unsigned char *rows = malloc(shape->row_size * shape->height);
    const struct png_encoder options =
        encoded(encoding, (struct png_encoder){.row_size = shape->row_size,
                                               .pixel_size = shape->pixel_size,
                                               .height = shape->height,
                                               .segment_size = shape->segment_size});
    assert_non_null(rows);
    fill(rows, shape, smooth);
    struct stream one = compress_rows(options, rows, 1);
    assert_holds(&options, rows, &one);
    for (size_t i = 0; i < sizeof more_jobs / sizeof more_jobs[0]; i++) {
        struct stream more = compress_rows(options, rows, more_jobs[i]);
        assert_int_equal(more.size, one.size);
        assert_int_equal(more.chunks, one.chunks);
        assert_memory_equal(more.data, one.data, one.size);
        free(more.data);
    }
    free(one.data);
    free(rows);
}

static void streams_join_and_do_not_depend_on_jobs(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++) {
            check_shape(&shapes[s], &encodings[e], false);
            check_shape(&shapes[s], &encodings[e], true);
        }
}

static void header_is_what_zlib_writes(void **state)
{
    (void)state;
    for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++) {
        const struct encoding *encoding = &encodings[e];
        const struct png_encoder options =
            encoded(encoding, (struct png_encoder){.row_size = 3, .pixel_size = 1, .height = 1});
        struct stream stream = compress_rows(options, (const unsigned char *)"abc", 1);
        unsigned char expected[64];
        z_stream deflater = {
            .next_in = (Bytef *)"x", .avail_in = 1, .next_out = expected, .avail_out = sizeof expected};
        assert_int_equal(deflateInit2(&deflater, encoding->level, Z_DEFLATED, 15, 8, encoding->strategy),
                         Z_OK);
        assert_int_equal(deflate(&deflater, Z_FINISH), Z_STREAM_END);
        deflateEnd(&deflater);
        assert_memory_equal(stream.data, expected, 2);
        free(stream.data);
    }
}

/* A segment of runs is searched for repetitions, one of noise is not. */
static void strategy_fits_each_segment(void **state)
{
    (void)state;
    enum { ROW = 4000, HEIGHT = 128 };
    unsigned char *rows = malloc(HEIGHT * ROW);
    assert_non_null(rows);
    for (size_t i = 0; i < HEIGHT * ROW; i++) /* letters of 8 pixels on paper, then noise */
        rows[i] = i >= HEIGHT / 2 * ROW ? random_byte()
                  : i % ROW % 80 < 8    ? (unsigned char)(0x31 << i % 5)
                                        : 255;
    const struct png_encoder options = {.level = 1,
                                        .strategy = Z_RLE,
                                        .filter = ROW_FILTER_PAETH,
                                        .row_size = ROW,
                                        .pixel_size = 1,
                                        .height = HEIGHT,
                                        .segment_size = HEIGHT / 2 * (ROW + 1)};
    struct stream stream = compress_rows(options, rows, 2);
    assert_holds(&options, rows, &stream);
    assert_int_equal(stream.chunks, 2);
    assert_true(stream.size < HEIGHT / 2 * ROW + 8000);
    free(stream.data);
    free(rows);
}

static void wide_samples_are_swapped(void **state)
{
    (void)state;
    enum { ROW = 38, HEIGHT = 50 };
    unsigned char rows[HEIGHT * ROW], swapped[HEIGHT * ROW];
    for (size_t i = 0; i < sizeof rows; i++) {
        rows[i] = random_byte();
        swapped[i ^ 1] = rows[i];
    }
    struct png_encoder options = {.level = 1,
                                  .strategy = Z_RLE,
                                  .filter = ROW_FILTER_PAETH,
                                  .row_size = ROW,
                                  .pixel_size = 2,
                                  .height = HEIGHT,
                                  .segment_size = 200,
                                  .swap = true};
    struct stream stream = compress_rows(options, rows, 4);
    assert_holds(&options, swapped, &stream);
    free(stream.data);
}

static void a_failure_ends_it_at_any_chunk(void **state)
{
    (void)state;
    enum { ROW = 300, HEIGHT = 90 };
    unsigned char rows[HEIGHT * ROW];
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = random_byte();
    for (int failing = 0; failing < 10; failing++) {
        struct stream stream;
        struct png_encoder options;
        struct error error = {.text = ""};
        struct strips *strips = open_segments(&options, HEIGHT, 3000, 3, &stream);
        stream.chunks_until_failure = failing;
        enum status status = write_rows(strips, rows, ROW, HEIGHT, &error);
        if (status == STATUS_OK)
            status = strips_finish(strips, &error);
        assert_int_equal(status, STATUS_FAILED);
        assert_string_equal(error.text, "the disk is full");
        assert_int_equal(stream.chunks, failing + 1);
        strips_close(strips);
        free(stream.data);
    }
}

static void closing_is_possible_at_any_row(void **state)
{
    (void)state;
    enum { ROW = 300, HEIGHT = 60 };
    unsigned char rows[HEIGHT * ROW] = {0};
    for (uint32_t there = 0; there <= HEIGHT; there++) {
        struct stream stream;
        struct png_encoder options;
        struct error error = {.text = ""};
        struct strips *strips = open_segments(&options, HEIGHT, 2000, 4, &stream);
        assert_int_equal(write_rows(strips, rows, ROW, there, &error), STATUS_OK);
        strips_close(strips);
        free(stream.data);
    }
    strips_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_are_those_of_the_specification),
        cmocka_unit_test(streams_join_and_do_not_depend_on_jobs),
        cmocka_unit_test(header_is_what_zlib_writes),
        cmocka_unit_test(strategy_fits_each_segment),
        cmocka_unit_test(wide_samples_are_swapped),
        cmocka_unit_test(a_failure_ends_it_at_any_chunk),
        cmocka_unit_test(closing_is_possible_at_any_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
