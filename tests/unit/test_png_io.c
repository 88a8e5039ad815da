/* The pixels of PNG files, in and out, and what is wrong with files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "png_fixture.h"

/* Reads all that is in the file, in vain. */
static void assert_unreadable(const struct reader_options *options, const char *message)
{
    struct error error = {.text = ""};
    struct reader *reader;
    unsigned char rows[64];
    enum status status = reader_open(path, options, &reader, &error);
    if (status == STATUS_OK) {
        status = reader_read(reader, rows, 16, reader_info(reader)->height, &error);
        reader_close(reader);
    } else
        assert_null(reader);
    assert_int_equal(status, STATUS_FAILED);
    assert_memory_equal(error.text, "a.png: ", 7);
    if (message != NULL)
        assert_string_equal(error.text + 7, message);
}

static void interlaced_rows_arrive_in_order(void **state)
{
    (void)state;
    /* Adam7 of 3x3 pixels whose values are their places; a filter byte before each row of each pass. */
    static const unsigned char passes[] = {0, 0, 0, 2, 0, 6, 8, 0, 1, 0, 7, 0, 3, 4, 5};
    struct bytes png;
    struct error error;
    bool more = true;
    unsigned char rows[3][8];
    begin_png(&png, 3, 3, 8, 0, true);
    add_pixels(&png, passes, sizeof passes);
    add_chunk(&png, "IEND", "", 0);
    save(&png);

    struct reader *reader = open_reader(path);
    assert_int_equal(reader_read(reader, rows, sizeof rows[0], 2, &error), STATUS_OK);
    assert_int_equal(reader_read(reader, rows[2], sizeof rows[0], 1, &error), STATUS_OK);
    for (int i = 0; i < 9; i++)
        assert_int_equal(rows[i / 3][i % 3], i);
    assert_int_equal(reader_page_count(reader), 1);
    assert_int_equal(reader_next_page(reader, &more, &error), STATUS_OK);
    assert_false(more);
    reader_close(reader);
}

static void damage_is_told(void **state)
{
    (void)state;
    struct bytes png;
    begin_small_png(&png);
    add_chunk(&png, "tEXt", "Title\0x", 7);
    finish_small_png(&png);
    size_t size = png.size;

    for (png.size = 0; png.size < size; png.size++) {
        save(&png);
        assert_unreadable(&any_size, png.size == 0   ? "empty file"
                                     : png.size >= 8 ? "damaged PNG: the file ends too early"
                                                     : NULL);
    }
    png.data[size - 1] ^= 1;
    save(&png);
    assert_unreadable(&any_size, "damaged PNG: IEND: CRC error");
}

static void a_damaged_text_costs_only_itself(void **state)
{
    (void)state;
    struct bytes png;
    begin_small_png(&png);
    add_chunk(&png, "tEXt", "Author\0y", 8);
    add_chunk(&png, "tEXt", "Title\0x", 7);
    png.data[png.size - 5] ^= 1;
    finish_small_png(&png);
    save(&png);
    struct reader *reader = open_reader(path);
    const struct metadata *metadata = &reader_info(reader)->metadata;
    assert_null(metadata_text(metadata, "Title"));
    assert_string_equal(metadata_text(metadata, "Author"), "y");
    assert_string_equal(metadata->warning, "the chunk tEXt is damaged and left out");
    reader_close(reader);
}

static void missing_pixels_are_told(void **state)
{
    (void)state;
    struct bytes png;
    begin_small_png(&png);
    add_chunk(&png, "IEND", "", 0);
    save(&png);
    assert_unreadable(&any_size, "damaged PNG: IEND: out of place");
    begin_small_png(&png);
    add_pixels(&png, (const unsigned char[]){0, 1, 2}, 3);
    add_chunk(&png, "IEND", "", 0);
    save(&png);
    assert_unreadable(&any_size, "damaged PNG: not enough image data");
}

static void size_and_page_are_checked(void **state)
{
    (void)state;
    struct bytes png;
    struct reader_options options = any_size;
    begin_png(&png, 60000, 60000, 8, 2, false);
    add_chunk(&png, "IDAT", "", 0);
    save(&png);
    assert_unreadable(&options,
                      "60000x60000 pixels are more than the limit of 2147483648; raise --max-pixels");

    begin_small_png(&png);
    finish_small_png(&png);
    save(&png);
    options.max_pixels = 3;
    assert_unreadable(&options, "2x2 pixels are more than the limit of 3; raise --max-pixels");
    options.max_pixels = 4;
    options.page = 2;
    assert_unreadable(&options, "there is no page 2; a PNG has one");
}

static void other_files_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *begin;
        const char *message;
    } files[] = {
        {"hello", "is not JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP or Y4M"},
        {"BM is how this text begins", "is not JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP or Y4M"},
        {"GIF89a and so on",
         "climg does not read GIF; convert it first, as with ImageMagick: convert a.png a-new.png"},
        {"RIFFsizeWEBPVP8", "damaged WebP: chunks are damaged or missing in a file of 15 bytes"},
        {"RIFFsizeAVI LIST",
         "climg reads AVI video through ffmpeg: ffmpeg -i a.png -f yuv4mpegpipe - | climg "
         "... | ffmpeg -i - out.mp4"},
        {"\x89PNG\n\x1a\n and so on", "is not JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP or Y4M"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct bytes bytes = {.size = 0};
        add(&bytes, files[i].begin, strlen(files[i].begin));
        save(&bytes);
        assert_unreadable(&any_size, files[i].message);
    }
    struct bytes bmp = {.size = 0};
    add(&bmp, "BMsize\0\0\0\0data", 14);
    save(&bmp);
    assert_unreadable(
        &any_size, "climg does not read BMP; convert it first, as with ImageMagick: convert a.png a-new.png");
}

