/* Metadata of PNG files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "png_fixture.h"

static void what_stands_behind_the_pixels_is_noted(void **state)
{
    (void)state;
    struct bytes png;
    begin_small_png(&png);
    add_chunk(&png, "tEXt", "Author\0\xc5ngstr\xf6m", 15);
    add_pixels(&png, (const unsigned char[]){0, 1, 2, 0, 3, 4}, 6);
    add_chunk(&png, "tEXt", "Title\0second", 12);
    add_chunk(&png, "tIME", "", 0);
    add_chunk(&png, "IEND", "", 0);
    save(&png);

    struct reader *reader = open_reader(path);
    const struct metadata *metadata = &reader_info(reader)->metadata;
    unsigned char rows[4];
    struct error error;
    assert_int_equal(reader_read(reader, rows, 2, 2, &error), STATUS_OK);
    assert_int_equal(rows[3], 4);
    assert_string_equal(metadata_text(metadata, "Author"), "\xc3\x85ngstr\xc3\xb6m");
    assert_null(metadata_text(metadata, "Title"));
    assert_string_equal(reader_trailing_warnings(reader)->left_out, "tEXt, tIME");
    assert_string_equal(reader_trailing_warnings(reader)->warning, "");
    reader_close(reader);
}

enum { ICC_SIZE = 272 };

/* A profile of one tag, with bytes that do not compress: libpng refuses chunks that are shorter than any real
 * one. */
static void make_icc(unsigned char icc[ICC_SIZE], const char *space)
{
    memset(icc, 0, ICC_SIZE);
    memcpy(icc, "\0\0\1\x10", 4);
    icc[8] = 2;
    memcpy(icc + 12, "mntr", 4);
    memcpy(icc + 16, space, 4);
    memcpy(icc + 20, "XYZ ", 4);
    memcpy(icc + 36, "acsp", 4);
    memcpy(icc + 68, "\0\0\xf6\xd6\0\1\0\0\0\0\xd3\x2d", 12);  /* D50 */
    memcpy(icc + 128, "\0\0\0\1priv\0\0\0\x90\0\0\0\x80", 16); /* 128 bytes at 144 */
    for (int i = 144; i < ICC_SIZE; i++)
        icc[i] = (unsigned char)(i * i * 31 + i * 7 + i / 3);
}

static void metadata_is_kept(void **state)
{
    (void)state;
    unsigned char icc[ICC_SIZE];
    struct error error;
    make_icc(icc, "GRAY");
    struct image_info info = {.width = 2, .height = 2, .channels = 1, .type = SAMPLE_UINT8};
    struct metadata *given = &info.metadata;
    *given = (struct metadata){.resolution_unit = RESOLUTION_PER_METRE,
                               .x_resolution = 11811,
                               .y_resolution = 2835.4,
                               .orientation = 6,
                               .gamma = 0.45455,
                               .has_chromaticities = true,
                               .chromaticities = {0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06}};
    assert_int_equal(metadata_set_blob(&given->icc, icc, sizeof icc, &error), STATUS_OK);
    assert_int_equal(metadata_set_text(given, "Title", "Gr\xc3\xbc\xc3\x9f", 6, &error), STATUS_OK);
    assert_int_equal(metadata_set_text(given, "Author", "\xc5\x81ukasz", 7, &error), STATUS_OK);
    assert_int_equal(metadata_set_text(given, " ", "a key that PNG cannot have", 26, &error), STATUS_OK);
    write_image(&info, (const unsigned char *)"abcd", 6);

    struct reader *reader = open_reader(path);
    const struct metadata *found = &reader_info(reader)->metadata;
    assert_int_equal(found->icc.size, sizeof icc);
    assert_memory_equal(found->icc.data, icc, sizeof icc);
    assert_int_equal(found->resolution_unit, RESOLUTION_PER_METRE);
    assert_true(found->x_resolution == 11811 && found->y_resolution == 2835);
    assert_int_equal(found->orientation, 6);
    assert_true(found->gamma == 0.45455);
    assert_true(found->has_chromaticities);
    assert_memory_equal(found->chromaticities, given->chromaticities, sizeof given->chromaticities);
    assert_false(found->srgb);
    assert_string_equal(metadata_text(found, "Title"), "Gr\xc3\xbc\xc3\x9f");
    assert_string_equal(metadata_text(found, "Author"), "\xc5\x81ukasz");
    assert_int_equal(found->text_count, 2);
    reader_close(reader);
    metadata_free(given);
}

static void foreign_profile_is_left_out(void **state)
{
    (void)state;
    unsigned char icc[ICC_SIZE];
    struct error error;
    make_icc(icc, "RGB ");
    struct image_info info = {.width = 2, .height = 2, .channels = 1, .type = SAMPLE_UINT8};
    info.metadata = (struct metadata){.srgb = true, .rendering_intent = 2};
    assert_int_equal(metadata_set_blob(&info.metadata.icc, icc, sizeof icc, &error), STATUS_OK);
    write_image(&info, (const unsigned char *)"abcd", 6);

    struct reader *reader = open_reader(path);
    const struct metadata *found = &reader_info(reader)->metadata;
    assert_null(found->icc.data);
    assert_true(found->srgb);
    assert_int_equal(found->rendering_intent, 2);
    assert_true(found->gamma == 0); /* not said, so not inferred either */
    reader_close(reader);
    metadata_free(&info.metadata);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_behind_the_pixels_is_noted),
        cmocka_unit_test(metadata_is_kept),
        cmocka_unit_test(foreign_profile_is_left_out),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
