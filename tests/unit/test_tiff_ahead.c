/* Strips of TIFF: a file that changes between two looks at its tags, and one that does not list them, is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "image/format.h"
#include "image/tiff/tiff.h"
#include "image/writer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 1024, HEIGHT = 1536, ENTRY_SIZE = 12 };

static const char path[] = "a.tif";
static const struct reader_options options = {.max_pixels = 1 << 24, .jobs = 2};

static int go_to_scratch(void **state)
{
    static char folder[] = "/tmp/climg-test-ahead-XXXXXX";
    *state = folder;
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int leave_scratch(void **state)
{
    remove(path);
    return rmdir(*state);
}

static void write_strips(void)
{
    const struct writer_options compressed = {
        .format = format_by_extension("tif"), .compression = 1, .jobs = 1, .expected_bytes = WIDTH * HEIGHT};
    const struct image_info info = {.width = WIDTH, .height = HEIGHT, .channels = 1, .type = SAMPLE_UINT8};
    static unsigned char rows[WIDTH * HEIGHT];
    struct writer *writer;
    struct error error;
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (unsigned char)(i / WIDTH);
    assert_int_equal(writer_open(path, &compressed, &writer, &error), STATUS_OK);
    assert_int_equal(writer_begin_page(writer, &info, &error), STATUS_OK);
    assert_int_equal(writer_write(writer, rows, WIDTH, HEIGHT, &error), STATUS_OK);
    assert_int_equal(writer_end_page(writer, &error), STATUS_OK);
    assert_int_equal(writer_commit(writer, &error), STATUS_OK);
    writer_close(writer);
}

/* Returns the offset of a tag's value in the first directory of a classic TIFF in the host's byte order. */
static off_t find_value(int file, uint16_t tag)
{
    uint32_t ifd;
    uint16_t count, found;
    assert_int_equal(pread(file, &ifd, sizeof ifd, 4), sizeof ifd);
    assert_int_equal(pread(file, &count, sizeof count, ifd), sizeof count);
    off_t at = (off_t)ifd + 2;
    for (found = 0; found != tag; at += ENTRY_SIZE) {
        assert_true(count-- > 0);
        assert_int_equal(pread(file, &found, sizeof found, at), sizeof found);
    }
    return at - ENTRY_SIZE + 8;
}

static void open_first_page(struct tiff_file *file, int descriptor)
{
    struct tiff_pages pages = {.count = 0};
    struct error error;
    assert_int_equal(tiff_file_open(file, descriptor, TIFF_FILE_READ, &error), STATUS_OK);
    assert_int_equal(tiff_pages_find(file, &pages, &error), STATUS_OK);
    assert_int_equal(tiff_file_set_directory(file, pages.directories[0], &error), STATUS_OK);
    tiff_pages_free(&pages);
}

static enum status open_changed(uint16_t tag, uint16_t value, struct error *error)
{
    struct tiff_file file;
    struct tiff_layout layout;
    struct tiff_rows *rows = NULL;
    write_strips();
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    assert_true(descriptor >= 0);
    open_first_page(&file, descriptor);
    assert_int_equal(tiff_layout_read(&file, &options, &layout, error), STATUS_OK);
    if (tag != 0)
        assert_int_equal(pwrite(descriptor, &value, sizeof value, find_value(descriptor, tag)), sizeof value);
    enum status status = tiff_rows_open(&file, &layout, &options, &rows, error);
    assert_non_null(rows);
    tiff_rows_close(rows);
    tiff_file_close(&file);
    close(descriptor);
    return status;
}

static void a_file_that_stays_is_read_ahead(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(open_changed(0, 0, &error), STATUS_OK);
}

static void a_file_that_changes_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint16_t tag, value;
        const char *message;
    } changes[] = {
        {TIFFTAG_IMAGEWIDTH, 2 * WIDTH, "damaged TIFF: it is being changed while it is read"},
        {TIFFTAG_IMAGELENGTH, HEIGHT / 2, "damaged TIFF: it is being changed while it is read"},
        {TIFFTAG_ROWSPERSTRIP, HEIGHT, "damaged TIFF: it is being changed while it is read"},
        {TIFFTAG_SAMPLESPERPIXEL, 3, "damaged TIFF: rows are not of the size that the tags say"},
        {TIFFTAG_BITSPERSAMPLE, 16, "damaged TIFF: rows are not of the size that the tags say"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct error error;
        assert_int_equal(open_changed(changes[i].tag, changes[i].value, &error), STATUS_FAILED);
        assert_string_equal(error.text, changes[i].message);
    }
}

static void a_strip_without_an_offset_is_damage(void **state)
{
    (void)state;
    const uint32_t one = 1;
    unsigned char pixels[WIDTH];
    struct tiff_file file;
    struct tiff_layout layout;
    struct tiff_rows *rows = NULL;
    struct error error;
    write_strips();
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(descriptor, &one, sizeof one, find_value(descriptor, TIFFTAG_STRIPOFFSETS) - 4),
                     4);
    open_first_page(&file, descriptor);
    assert_int_equal(tiff_layout_read(&file, &options, &layout, &error), STATUS_OK);
    assert_int_equal(tiff_rows_open(&file, &layout, &options, &rows, &error), STATUS_OK);
    assert_true(tiff_rows_skip(rows, HEIGHT / 6));
    assert_int_equal(tiff_rows_fetch(rows, 1, pixels, WIDTH, &error), STATUS_FAILED);
    assert_string_equal(error.text, "damaged TIFF: strip 2 of 6 has no data; if GDAL omitted it as empty "
                                    "(SPARSE_OK), gdal_translate IN OUT fills it");
    tiff_rows_close(rows);
    tiff_file_close(&file);
    close(descriptor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_stays_is_read_ahead),
        cmocka_unit_test(a_file_that_changes_is_refused),
        cmocka_unit_test(a_strip_without_an_offset_is_damage),
    };
    return cmocka_run_group_tests(tests, go_to_scratch, leave_scratch);
}
