/* Our own deflate against zlib's inflate, and its size against zlib's Z_RLE; the codes against Kraft's sum.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "image/deflate_runs.h"
#include "image/huffman.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LARGE = 1 << 18 };

static unsigned random_state = 1;

static unsigned random_below(unsigned limit)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % limit;
}

enum kind { NOISE, CONSTANT, RUNS, BITS, LONG_RUNS, GEOMETRIC, KINDS };

static unsigned char make_byte(enum kind kind, unsigned char before)
{
    switch (kind) {
    case NOISE:
        return (unsigned char)random_below(256);
    case RUNS:
        return random_below(4) ? before : (unsigned char)random_below(256);
    case BITS:
        return (unsigned char)random_below(2);
    case LONG_RUNS:
        return random_below(300) ? before : (unsigned char)random_below(256);
    case GEOMETRIC:
        return (unsigned char)(3 * __builtin_ctz(random_below(1 << 20) | 1 << 20));
    default:
        return 7;
    }
}

static void make_bytes(enum kind kind, unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = make_byte(kind, i > 0 ? bytes[i - 1] : 0);
}

static void assert_inflates(const unsigned char *data, size_t data_size, bool last,
                            const unsigned char *bytes, size_t size)
{
    unsigned char *found = malloc(size + 1);
    z_stream inflater = {.next_in = (Bytef *)(uintptr_t)data,
                         .avail_in = (uInt)data_size,
                         .next_out = found,
                         .avail_out = (uInt)size + 1};
    assert_int_equal(inflateInit2(&inflater, -15), Z_OK);
    assert_int_equal(inflate(&inflater, Z_SYNC_FLUSH), last ? Z_STREAM_END : Z_OK);
    assert_int_equal(inflater.total_in, data_size);
    assert_int_equal(inflater.total_out, size);
    assert_memory_equal(found, bytes, size);
    inflateEnd(&inflater);
    free(found);
}

static size_t size_of_zlib(const unsigned char *bytes, size_t size)
{
    z_stream deflater = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size};
    assert_int_equal(deflateInit2(&deflater, 1, Z_DEFLATED, -15, 8, Z_RLE), Z_OK);
    uLong bound = deflateBound(&deflater, (uLong)size);
    unsigned char *data = malloc(bound);
    deflater.next_out = data;
    deflater.avail_out = (uInt)bound;
    assert_int_equal(deflate(&deflater, Z_FINISH), Z_STREAM_END);
    size_t result = deflater.total_out;
    deflateEnd(&deflater);
    free(data);
    return result;
}

static void check(struct deflate_runs *work, enum kind kind, size_t size)
{
    unsigned char *bytes = malloc(size), *data = malloc(deflate_runs_bound(size));
    make_bytes(kind, bytes, size);
    for (int last = 0; last < 2; last++) {
        size_t data_size = deflate_runs(work, bytes, size, last, data);
        assert_true(data_size <= deflate_runs_bound(size));
        assert_inflates(data, data_size, last, bytes, size);
        if (size == LARGE)
            assert_true(data_size <= size_of_zlib(bytes, size) * 1.01 + 8);
    }
    free(bytes);
    free(data);
}

static void what_is_deflated_inflates(void **state)
{
    (void)state;
    struct deflate_runs *work = malloc(sizeof *work);
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t size = 1; size <= 40; size++)
            check(work, (enum kind)kind, size);
        for (int i = 0; i < 20; i++)
            check(work, (enum kind)kind, 1 + random_below(70000));
        check(work, (enum kind)kind, 3 * 258 + 1);
        check(work, (enum kind)kind, LARGE);
    }
    free(work);
}

/* Each length of a run has its symbol, alone and at each place of the eight bytes that are looked at
 * together. */
static void every_run_length_arrives(void **state)
{
    (void)state;
    struct deflate_runs *work = malloc(sizeof *work);
    unsigned char bytes[700], data[4096];
    for (size_t length = 1; length < 600; length++) {
        size_t before = 1 + length % 17, size = before + length + 20;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)(i * 37);
        memset(bytes + before, bytes[before - 1], length);
        size_t data_size = deflate_runs(work, bytes, size, true, data);
        assert_inflates(data, data_size, true, bytes, size);
    }
    free(work);
}

static void codes_are_complete_and_not_too_long(void **state)
{
    (void)state;
    for (int i = 0; i < 500; i++) {
        uint32_t counts[HUFFMAN_SYMBOLS_MAX] = {0}, a = 1, b = 1;
        struct huffman_code codes[HUFFMAN_SYMBOLS_MAX];
        unsigned symbols = 2 + random_below(HUFFMAN_SYMBOLS_MAX - 2), longest = i % 2 ? 15 : 9;
        for (unsigned k = 0; k < symbols; k++) {
            /* Fibonacci's numbers make the deepest tree. */
            counts[k] = i % 5 == 0 && k < 30 ? a : random_below(2) * random_below(1000);
            uint32_t sum = a + b;
            a = b;
            b = k < 30 ? sum : b;
        }
        counts[0] = counts[symbols - 1] = 1;
        huffman_make(counts, symbols, longest, codes);
        double kraft = 0;
        for (unsigned k = 0; k < symbols; k++) {
            assert_int_equal(codes[k].length > 0, counts[k] > 0);
            assert_true(codes[k].length <= longest);
            if (codes[k].length > 0)
                kraft += 1.0 / (1 << codes[k].length);
            for (unsigned m = 0; m < symbols; m++) /* what occurs more often is not longer */
                assert_true(counts[m] == 0 || counts[k] <= counts[m] || codes[k].length <= codes[m].length);
        }
        assert_true(kraft == 1.0);
    }
}

static void single_symbols_get_one_bit(void **state)
{
    (void)state;
    uint32_t counts[5] = {0, 0, 9, 0, 0};
    struct huffman_code codes[5];
    huffman_make(counts, 5, 15, codes);
    for (int i = 0; i < 5; i++)
        assert_int_equal(codes[i].length, i == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_deflated_inflates),
        cmocka_unit_test(every_run_length_arrives),
        cmocka_unit_test(codes_are_complete_and_not_too_long),
        cmocka_unit_test(single_symbols_get_one_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
