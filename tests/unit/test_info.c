/* --info: the description of files, for people and in JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "cli/cli.h"
#include "png_fixture.h"

#include <tiffio.h>

static void ignore(const struct error *error)
{
    (void)error;
}

static void tells(const char *option, enum status expected, const char *text)
{
    const char *argv[] = {"climg", option, path};
    struct command command;
    struct error error = {.text = ""};
    char *told = NULL;
    size_t size;
    FILE *out = open_memstream(&told, &size);
    assert_int_equal(command_parse(3, argv, &command, &error), STATUS_OK);
    assert_int_equal(info_write(&command, out, ignore, &error), expected);
    fclose(out);
    assert_string_equal(expected == STATUS_OK ? told : error.text, text);
    free(told);
    command_free(&command);
}

static void add_text(struct bytes *png, const char *key, const char *value)
{
    char chunk[512];
    size_t length = strlen(key) + 1;
    strcpy(chunk, key);
    memcpy(chunk + length, value, strlen(value));
    add_chunk(png, "tEXt", chunk, length + strlen(value));
}

static void gray_with_all_kinds_of_chunks(void **state)
{
    static const unsigned char exif[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                         3,   0,   0, 0,  1, 0, 6, 0, 0, 0, 0, 0,    0};
    struct bytes png;
    (void)state;
    begin_small_png(&png);
    add_chunk(&png, "gAMA", (const unsigned char[]){0, 0, 0x4e, 0x20}, 4);          /* 0.2 */
    add_chunk(&png, "pHYs", (const unsigned char[]){0, 0, 0, 2, 0, 0, 0, 1, 0}, 9); /* of no unit */
    add_chunk(&png, "cICP", "\1\15\0\1", 4);
    add_chunk(&png, "eXIf", exif, sizeof exif);
    add_text(&png, "Title", "one\ntwo\x7f");
    finish_small_png(&png);
    save(&png);
    tells("--info", STATUS_OK,
          "a.png: PNG, 2 x 2, gray, 8 bit\n  compression: Deflate\n  colours: cICP 1/13; curve: sRGB\n  "
          "colour: gamma 0.2\n  resolution: 2 to "
          "1, without a unit\n"
          "  orientation: 6 (--auto-orient turns it)\n  EXIF: 26 bytes\n  also: cICP\n  Title: one two \n");
    tells(
        "--info=json", STATUS_OK,
        "{\"file\":\"a.png\",\"format\":\"PNG\",\"width\":2,\"height\":2,\"channels\":1,\"colours\":\"gray\","
        "\"samples\":\"8 "
        "bit\",\"bits\":null,\"palette\":false,\"colour_model\":null,\"pages\":1,\"compression\":\"Deflate\","
        "\"icc_bytes\":0,"
        "\"colour_space\":{\"name\":\"cICP 1/13\",\"primaries\":[],\"curve\":\"sRGB\"},"
        "\"srgb\":false,\"gamma\":0.2,\"resolution\":{\"x\":2.0,\"y\":1.0,\"unit\":\"ratio\"},"
        "\"orientation\":6,"
        "\"exif_bytes\":26,\"taken\":null,\"texts\":[{\"key\":\"Title\",\"value\":\"one\\ntwo\\u007f\"}],"
        "\"others\":["
        "\"cICP\"],"
        "\"pyramid\":null,\"warning\":null}\n");
}

/* A letter of two bytes is at the place where the value is cut. */
static void palette_and_a_long_text(void **state)
{
    char text[256] = "", expected[512];
    struct bytes png;
    (void)state;
    memset(text, 'a', 199);
    memcpy(text + 199, "\xe9tude", 5); /* Latin-1, as tEXt is */
    begin_png(&png, 2, 2, 4, 3, false);
    add_chunk(&png, "sRGB", "\1", 1);
    add_chunk(&png, "PLTE", "\1\2\3\4\5\6", 6);
    add_chunk(&png, "pHYs", (const unsigned char[]){0, 0, 0x0b, 0x13, 0, 0, 0x0b, 0x13, 1},
              9); /* 72 an inch */
    add_text(&png, "Author", text);
    add_pixels(&png, (const unsigned char[]){0, 0x01, 0, 0x10}, 4);
    add_chunk(&png, "IEND", "", 0);
    save(&png);
    text[199] = '\0';
    snprintf(expected, sizeof expected,
             "a.png: PNG, 2 x 2, RGB, 4 bit of a palette\n  compression: Deflate\n  colour: sRGB\n"
             "  resolution: 72 x 72 pixels per inch\n  Author: %s... (205 bytes)\n",
             text);
    tells("--info", STATUS_OK, expected);
}

static void damage_is_told(void **state)
{
    struct bytes png;
    (void)state;
    begin_small_png(&png);
    add_text(&png, "Title", "one");
    png.data[png.size - 1] ^= 1; /* its CRC */
    finish_small_png(&png);
    save(&png);
    tells("--info", STATUS_OK,
          "a.png: PNG, 2 x 2, gray, 8 bit\n  compression: Deflate\n  warning: the chunk tEXt is damaged and "
          "left out\n");
    png.size = 20;
    save(&png);
    tells("--info", STATUS_FAILED, "a.png: damaged PNG: the file ends too early");
}

static void tiff_with_a_profile_and_tags(void **state)
{
    static const double scale[] = {2, 3, 0};
    static const char profile[132] = "\0\0\0\204test\2\0\0\0mntrGRAYXYZ ";
    TIFF *tiff = TIFFOpen(path, "w");
    TIFFFieldInfo field = {33550, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"Scale"};
    (void)state;
    assert_non_null(tiff);
    TIFFMergeFieldInfo(tiff, &field, 1);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, (uint32_t)4);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, (uint32_t)1);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 32);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_ICCPROFILE, (uint32_t)sizeof profile, profile);
    TIFFSetField(tiff, 33550, (uint16_t)3, scale);
    assert_int_equal(TIFFWriteScanline(tiff, (float[]){1, 2, 3, 4}, 0, 0), 1);
    TIFFClose(tiff);
    tells("--info", STATUS_OK,
          "a.png: TIFF, 4 x 1, gray, float\n  compression: None\n  colour: ICC profile of 132 bytes\n  also: "
          "tag 33550\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gray_with_all_kinds_of_chunks),
        cmocka_unit_test(palette_and_a_long_text),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(tiff_with_a_profile_and_tags),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
