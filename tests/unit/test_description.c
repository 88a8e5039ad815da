/* Descriptions that tell of sizes, pages and samples: what is left of them when those change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/text.h"
#include "image/metadata/metadata.h"

#include <string.h>

/* A picture of 64x48, three 8-bit channels and one page, with which nothing happens. */
static const struct change none = {.in_width = 64,
                                   .in_height = 48,
                                   .out_width = 64,
                                   .out_height = 48,
                                   .from = {.xx = 1, .yy = 1},
                                   .in_pages = 1,
                                   .out_pages = 1,
                                   .in_channels = 3,
                                   .out_channels = 3,
                                   .in_type = SAMPLE_UINT8,
                                   .out_type = SAMPLE_UINT8,
                                   .processed = true};

static struct change halved(void)
{
    struct change change = none;
    change.out_width = 32;
    change.out_height = 24;
    change.from.xx = change.from.yy = 2;
    return change;
}

static struct change in_floats(void)
{
    struct change change = none;
    change.out_type = SAMPLE_FLOAT;
    change.rescaled = true;
    return change;
}

static struct change of_pages(int in, int out)
{
    struct change change = none;
    change.in_pages = in;
    change.out_pages = out;
    return change;
}

static struct change to_gray(void)
{
    struct change change = none;
    change.out_channels = 1;
    return change;
}

static struct change cut(void)
{
    struct change change = none;
    change.out_width = 30;
    change.from.x = 10;
    return change;
}

/* `expected` may be NULL, if no description remains. `left_out` lists the dropped items. */
static void becomes(const char *text, struct change change, const char *expected, const char *left_out)
{
    struct metadata metadata = {.orientation = 0};
    struct error error = {.text = ""};
    assert_int_equal(metadata_set_text(&metadata, "Description", text, strlen(text), &error), STATUS_OK);
    description_update(&metadata, &change);
    const char *now = metadata_text(&metadata, "Description");
    if (expected) {
        assert_non_null(now);
        assert_string_equal(now, expected);
    } else {
        assert_null(now);
    }
    assert_string_equal(metadata.left_out, left_out);
    metadata_free(&metadata);
}

static void words_for_people_stay(void **state)
{
    static const char *const texts[] = {"a cat, 64 x 48", "",          "ImageJ",
                                        "{\"what\": 1}",  "<OME>",     "<a>OME Pixels SizeX=64",
                                        "<HOME Pixels/>", "OME Pixels"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        becomes(texts[i], none, texts[i], "");
        becomes(texts[i], halved(), texts[i], "");
    }
    struct metadata metadata = {.orientation = 0};
    description_update(&metadata, &none);
    assert_int_equal(metadata.text_count, 0);
}

static void imagej(void **state)
{
    static const char stack[] =
        "ImageJ=1.53\nimages=3\nslices=3\nhyperstack=true\nunit=um\nmin=0\nmax=255\nloop=false\n";
    static const char plain[] = "ImageJ=1.53\nunit=um\nminimum=1\nxorigin=5\nyorigin=6\nmin=0\nmax=255";
    static const char rest[] = "ImageJ=1.53\nunit=um\nmin=0\nmax=255\nloop=false\n";
    static const char dimensions[] = "ImageJ's dimensions";
    (void)state;
    becomes(plain, none, plain, "");
    becomes(plain, in_floats(), "ImageJ=1.53\nunit=um\nminimum=1\nxorigin=5\nyorigin=6\n", "ImageJ's range");
    becomes(plain, halved(), "ImageJ=1.53\nunit=um\nminimum=1\nmin=0\nmax=255", "ImageJ's origin");
    /* The pages stay a stack, which is found by their directories. */
    becomes(stack, of_pages(3, 3),
            "ImageJ=1.53\nslices=3\nhyperstack=true\nunit=um\nmin=0\nmax=255\nloop=false\n", "");
    /* A single image is not one, nor are images at other places, nor pages whose channels changed. */
    becomes(stack, of_pages(3, 1), rest, dimensions);
    becomes(stack, none, rest, dimensions);
    struct change change = of_pages(3, 3);
    change.out_channels = 1;
    becomes(stack, change, rest, dimensions);
}

