/* netpbm's formats: every largest value, kinds in a row, what is cut short and what is absurd. */
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
#include <unistd.h>

static const struct reader_options all_pages = {.max_pixels = 1 << 20, .jobs = 1};
static const char path[] = "image";

static int go_to_scratch(void **state)
{
    static char folder[] = "/tmp/climg-test-netpbm-XXXXXX";
    *state = folder;
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int leave_scratch(void **state)
{
    remove(path);
    return rmdir(*state);
}

static void save(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static struct reader *open_at(int page)
{
    struct reader_options options = all_pages;
    struct reader *reader;
    struct error error = {.text = ""};
    options.page = page;
    reader_open(path, &options, &reader, &error);
    assert_string_equal(error.text, "");
    return reader;
}

/* v / maxval of full scale, to the nearest count. */
static uint32_t scaled(uint32_t value, uint32_t maxval, uint32_t full)
{
    return (uint32_t)((2 * (uint64_t)value * full + maxval) / (2 * (uint64_t)maxval));
}

enum { SHOWN = 4, ROUNDS = 65535 };

static void choose_values(uint32_t maxval, uint32_t values[SHOWN])
{
    values[0] = 0;
    values[1] = 1;
    values[2] = maxval * 2 / 3;
    values[3] = maxval;
}

/* One file with an image for each. */
static void save_all_maxvals(void)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (uint32_t maxval = 1; maxval <= ROUNDS; maxval++) {
        uint32_t values[SHOWN];
        choose_values(maxval, values);
        fprintf(file, "P5\n%d 1 # a comment\n%u\n", SHOWN, (unsigned)maxval);
        for (int i = 0; i < SHOWN; i++) {
            if (maxval > 255)
                fputc((int)(values[i] >> 8), file);
            fputc((int)(values[i] & 255), file);
        }
    }
    assert_int_equal(fclose(file), 0);
}

static void every_largest_value_becomes_full_scale(void **state)
{
    (void)state;
    struct error error;
    bool more = true;
    save_all_maxvals();
    struct reader *reader = open_at(0);
    for (uint32_t maxval = 1; maxval <= ROUNDS; maxval++) {
        const bool wide = maxval > 255;
        uint16_t row[SHOWN];
        uint32_t values[SHOWN];
        choose_values(maxval, values);
        assert_int_equal(reader_info(reader)->type, wide ? SAMPLE_UINT16 : SAMPLE_UINT8);
        assert_int_equal(reader_read(reader, row, sizeof row, 1, &error), STATUS_OK);
        for (int i = 0; i < SHOWN; i++)
            assert_int_equal(wide ? row[i] : ((const unsigned char *)row)[i],
                             scaled(values[i], maxval, wide ? 65535 : 255));
        assert_int_equal(reader_next_page(reader, &more, &error), STATUS_OK);
        assert_int_equal(more, maxval < ROUNDS);
    }
    reader_close(reader);
}

static void kinds_may_follow_one_another(void **state)
{
    (void)state;
    static const char bytes[] =
        "P1\n# bits\n3 1\n101\n"
        "P2 2 1 3  3\n0 "
        "P4 9 1\n\x7f\x80"
        "P3 1 1 15 15 0 5\n"
        "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\n# why not\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n"
        "\x12\x34"
        "P6 1 1 255\nabc";
    static const struct {
        int channels;
        const char *row;
        size_t size;
    } images[] = {{1, "\0\xff\0", 3},   {1, "\xff\0", 2},   {1, "\xff\0\0\0\0\0\0\0\0", 9},
                  {3, "\xff\0\x55", 3}, {2, "\x12\x34", 2}, {3, "abc", 3}};
    enum { COUNT = sizeof images / sizeof images[0] };
    struct error error;
    bool more = true;
    save(bytes, sizeof bytes - 1);
    struct reader *reader = open_at(0);
    for (int i = 0; i < COUNT; i++) {
        char row[16];
        assert_int_equal(reader_page_count(reader), 0);
        assert_int_equal(reader_info(reader)->channels, images[i].channels);
        assert_int_equal(reader_info(reader)->alpha, images[i].channels == 2);
        assert_int_equal(reader_read(reader, row, sizeof row, 1, &error), STATUS_OK);
        assert_memory_equal(row, images[i].row, images[i].size);
        assert_int_equal(reader_next_page(reader, &more, &error), STATUS_OK);
        assert_int_equal(more, i + 1 < COUNT);
    }
    reader_close(reader);
    for (int i = 0; i < COUNT; i++) {
        char row[16];
        reader = open_at(i + 1);
        assert_int_equal(reader_read(reader, row, sizeof row, 1, &error), STATUS_OK);
        assert_memory_equal(row, images[i].row, images[i].size);
        assert_int_equal(reader_next_page(reader, &more, &error), STATUS_OK);
        assert_false(more);
        reader_close(reader);
    }
}

/* All of the file is read, and it must fail with this. */
static void assert_refused(const char *bytes, size_t size, const char *message)
{
    struct reader *reader;
    struct error error = {.text = ""};
    char rows[4096];
    bool more = true;
    save(bytes, size);
    enum status status = reader_open(path, &all_pages, &reader, &error);
    for (; status == STATUS_OK && more; status = reader_next_page(reader, &more, &error)) {
        const struct image_info *info = reader_info(reader);
        assert_true(row_size(info) * info->height <= sizeof rows);
        status = reader_read(reader, rows, row_size(info), info->height, &error);
        if (status != STATUS_OK)
            break;
    }
    reader_close(reader);
    assert_int_equal(status, STATUS_FAILED);
    assert_string_equal(error.text, message);
}

static void what_is_cut_short_is_damaged(void **state)
{
    (void)state;
    static const char pam[] =
        "P7\nWIDTH 2\nHEIGHT 2\nDEPTH 1\nMAXVAL 300\nTUPLTYPE GRAYSCALE\nENDHDR\n\0\1\0\2\0\3\0\4";
    static const char ppm[] = "P3\n1 2\n255\n1 2 3\n4 5 6\n";
    struct error error;
    char message[64];
    for (size_t size = 3; size < sizeof pam - 1; size++) {
        struct reader *reader;
        save(pam, size);
        enum status status = reader_open(path, &all_pages, &reader, &error);
        if (status == STATUS_OK)
            status = reader_read(reader, message, 4, 2, &error);
        reader_close(reader);
        assert_int_equal(status, STATUS_FAILED);
        assert_int_equal(strncmp(error.text, "image: damaged PAM: ", 20), 0);
    }
    for (size_t size = 3; size < sizeof ppm - 3; size++)
        assert_refused(ppm, size, "image: damaged PPM: the file ends too early");
    assert_refused("P5 2 2 255\nabcdP5 2 2 255\nabc", 29, "image: damaged PGM: the file ends too early");
}

static void what_is_absurd_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *message;
    } files[] = {
        {"P5 0 1 255\n", "image: an image of 0x1 pixels is empty"},
        {"P5 -1 1 255\n", "image: damaged PGM: invalid number in the header"},
        {"P5 99999999999 1 255\n", "image: damaged PGM: invalid number in the header"},
        {"P5 99999999999999999999999999999999999999999999 1 255\n",
         "image: damaged PGM: its header is broken"},
        {"P5 4294967295 4294967295 255\n",
         "image: 4294967295x4294967295 pixels are more than the limit of 1048576; raise --max-pixels"},
        {"P5 1 1 0\n", "image: damaged PGM: its largest value is not 1 to 65535"},
        {"P5 1 1 65536\n", "image: damaged PGM: its largest value is not 1 to 65535"},
        {"P5 1 1 9\n\x0a", "image: damaged PGM: a sample is larger than its largest value"},
        {"P2 1 1 9 10", "image: damaged PGM: a sample is larger than its largest value"},
        {"P1 1 1 2", "image: damaged PGM: a bit that is neither 0 nor 1"},
        {"P2 1 1 9 x ", "image: damaged PGM: invalid number in the header"},
        {"P5 1 1 9\n\1junk", "image: damaged PGM: unexpected data after the image"},
        {"P5 1 1 9\n\1P9 1 1", "image: damaged PGM: unexpected data after the image"},
        {"Pf 1 1 0\nabcd", "image: damaged PFM: its scale is no number"},
        {"Pf 1 1 nan\nabcd", "image: damaged PFM: its scale is no number"},
        {"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 1\nENDHDR\n",
         "image: PAM of 5 samples a pixel and type \"\" is not supported"},
        {"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 1\nTUPLTYPE CMYK\nENDHDR\n",
         "image: PAM of 4 samples a pixel and type \"CMYK\" is not supported"},
        {"P7\nWIDTH 1\nHEIGHT 1\nMAXVAL 1\nENDHDR\n",
         "image: PAM of 0 samples a pixel and type \"\" is not supported"},
        {"P7\nWIDTH\nHEIGHT 1\nDEPTH 1\nMAXVAL 1\nENDHDR\n",
         "image: damaged PAM: invalid number in the header"},
        {"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 1\n", "image: damaged PAM: its header is broken"},
        {"P7 332\n#XVVERSION", "image: is not JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP or Y4M"},
        {"P5ive things", "image: is not JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP or Y4M"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        assert_refused(files[i].bytes, strlen(files[i].bytes), files[i].message);
}

static void a_page_that_is_not_there_is_told(void **state)
{
    (void)state;
    struct reader_options options = all_pages;
    struct reader *reader;
    struct error error;
    options.page = 3;
    save("P5 1 1 255\naP5 1 1 255\nb", 24);
    assert_int_equal(reader_open(path, &options, &reader, &error), STATUS_FAILED);
    assert_string_equal(error.text, "image: there is no page 3; the file has 2");
}

static void one_image_that_fills_its_file_is_one_page(void **state)
{
    (void)state;
    save("P5 1 1 255\na", 12);
    struct reader *reader = open_at(0);
    assert_int_equal(reader_page_count(reader), 1);
    assert_true(reader_is_uncompressed(reader));
    reader_close(reader);
}

static void what_a_kind_cannot_hold_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        struct image_info info;
        const char *message;
    } cases[] = {
        {"pgm",
         {.channels = 3},
         "image: PGM does not hold RGB of 8 bit samples; write JPEG, PAM, PNM, PPM, PNG, TIFF or WebP"},
        {"ppm",
         {.channels = 1},
         "image: PPM does not hold gray of 8 bit samples; write JPEG, PAM, PGM, PNM, PNG, TIFF, WebP or Y4M"},
        {"pnm",
         {.channels = 1, .type = SAMPLE_FLOAT},
         "image: PNM does not hold gray of float samples; write PFM or TIFF"},
        {"pam",
         {.channels = 1, .type = SAMPLE_FLOAT},
         "image: PAM does not hold gray of float samples; write PFM or TIFF"},
        {"pfm",
         {.channels = 3, .type = SAMPLE_UINT16},
         "image: PFM does not hold RGB of 16 bit samples; write PAM, PNM, PPM, PNG or TIFF"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct writer_options options = {.format = format_by_extension(cases[i].word)};
        struct image_info info = cases[i].info;
        struct writer *writer;
        struct error error;
        info.width = info.height = 1;
        assert_int_equal(writer_open(path, &options, &writer, &error), STATUS_OK);
        assert_int_equal(writer_begin_page(writer, &info, &error), STATUS_FAILED);
        assert_string_equal(error.text, cases[i].message);
        writer_close(writer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_largest_value_becomes_full_scale),
        cmocka_unit_test(kinds_may_follow_one_another),
        cmocka_unit_test(what_is_cut_short_is_damaged),
        cmocka_unit_test(what_is_absurd_is_refused),
        cmocka_unit_test(a_page_that_is_not_there_is_told),
        cmocka_unit_test(one_image_that_fills_its_file_is_one_page),
        cmocka_unit_test(what_a_kind_cannot_hold_is_refused),
    };
    return cmocka_run_group_tests(tests, go_to_scratch, leave_scratch);
}
