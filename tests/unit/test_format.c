/* The table of formats: what names, first bytes and samples lead to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/format.h"

#include <ctype.h>
#include <string.h>

static void assert_format(const struct format *format, const char *name)
{
    assert_string_equal(format != NULL ? format->name : "none", name);
}

static void words_are_extensions(void **state)
{
    (void)state;
    static const struct {
        const char *word, *name;
    } words[] = {{"png", "PNG"},   {"PNG", "PNG"},    {".png", "PNG"},  {"tif", "TIFF"}, {"tiff", "TIFF"},
                 {".TIF", "TIFF"}, {"pam", "PAM"},    {"jpg", "JPEG"},  {"", "none"},    {".", "none"},
                 {"webp", "WebP"}, {"..png", "none"}, {"tif ", "none"}, {"ti", "none"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_format(format_by_extension(words[i].word), words[i].name);
}

static void paths_end_in_them(void **state)
{
    (void)state;
    static const struct {
        const char *path, *name;
    } paths[] = {{"a.png", "PNG"},    {"b/a.b.TiFF", "TIFF"}, {".png", "none"},     {"b/.png", "none"},
                 {"b.png/a", "none"}, {"a.png/", "none"},     {"png", "none"},      {"a.", "none"},
                 {"b/..png", "PNG"},  {"a.png.txt", "none"},  {"a.txt.pgm", "PGM"}, {"", "none"}};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_format(format_by_path(paths[i].path), paths[i].name);
}

static void first_bytes_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *name;
    } heads[] = {{"\x89PNG\r\n\x1a\n", 8, "PNG"},
                 {"\x89PN", 3, "none"},
                 {"II*\0", 4, "TIFF"},
                 {"MM\0+", 4, "TIFF"},
                 {"II*", 3, "none"},
                 {"P5 ", 3, "PGM"},
                 {"P4\n", 3, "PGM"},
                 {"P6#", 3, "PPM"},
                 {"P7\n", 3, "PAM"},
                 {"P7 ", 3, "none"},
                 {"PF\r", 3, "PFM"},
                 {"P\0 ", 3, "none"},
                 {"P8 ", 3, "none"},
                 {"P5", 2, "none"},
                 {"RIFFsizeWEBP", 12, "WebP"},
                 {"RIFFsizeWEBP", 8, "none"},
                 {"RIFFsizeAVI ", 12, "none"},
                 {"", 0, "none"}};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        assert_format(format_by_signature((const unsigned char *)heads[i].bytes, heads[i].size),
                      heads[i].name);
}

static void samples_lose_as_little_as_can_be(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        enum sample_type wanted, given;
    } cases[] = {{"png", SAMPLE_UINT8, SAMPLE_UINT8},   {"png", SAMPLE_UINT32, SAMPLE_UINT16},
                 {"png", SAMPLE_HALF, SAMPLE_UINT16},   {"png", SAMPLE_FLOAT, SAMPLE_UINT16},
                 {"tif", SAMPLE_UINT32, SAMPLE_UINT32}, {"tif", SAMPLE_HALF, SAMPLE_HALF},
                 {"pfm", SAMPLE_HALF, SAMPLE_FLOAT},    {"pam", SAMPLE_FLOAT, SAMPLE_UINT16}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(format_sample_type(format_by_extension(cases[i].word), cases[i].wanted),
                         cases[i].given);
}

/* Checks that each format is complete: names of letters and digits that begin with a capital, extensions as
 * format_by_extension finds them, and both ways.
 */
static void every_format_is_whole(void **state)
{
    (void)state;
    for (const struct format *const *format = formats; *format != NULL; format++) {
        assert_non_null((*format)->reader);
        assert_non_null((*format)->writer);
        assert_true(((*format)->holds.types != 0 || (*format)->holds.bits) && (*format)->holds.channels != 0);
        assert_non_null(strstr(format_names(NULL, "and").text, (*format)->name));
        assert_true(isupper((unsigned char)(*format)->name[0]));
        for (const char *c = (*format)->name; *c != '\0'; c++)
            assert_true(isalnum((unsigned char)*c));
        assert_non_null((*format)->extensions[0]);
        for (const char *const *word = (*format)->extensions; *word != NULL; word++) {
            assert_ptr_equal(format_by_extension(*word), *format);
            assert_non_null(strstr(format_extensions(), *word));
        }
    }
}

static void names_are_listed(void **state)
{
    (void)state;
    const struct capacity complex = {.types = 1u << SAMPLE_COMPLEX}, floats = {.types = 1u << SAMPLE_FLOAT};
    const struct capacity impossible = {.channels = 1u << 5};
    assert_string_equal(format_names(&complex, "or").text, "TIFF");
    assert_string_equal(format_names(&floats, "or").text, "PFM or TIFF");
    assert_string_equal(format_names(NULL, "and").text,
                        "JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP and Y4M");
    assert_string_equal(format_names(&impossible, "or").text, "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_extensions),       cmocka_unit_test(paths_end_in_them),
        cmocka_unit_test(first_bytes_are_recognised), cmocka_unit_test(samples_lose_as_little_as_can_be),
        cmocka_unit_test(every_format_is_whole),      cmocka_unit_test(names_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
