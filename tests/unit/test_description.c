/* Descriptions that tell of sizes, pages and samples: what is left of them when those change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/json_read.h"
#include "image/metadata/follow.h"

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
                                   .worked = true,
                                   .unit = 1};

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

/* Turned clockwise: the pixel (x, y) of the output is (y, 47 - x) of the input's. */
static struct change turned(void)
{
    struct change change = none;
    change.out_width = 48;
    change.out_height = 64;
    change.from = (struct affine){.xy = 1, .yx = -1, .y = 48};
    return change;
}

static struct change cut(void)
{
    struct change change = none;
    change.out_width = 30;
    change.from.x = 10;
    return change;
}

/* NULL: nothing is left, and `left_out` says what went. */
static void becomes(const char *text, struct change change, const char *expected, const char *left_out)
{
    struct metadata metadata = {.orientation = 0};
    struct error error = {.text = ""};
    assert_int_equal(metadata_set_text(&metadata, "Description", text, strlen(text), &error), STATUS_OK);
    assert_int_equal(description_follow(&metadata, &change, &error), STATUS_OK);
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
    struct error error;
    assert_int_equal(description_follow(&metadata, &none, &error), STATUS_OK);
    assert_int_equal(metadata.text_count, 0);
}

static void imagej(void **state)
{
    static const char stack[] =
        "ImageJ=1.53\nimages=3\nslices=3\nhyperstack=true\nunit=um\nmin=0\nmax=255\nloop=false\n";
    static const char plain[] = "ImageJ=1.53\nunit=um\nminimum=1\nxorigin=5\nyorigin=6\nmin=0\nmax=255";
    (void)state;
    becomes(plain, none, plain, "");
    becomes(plain, in_floats(), "ImageJ=1.53\nunit=um\nminimum=1\nxorigin=5\nyorigin=6\n", "");
    becomes(plain, halved(), "ImageJ=1.53\nunit=um\nminimum=1\nmin=0\nmax=255", "ImageJ's origin");
    /* The pages stay a stack, which is found by their directories. */
    becomes(stack, of_pages(3, 3),
            "ImageJ=1.53\nslices=3\nhyperstack=true\nunit=um\nmin=0\nmax=255\nloop=false\n", "");
    /* One of them is none, nor are images that lie elsewhere, nor pages whose channels became others. */
    becomes(stack, of_pages(3, 1), "ImageJ=1.53\nunit=um\nmin=0\nmax=255\nloop=false\n", "");
    becomes(stack, none, "ImageJ=1.53\nunit=um\nmin=0\nmax=255\nloop=false\n", "");
    struct change change = of_pages(3, 3);
    change.out_channels = 1;
    becomes(stack, change, "ImageJ=1.53\nunit=um\nmin=0\nmax=255\nloop=false\n", "");
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

/* Without jansson nobody can look for what to change. */
static void shape_unread(const char *gone)
{
    static const char text[] = "{\"shape\": [48, 64]}";
    struct change change = none;
    becomes(text, none, NULL, gone); /* which may have been separate samples */
    change.in_channels = change.out_channels = 1;
    becomes(text, change, text, "");
    change.out_width = 32;
    becomes(text, change, NULL, gone);
}

static void tifffile(void **state)
{
    static const char gone[] = "tifffile's shape";
    struct error error;
    (void)state;
    if (json_check("this", &error) != STATUS_OK) {
        shape_unread(gone);
        return;
    }
    becomes("{\"shape\": [48, 64, 3]}", none, "{\"shape\": [48, 64, 3]}", "");
    becomes("{\"shape\": [48, 64, 3]}", halved(), "{\"shape\": [24, 32, 3]}", "");
    becomes("{\"shape\": [48, 64, 3], \"axes\": \"YXS\"}", halved(),
            "{\"shape\": [24, 32, 3], \"axes\": \"YXS\"}", "");
    becomes("{\"shape\": [1, 1, 48, 64, 3]}", halved(), "{\"shape\": [1, 1, 24, 32, 3]}", "");
    /* Separate samples come out side by side: the axes are others. */
    becomes("{\"shape\": [3, 48, 64], \"axes\": \"SYX\"}", none, "{\"shape\": [48, 64, 3]}", "");
    becomes("{\"shape\": [48, 64, 3], \"axes\": \"YXS\"}", to_gray(),
            "{\"shape\": [48, 64, 1], \"axes\": \"YXS\"}", "");
    struct change gray = of_pages(6, 6);
    gray.in_channels = gray.out_channels = 1;
    becomes("{\"shape\": [2, 3, 48, 64]}", gray, "{\"shape\": [2, 3, 48, 64]}", "");
    gray.out_width = 32;
    becomes("{\"shape\": [2, 3, 48, 64]}", gray, "{\"shape\": [2, 3, 48, 32]}", "");
    /* What does not fit the pages is removed, and with it a description that says nothing else. */
    gray.out_pages = 1;
    becomes("{\"shape\": [2, 3, 48, 64]}", gray, NULL, gone);
    becomes("{\"shape\": [2, 3, 48, 64], \"axes\": \"TZYX\", \"lens\": 5}", gray, "{\"lens\": 5}", "");
    static const char *const wrong[] = {"{\"shape\": [64, 48, 3]}",
                                        "{\"shape\": [3]}",
                                        "{\"shape\": []}",
                                        "{\"shape\": [0, 48, 64, 3]}",
                                        "{\"shape\": [-1, 48, 64, 3]}",
                                        "{\"shape\": [48, 64]}",
                                        "{\"shape\": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 48, 64, 3]}",
                                        "{\"shape\": [100000, 100000, 48, 64, 3]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        becomes(wrong[i], none, NULL, gone);
    becomes("{\"shape\": 5}", halved(), "{\"shape\": 5}", "");
    becomes("{\"shape\": [48", halved(), "{\"shape\": [48", ""); /* no JSON */
}

#define OME(rest) "<?xml?><OME xmlns=\"x\"><Image><Pixels " rest "/></Image></OME>"

static void ome(void **state)
{
    static const char gone[] = "the OME description",
                      text[] = OME("SizeX=\"64\" SizeY=\"48\" SizeC='3' Type=\"uint8\"");
    (void)state;
    becomes(text, none, text, "");
    becomes(text, halved(), OME("SizeX=\"32\" SizeY=\"24\" SizeC='3' Type=\"uint8\""), "");
    becomes(text, in_floats(), OME("SizeX=\"64\" SizeY=\"48\" SizeC='3' Type=\"float\""), "");
    becomes(text, turned(), OME("SizeY=\"64\" SizeX=\"48\" SizeC='3' Type=\"uint8\""), "");
    becomes(text, to_gray(), NULL, gone);
    becomes(text, of_pages(3, 1), NULL, gone);
    /* An image of half the size is half as large afterwards, and its pixels are twice as large. */
    becomes("<o:OME><o:Pixels SizeX=\"63\" PhysicalSizeX=\"0.5\" PhysicalSizeXUnit=\"um\"/></o:OME>",
            halved(), "<o:OME><o:Pixels SizeX=\"32\" PhysicalSizeX=\"1\" PhysicalSizeXUnit=\"um\"/></o:OME>",
            "");
    becomes(OME("PhysicalSizeX=\"0.5\" PhysicalSizeXUnit=\"um\""), turned(),
            OME("PhysicalSizeY=\"0.5\" PhysicalSizeYUnit=\"um\""), "");
    /* Of several images of one size a part can be cut out, of others not. */
    becomes(text, cut(), OME("SizeX=\"30\" SizeY=\"48\" SizeC='3' Type=\"uint8\""), "");
    becomes(OME("SizeX=\"64\"/><Pixels SizeX=\"65\""), cut(), NULL, gone);
    becomes(OME("SizeY=\"47\""), cut(), NULL, gone);
    /* Aslant pixels have no sides, but for squares. */
    struct change aslant = none;
    aslant.from = (struct affine){.xx = 0.8, .xy = -0.6, .yx = 0.6, .yy = 0.8};
    becomes(OME("PhysicalSizeX=\"2\" PhysicalSizeY=\"3\""), aslant, NULL, gone);
    becomes(OME("PhysicalSizeX=\"2\""), aslant, NULL, gone);
    becomes(OME("PhysicalSizeX=\"2\" PhysicalSizeY=\"2\""), aslant,
            OME("PhysicalSizeX=\"2\" PhysicalSizeY=\"2\""), "");
    becomes(OME("SizeX=\"64\" SizeY=\"48\""), aslant, OME("SizeX=\"64\" SizeY=\"48\""), "");
    /* Regions are in pixels, too. */
    becomes(OME("SizeX=\"64\"/><ROI/><a "), halved(), NULL, gone);
    becomes(OME("SizeX=\"64\"/><ROI/><a "), none, OME("SizeX=\"64\"/><ROI/><a "), "");
    struct change redrawn = none;
    redrawn.redrawn = true;
    becomes(OME("SizeX=\"64\"/><ROI/><a "), redrawn, NULL, gone);
    /* What is no attribute ends a tag; what only looks like one is left alone. */
    becomes("<OME><Pixels SizeX=64/><b Pixels SizeX=\"64\"/></OME>", halved(),
            "<OME><Pixels SizeX=64/><b Pixels SizeX=\"64\"/></OME>", "");
    becomes("<OME><Pixels SizeX=\"64/></OME>", halved(), "<OME><Pixels SizeX=\"64/></OME>", "");
    becomes("<OME><Pixels XSizeX=\"64\"\n SizeX=\"64\">", halved(),
            "<OME><Pixels XSizeX=\"64\"\n SizeX=\"32\">", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_for_people_stay),
        cmocka_unit_test(imagej),
        cmocka_unit_test(imagej_counts),
        cmocka_unit_test(tifffile),
        cmocka_unit_test(ome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
