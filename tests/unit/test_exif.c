/* EXIF data: what is read from it, what a change leaves alone, and that no damage to it does harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/ifd.h"
#include "image/metadata/metadata.h"

#include <stdlib.h>
#include <string.h>

enum { MAKE = 271, THUMBNAIL_AT = 0x1234 };

/* A Make of six bytes after the IFD, an EXIF IFD with one exposure time, a link to a thumbnail's IFD. */
static const unsigned char little[] = {
    'I',  'I',  42,  0,   8,   0, 0, 0,              /* header */
    2,    0,                                         /* 8: two entries */
    0x0f, 0x01, 2,   0,   6,   0, 0, 0, 38, 0, 0, 0, /* Make, at 38 */
    0x69, 0x87, 4,   0,   1,   0, 0, 0, 44, 0, 0, 0, /* EXIF, at 44 */
    0x34, 0x12, 0,   0,                              /* 34: the next IFD */
    'C',  'a',  'n', 'o', 'n', 0,                    /* 38 */
    1,    0,                                         /* 44: one entry */
    0x9a, 0x82, 5,   0,   1,   0, 0, 0, 62, 0, 0, 0, /* ExposureTime, at 62 */
    0,    0,    0,   0,                              /* 58: no next IFD */
    1,    0,    0,   0,   125, 0, 0, 0,              /* 62: 1/125 */
};

static const unsigned char big[] = {
    'M',  'M',  0, 42, 0, 0, 0, 8,                 /* header */
    0,    2,                                       /* two entries */
    0x01, 0x0f, 0, 2,  0, 0, 0, 3, 'M', 'e', 0, 0, /* Make, in place */
    0x01, 0x12, 0, 3,  0, 0, 0, 1, 0,   6,   0, 0, /* Orientation */
    0,    0,    0, 0,                              /* no next IFD */
};

static struct blob copy_of(const void *data, size_t size)
{
    struct blob blob = {NULL, 0};
    struct error error;
    assert_int_equal(metadata_set_blob(&blob, data, size, &error), STATUS_OK);
    return blob;
}

static void set_orientation(struct blob *exif, int orientation)
{
    struct error error;
    assert_int_equal(exif_set_orientation(exif, orientation, &error), STATUS_OK);
    assert_int_equal(exif_orientation(exif), orientation);
}

static void absent_data_says_nothing_and_can_be_made(void **state)
{
    (void)state;
    for (int orientation = 1; orientation <= 8; orientation++) {
        struct blob exif = {NULL, 0};
        assert_int_equal(exif_orientation(&exif), 0);
        set_orientation(&exif, orientation);
        free(exif.data);
    }
}

static void garbage_is_replaced(void **state)
{
    (void)state;
    struct blob exif = copy_of("Exif\0\0 is what JPEG has before it", 33);
    assert_int_equal(exif_orientation(&exif), 0);
    set_orientation(&exif, 3);
    free(exif.data);
}

static void present_orientation_changes_in_place(void **state)
{
    (void)state;
    struct blob exif = copy_of(big, sizeof big);
    assert_int_equal(exif_orientation(&exif), 6);
    set_orientation(&exif, 8);
    assert_int_equal(exif.size, sizeof big);
    exif.data[31] = 6; /* the only byte that may differ */
    assert_memory_equal(exif.data, big, sizeof big);
    free(exif.data);
}

static void missing_orientation_moves_no_value(void **state)
{
    (void)state;
    struct blob exif = copy_of(little, sizeof little);
    struct ifd ifd, sub;
    struct ifd_entry entry;
    set_orientation(&exif, 5);
    assert_memory_equal(exif.data + 8, little + 8, sizeof little - 8);
    assert_true(ifd_of_blob(&exif, &ifd));
    assert_int_equal(ifd_entry_count(&ifd), 3);
    assert_true(ifd_entry_at(&ifd, 1, &entry));
    assert_int_equal(entry.tag, IFD_ORIENTATION);
    assert_true(ifd_sub(&ifd, IFD_EXIF, &sub));
    assert_int_equal(sub.at, 44);
    assert_int_equal(exif.data[exif.size - 4] | exif.data[exif.size - 3] << 8, THUMBNAIL_AT);
    free(exif.data);
}

static void sizes_change_within_their_bounds(void **state)
{
    (void)state;
    static const unsigned char cut[] = {
        'M',  'M',  0, 42, 0, 0, 0, 8,               /* header */
        0,    1,                                     /* 8: one entry */
        0x87, 0x69, 0, 4,  0, 0, 0, 1, 0, 0,  0, 26, /* EXIF, at 26 */
        0,    0,    0, 0,                            /* 22: no next IFD */
        0,    1,                                     /* 26: one entry */
        0xa0, 0x02, 0, 3,  0, 0, 0, 1, 0, 60, 0, 0,  /* PixelXDimension of two bytes */
    };
    const struct change change = {.out_width = 30, .out_height = 20, .from = affine_scaling(2, 2)};
    for (size_t missing = 0; missing <= 2; missing += 2) {
        struct metadata metadata = {.exif = copy_of(cut, sizeof cut - missing)};
        exif_update(&metadata, &change);
        assert_int_equal(metadata.exif.size, sizeof cut - missing);
        assert_int_equal(metadata.exif.data[missing == 0 ? 39 : 37], missing == 0 ? 30 : 60);
        metadata_free(&metadata);
    }
}

