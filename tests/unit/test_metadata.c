/* Metadata as a container, and the text conversions between PNG's Latin-1 and UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/text.h"
#include "image/image.h"
#include "image/metadata/metadata.h"

#include <stdlib.h>
#include <string.h>

static void set_text(struct metadata *metadata, const char *key, const char *value)
{
    struct error error;
    assert_int_equal(metadata_set_text(metadata, key, value, strlen(value), &error), STATUS_OK);
}

static void text_is_appended_and_replaced(void **state)
{
    (void)state;
    struct metadata metadata = {0};
    assert_null(metadata_text(&metadata, "Title"));
    set_text(&metadata, "Title", "one");
    set_text(&metadata, "Author", "two");
    set_text(&metadata, "Title", "three");
    assert_int_equal(metadata.text_count, 2);
    assert_string_equal(metadata_text(&metadata, "Title"), "three");
    assert_string_equal(metadata_text(&metadata, "Author"), "two");
    assert_null(metadata_text(&metadata, "title"));
    metadata_free(&metadata);
    assert_int_equal(metadata.text_count, 0);
    assert_null(metadata_text(&metadata, "Author"));
}

static void text_need_not_end_in_nul(void **state)
{
    (void)state;
    struct metadata metadata = {0};
    struct error error;
    const char value[3] = {'a', 'b', 'c'};
    assert_int_equal(metadata_set_text(&metadata, "Comment", value, 2, &error), STATUS_OK);
    assert_string_equal(metadata_text(&metadata, "Comment"), "ab");
    assert_int_equal(metadata_set_text(&metadata, "Comment", NULL, 0, &error), STATUS_OK);
    assert_string_equal(metadata_text(&metadata, "Comment"), "");
    metadata_free(&metadata);
}

static void blob_is_replaced(void **state)
{
    (void)state;
    struct blob blob = {NULL, 0};
    struct error error;
    assert_int_equal(metadata_set_blob(&blob, "abcd", 4, &error), STATUS_OK);
    assert_int_equal(metadata_set_blob(&blob, "xy", 2, &error), STATUS_OK);
    assert_int_equal(blob.size, 2);
    assert_memory_equal(blob.data, "xy", 2);
    /* An empty blob counts as absent: no format can store it. */
    assert_int_equal(metadata_set_blob(&blob, NULL, 0, &error), STATUS_OK);
    assert_int_equal(blob.size, 0);
    assert_null(blob.data);
}

static void copy_is_deep(void **state)
{
    (void)state;
    struct error error;
    struct metadata from = {.resolution_unit = RESOLUTION_PER_METRE, .x_resolution = 11811, .gamma = 0.45455};
    struct metadata to;
    assert_int_equal(metadata_set_blob(&from.icc, "profile", 7, &error), STATUS_OK);
    assert_int_equal(metadata_set_blob(&from.exif, "II*", 3, &error), STATUS_OK);
    set_text(&from, "Title", "one");
    set_text(&from, "Author", "two");

    memset(&to, 0xa5, sizeof to);
    assert_int_equal(metadata_copy(&to, &from, &error), STATUS_OK);
    from.icc.data[0] = 'X';
    from.exif.data[0] = 'X';
    from.texts[0].value[0] = 'X';
    metadata_free(&from);

    assert_int_equal(to.resolution_unit, RESOLUTION_PER_METRE);
    assert_true(to.x_resolution == 11811);
    assert_true(to.gamma == 0.45455);
    assert_int_equal(to.icc.size, 7);
    assert_memory_equal(to.icc.data, "profile", 7);
    assert_memory_equal(to.exif.data, "II*", 3);
    assert_int_equal(to.text_count, 2);
    assert_string_equal(metadata_text(&to, "Title"), "one");
    assert_string_equal(metadata_text(&to, "Author"), "two");
    metadata_free(&to);
}

static void latin1_becomes_utf8(void **state)
{
    (void)state;
    struct error error;
    char *text = utf8_from_latin1("a\x7f\x80\xe4\xff", 5, &error);
    assert_string_equal(text, "a\x7f\xc2\x80\xc3\xa4\xc3\xbf");
    free(text);
}

static void utf8_becomes_latin1_where_it_can(void **state)
{
    (void)state;
    struct error error;
    char *text;
    assert_int_equal(latin1_from_utf8("a\xc3\xa4\xc3\xbf", &text, &error), STATUS_OK);
    assert_string_equal(text, "a\xe4\xff");
    free(text);
    assert_int_equal(latin1_from_utf8("a\xc4\x80", &text, &error), STATUS_OK); /* U+0100 */
    assert_null(text);
    assert_int_equal(latin1_from_utf8("a\xe4z", &text, &error), STATUS_OK); /* not UTF-8 */
    assert_string_equal(text, "a\xe4z");
    free(text);
}

static void utf8_is_told_from_other_bytes(void **state)
{
    (void)state;
    static const char *const valid[] = {
        "", "a", "\xc2\x80", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const invalid[] = {
        "\x80",             /* continues nothing */
        "\xe4z",            /* is not continued */
        "\xe2\x82",         /* breaks off */
        "\xc0\x80",         /* longer than it need be */
        "\xe0\x9f\xbf",     /* longer than it need be */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* above U+10FFFF */
        "\xf8\x88\x80\x80\x80",
    };
    for (size_t i = 0; i < sizeof valid / sizeof valid[0]; i++)
        assert_true(utf8_is_valid(valid[i], strlen(valid[i])));
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++)
        assert_false(utf8_is_valid(invalid[i], strlen(invalid[i])));
}

static void sizes_count_every_byte(void **state)
{
    (void)state;
    struct image_info info = {.width = 3000000000u, .height = 1, .channels = 4, .type = SAMPLE_UINT16};
    assert_int_equal(sample_size(SAMPLE_HALF), 2);
    assert_int_equal(sample_size(SAMPLE_COMPLEX), 8);
    assert_int_equal(pixel_size(&info), 8);
    assert_true(row_size(&info) == 24000000000u);
}

static void message_is_prefixed_and_cut_off(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(fail(&error, STATUS_USAGE, "%d pixels", 3), STATUS_USAGE);
    error_prefix(&error, "a.png");
    assert_string_equal(error.text, "a.png: 3 pixels");

    char name[2 * sizeof error.text];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    error_prefix(&error, name);
    assert_string_equal(error.text + strlen(error.text) - 20, "nnn: a.png: 3 pixels");
    error_prefix(&error, name);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_memory_equal(error.text, "...nnn", 6);
    error_prefix(&error, "b.png");
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_memory_equal(error.text, "b.png: ...nnn", 13);
}

static void allocation_of_nothing_and_of_too_much(void **state)
{
    (void)state;
    struct error error;
    void *nothing = allocate(0, "nothing", &error);
    assert_non_null(nothing);
    free(nothing);
    nothing = allocate_zeroed(0, 8, "nothing", &error);
    assert_non_null(nothing);
    free(nothing);
    assert_null(allocate_zeroed(SIZE_MAX / 2, 3, "the image", &error));
    assert_string_equal(error.text, "out of memory for the image");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_appended_and_replaced),
        cmocka_unit_test(text_need_not_end_in_nul),
        cmocka_unit_test(blob_is_replaced),
        cmocka_unit_test(copy_is_deep),
        cmocka_unit_test(latin1_becomes_utf8),
        cmocka_unit_test(utf8_becomes_latin1_where_it_can),
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test(sizes_count_every_byte),
        cmocka_unit_test(message_is_prefixed_and_cut_off),
        cmocka_unit_test(allocation_of_nothing_and_of_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