static void imagej_counts(void **state)
{
    static const struct {
        const char *text;
        int count;
        bool stack;
    } cases[] = {{"ImageJ=1.53\nimages=7\nslices=7\n", 7, true},
                 {"ImageJ=1.53\nimages=-7\n", 0, false},
                 {"ImageJ=1.53\nimages=99999999999\n", 0, false},
                 {"ImageJ=1.53\nchannels=2\n", 0, true},
                 {"ImageJ=1.53\nframes=2\n", 0, true},
                 {"images=7\nslices=7\n", 0, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct metadata metadata = {.orientation = 0};
        struct error error;
        assert_int_equal(
            metadata_set_text(&metadata, "Description", cases[i].text, strlen(cases[i].text), &error),
            STATUS_OK);
        assert_int_equal(description_image_count(&metadata), cases[i].count);
        assert_int_equal(description_is_stack(&metadata), cases[i].stack);
        metadata_free(&metadata);
    }
}

/* It lists sizes, pages and channels; a file of rows one by one would be read as if they followed each other.
 */
static void tifffile(void **state)
{
    static const char gone[] = "tifffile's description";
    static const char *const texts[] = {"{\"shape\": [48, 64, 3]}",
                                        "{\"shape\": [1, 1, 48, 64, 3], \"lens\": 5}",
                                        "{\"shape\":[ 6 ,48,64 ]}"};
    struct change replaced = none, rows = of_pages(6, 6);
    replaced.new_geometry = true;
    rows.in_height = rows.out_height = 1;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        becomes(texts[i], none, texts[i], "");
        becomes(texts[i], in_floats(), texts[i], "");
        becomes(texts[i], of_pages(6, 6), texts[i], "");
        const struct change changes[] = {halved(), to_gray(), of_pages(6, 1), cut(), replaced, rows};
        for (size_t k = 0; k < sizeof changes / sizeof *changes; k++)
            becomes(texts[i], changes[k], NULL, gone);
    }
}

static void ome(void **state)
{
    static const char gone[] = "the OME description";
    static const char *const texts[] = {"<?xml?><OME xmlns=\"x\"><Image><Pixels SizeX=\"64\"/></Image></OME>",
                                        "<?xml?><!-- of OME-XML --><OME xmlns=\"x\"><Pixels/></OME>",
                                        "<o:OME><o:Pixels SizeX=\"63\"/></o:OME>",
                                        "\xef\xbb\xbf\n<OME><Pixels>"};
    struct change redrawn = none;
    redrawn.new_geometry = true;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        becomes(texts[i], none, texts[i], "");
        becomes(texts[i], of_pages(3, 3), texts[i], "");
        const struct change changes[] = {halved(), in_floats(), to_gray(), of_pages(3, 1), cut(), redrawn};
        for (size_t k = 0; k < sizeof changes / sizeof *changes; k++)
            becomes(texts[i], changes[k], NULL, gone);
    }
}

/* A name in left_out is cut after 40 bytes, but not inside a character. */
static void long_names_are_cut_between_characters(void **state)
{
    (void)state;
    struct metadata metadata = {0};
    struct error error;
    char key[] = "x\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"
                 "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9",
         value[] = "1", item[] = " sample=\"0\" role=\"scale\"";
    const struct text_entry entry = {.key = key, .value = value, .item = item};
    const struct change change = in_floats();
    assert_int_equal(metadata_add_text(&metadata, &entry, &error), STATUS_OK);
    assert_int_equal(metadata_update(&metadata, &change, &error), STATUS_OK);
    assert_int_equal(metadata.text_count, 0);
    assert_non_null(strstr(metadata.left_out, "GDAL's item x"));
    assert_true(utf8_is_valid(metadata.left_out, strlen(metadata.left_out)));
    metadata_free(&metadata);
}

/* White space before > of an end tag, and a name in prose, which is no attribute. */
static void xmp_orientation(void **state)
{
    (void)state;
    static const char *const texts[] = {"<a><tiff:Orientation>6</tiff:Orientation\n></a>",
                                        "<a>see tiff:Orientation for more</a><b tiff:Orientation=\"6\"/>"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct metadata metadata = {0};
        struct error error;
        struct change change = none;
        change.reoriented = true;
        assert_int_equal(metadata_set_text(&metadata, XMP_KEY, texts[i], strlen(texts[i]), &error),
                         STATUS_OK);
        assert_int_equal(metadata_update(&metadata, &change, &error), STATUS_OK);
        assert_null(strchr(metadata_text(&metadata, XMP_KEY), '6'));
        assert_string_equal(metadata.left_out, "XMP's orientation");
        metadata_free(&metadata);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_for_people_stay),
        cmocka_unit_test(imagej),
        cmocka_unit_test(imagej_counts),
        cmocka_unit_test(tifffile),
        cmocka_unit_test(ome),
        cmocka_unit_test(long_names_are_cut_between_characters),
        cmocka_unit_test(xmp_orientation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