static void texts_are_read_within_their_bounds(void **state)
{
    (void)state;
    struct blob exif = copy_of(little, sizeof little);
    struct error error;
    char *text;
    assert_int_equal(exif_text(&exif, MAKE, &text, &error), STATUS_OK);
    assert_string_equal(text, "Canon");
    free(text);
    exif.data[43] = '!'; /* where the NUL was */
    assert_int_equal(exif_text(&exif, MAKE, &text, &error), STATUS_OK);
    assert_string_equal(text, "Canon!");
    free(text);
    assert_int_equal(exif_text(&exif, IFD_EXIF, &text, &error), STATUS_OK);
    assert_null(text);
    free(exif.data);
}

/* Copies all of it to a sink of the given layout. */
static uint64_t copy_into(const struct blob *exif, struct ifd_sink *sink)
{
    struct ifd ifd;
    struct error error;
    uint64_t offset;
    assert_true(ifd_of_blob(exif, &ifd));
    assert_int_equal(ifd_copy(&ifd, NULL, sink, &offset, &error), STATUS_OK);
    return offset;
}

static bool read_sink(const void *context, uint64_t offset, void *to, size_t size)
{
    const struct ifd_sink *sink = context;
    memcpy(to, sink->bytes.data + (offset - sink->base), size);
    return true;
}

static void copies_keep_values_in_both_layouts(void **state)
{
    (void)state;
    struct blob exif = copy_of(little, sizeof little);
    for (int layout = 0; layout < 2; layout++) {
        struct ifd_sink sink = {.base = 1000, .big = layout == 1};
        const uint64_t at = copy_into(&exif, &sink);
        const struct ifd ifd = {
            .read = read_sink, .context = &sink, .size = 1000 + sink.bytes.size, .big = sink.big, .at = at};
        struct ifd sub;
        struct ifd_entry entry;
        uint32_t time[2];
        assert_true(ifd_find(&ifd, MAKE, &entry));
        assert_int_equal(entry.size, 6);
        assert_memory_equal(sink.bytes.data + (entry.offset - 1000), "Canon", 6);
        assert_true(ifd_sub(&ifd, IFD_EXIF, &sub));
        assert_true(ifd_find(&sub, 33434, &entry));
        memcpy(time, sink.bytes.data + (entry.offset - 1000), sizeof time);
        assert_int_equal(time[0], 1);
        assert_int_equal(time[1], 125);
        free(sink.bytes.data);
    }
    free(exif.data);
}

static void an_ifd_that_points_to_itself_ends(void **state)
{
    (void)state;
    struct blob exif = copy_of(little, sizeof little);
    struct ifd_sink sink = {.base = 0};
    exif.data[30] = 8; /* EXIF is the first IFD */
    copy_into(&exif, &sink);
    assert_true(sink.bytes.size < 1000);
    free(sink.bytes.data);
    free(exif.data);
}

/* Whatever the bytes are: nothing is read outside of them (sanitizers watch), and a change succeeds. */
static void try_everything(struct blob exif)
{
    struct ifd ifd;
    struct error error;
    uint64_t offset;
    char *text;
    int orientation = exif_orientation(&exif);
    assert_in_range(orientation, 0, 8);
    assert_int_equal(exif_text(&exif, MAKE, &text, &error), STATUS_OK);
    free(text);
    if (ifd_of_blob(&exif, &ifd)) {
        struct ifd_sink sink = {.base = 0};
        assert_int_equal(ifd_copy(&ifd, NULL, &sink, &offset, &error), STATUS_OK);
        free(sink.bytes.data);
    }
    set_orientation(&exif, 7);
    free(exif.data);
}

/* Found by fuzzing: the first IFD overlaps the header, and has no entries. */
static void a_thumbnail_is_dropped_for_good(void **state)
{
    (void)state;
    static const unsigned char header[] = {'M', 'M', 0, 42, 0, 0, 0, 3, 8, 0, 1, 14, 0, 2, 0, 0, 0, 10, 0, 0};
    struct blob exif = copy_of(header, sizeof header);
    exif_drop_thumbnail(&exif);
    assert_false(exif_has_thumbnail(&exif));
    free(exif.data);
}

static void cut_off_data_is_harmless(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof little; size++)
        try_everything(copy_of(little, size));
    for (size_t size = 0; size < sizeof big; size++)
        try_everything(copy_of(big, size));
}

static void changed_bytes_are_harmless(void **state)
{
    (void)state;
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t at = 0; at < sizeof little; at++)
        for (size_t i = 0; i < sizeof values; i++) {
            struct blob exif = copy_of(little, sizeof little);
            exif.data[at] = values[i];
            try_everything(exif);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_data_says_nothing_and_can_be_made),
        cmocka_unit_test(garbage_is_replaced),
        cmocka_unit_test(present_orientation_changes_in_place),
        cmocka_unit_test(missing_orientation_moves_no_value),
        cmocka_unit_test(sizes_change_within_their_bounds),
        cmocka_unit_test(texts_are_read_within_their_bounds),
        cmocka_unit_test(copies_keep_values_in_both_layouts),
        cmocka_unit_test(an_ifd_that_points_to_itself_ends),
        cmocka_unit_test(a_thumbnail_is_dropped_for_good),
        cmocka_unit_test(cut_off_data_is_harmless),
        cmocka_unit_test(changed_bytes_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