static void what_cannot_be_opened_is_told(void **state)
{
    (void)state;
    struct reader *reader;
    struct error error;
    assert_int_equal(reader_open("none", &any_size, &reader, &error), STATUS_FAILED);
    assert_string_equal(error.text, "none: cannot open: No such file or directory");
    assert_int_equal(reader_open(".", &any_size, &reader, &error), STATUS_FAILED);
    assert_string_equal(error.text, ".: is a directory");
    assert_null(reader);
}

static void standard_input_is_streamed(void **state)
{
    (void)state;
    struct bytes png;
    struct error error;
    unsigned char rows[4];
    int ends[2];
    begin_small_png(&png);
    finish_small_png(&png);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], png.data, png.size - 1), (ssize_t)png.size - 1); /* breaks off */
    close(ends[1]);
    int original = dup(STDIN_FILENO);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    struct reader *reader = open_reader("-");
    assert_int_equal(reader_read(reader, rows, 2, 1, &error), STATUS_OK);
    assert_int_equal(reader_read(reader, rows + 2, 2, 1, &error), STATUS_FAILED);
    assert_string_equal(error.text, "standard input: damaged PNG: the file ends too early");
    reader_close(reader);
    dup2(original, STDIN_FILENO);
    close(original);
    close(ends[0]);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const int compressions[] = {COMPRESSION_PRESET_DEFAULT, 0, 1, 6, 9};
    unsigned char rows[7 * 5 * 8], found[sizeof rows];
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (unsigned char)(i * i * 31 + i);
    for (int channels = 1; channels <= 4; channels++)
        for (int i = 0; i < 10; i++) {
            struct image_info info = {.width = 7,
                                      .height = 5,
                                      .channels = channels,
                                      .alpha = channels % 2 == 0,
                                      .type = i < 5 ? SAMPLE_UINT8 : SAMPLE_UINT16};
            struct error error;
            size_t pitch = row_size(&info);
            write_image(&info, rows, compressions[i % 5]);
            struct reader *reader = open_reader(path);
            assert_int_equal(reader_info(reader)->channels, channels);
            assert_int_equal(reader_info(reader)->type, info.type);
            assert_int_equal(reader_read(reader, found, pitch, 5, &error), STATUS_OK);
            assert_memory_equal(found, rows, 5 * pitch);
            reader_close(reader);
        }
}

static void what_png_cannot_hold_is_refused(void **state)
{
    (void)state;
    struct writer_options options = {.format = format_by_extension("png"), .compression = 6};
    struct image_info info = {.width = 2, .height = 2, .channels = 1, .type = SAMPLE_FLOAT};
    struct writer *writer;
    struct error error;
    remove(path);
    assert_int_equal(writer_open(path, &options, &writer, &error), STATUS_OK);
    assert_int_equal(writer_commit(writer, &error), STATUS_FAILED);
    assert_string_equal(error.text, "a.png: nothing to write");
    assert_int_equal(writer_begin_page(writer, &info, &error), STATUS_FAILED);
    assert_string_equal(error.text, "a.png: PNG does not hold gray of float samples; write PFM or TIFF");
    info.type = SAMPLE_UINT8;
    assert_int_equal(writer_begin_page(writer, &info, &error), STATUS_OK);
    assert_int_equal(writer_write(writer, "ab", 2, 1, &error), STATUS_OK);
    assert_int_equal(writer_end_page(writer, &error), STATUS_FAILED);
    assert_string_equal(error.text, "a.png: the last 1 rows are missing");
    assert_int_equal(writer_begin_page(writer, &info, &error), STATUS_FAILED);
    assert_string_equal(error.text,
                        "a.png: PNG holds one page; write PAM, PGM, PNM, TIFF or Y4M to keep more");
    writer_close(writer);
    writer_close(NULL);
    assert_int_equal(access(path, F_OK), -1);
}

static void file_may_be_its_own_output(void **state)
{
    (void)state;
    struct image_info info = {.width = 2, .height = 2, .channels = 1, .type = SAMPLE_UINT8};
    unsigned char rows[4];
    struct error error;
    write_image(&info, (const unsigned char *)"abcd", 6);
    struct reader *reader = open_reader(path);
    write_image(&info, (const unsigned char *)"wxyz", 6);
    assert_int_equal(reader_read(reader, rows, 2, 2, &error), STATUS_OK);
    assert_memory_equal(rows, "abcd", 4);
    reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interlaced_rows_arrive_in_order),  cmocka_unit_test(damage_is_told),
        cmocka_unit_test(a_damaged_text_costs_only_itself), cmocka_unit_test(missing_pixels_are_told),
        cmocka_unit_test(size_and_page_are_checked),        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(what_cannot_be_opened_is_told),    cmocka_unit_test(standard_input_is_streamed),
        cmocka_unit_test(what_is_written_is_read_again),    cmocka_unit_test(what_png_cannot_hold_is_refused),
        cmocka_unit_test(file_may_be_its_own_output),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
