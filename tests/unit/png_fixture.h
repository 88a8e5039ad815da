/* Shared by the tests of PNG: a temporary folder, and PNG files that are written byte by byte, without
 * libpng. Include it once, after cmocka.h. */
#ifndef CLIMG_TESTS_PNG_FIXTURE_H
#define CLIMG_TESTS_PNG_FIXTURE_H

#include "image/format.h"
#include "image/reader.h"
#include "image/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct reader_options any_size = {.page = 1, .max_pixels = UINT64_C(1) << 31};

/* The tests run in an empty folder and use this file only. */
static const char path[] = "a.png";
static char folder[] = "/tmp/climg-test-XXXXXX";

static inline int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static inline int leave_folder(void **state)
{
    (void)state;
    remove(path);
    return chdir("/") != 0 || rmdir(folder) != 0; /* fails when anything else was left there */
}

/* A file under construction. */
struct bytes {
    unsigned char data[4096];
    size_t size;
};

static inline void add(struct bytes *bytes, const void *data, size_t size)
{
    assert_true(bytes->size + size <= sizeof bytes->data);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static inline void add_number(struct bytes *bytes, uint32_t number)
{
    unsigned char data[4] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                             (unsigned char)(number >> 8), (unsigned char)number};
    add(bytes, data, sizeof data);
}

/* The PNG specification, annex D. */
static inline uint32_t crc_of(const unsigned char *data, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 1) != 0 ? 0xedb88320 ^ crc >> 1 : crc >> 1;
    }
    return ~crc;
}

static inline void add_chunk(struct bytes *png, const char *name, const void *data, size_t size)
{
    add_number(png, (uint32_t)size);
    size_t start = png->size;
    add(png, name, 4);
    add(png, data, size);
    add_number(png, crc_of(png->data + start, png->size - start));
}

static inline void begin_png(struct bytes *png, uint32_t width, uint32_t height, int bits, int colour_type,
                             bool interlaced)
{
    struct bytes header = {.size = 0};
    const unsigned char rest[5] = {(unsigned char)bits, (unsigned char)colour_type, 0, 0, interlaced};
    add_number(&header, width);
    add_number(&header, height);
    add(&header, rest, sizeof rest);
    png->size = 0;
    add(png, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(png, "IHDR", header.data, header.size);
}

/* Image data as zlib's format with one stored block (RFC 1950 and 1951). */
static inline void add_pixels(struct bytes *png, const unsigned char *data, size_t size)
{
    struct bytes stream = {.size = 0};
    const unsigned char block[7] = {0x78,
                                    0x01,
                                    1,
                                    (unsigned char)size,
                                    (unsigned char)(size >> 8),
                                    (unsigned char)~size,
                                    (unsigned char)(~size >> 8)};
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < size; i++) {
        low = (low + data[i]) % 65521;
        high = (high + low) % 65521;
    }
    add(&stream, block, sizeof block);
    add(&stream, data, size);
    add_number(&stream, high << 16 | low);
    add_chunk(png, "IDAT", stream.data, stream.size);
}

static inline void save(const struct bytes *bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    fclose(file);
}

/* 2x2 pixels of gray; as good as any where the pixels do not matter. */
static inline void begin_small_png(struct bytes *png)
{
    begin_png(png, 2, 2, 8, 0, false);
}

static inline void finish_small_png(struct bytes *png)
{
    add_pixels(png, (const unsigned char[]){0, 1, 2, 0, 3, 4}, 6);
    add_chunk(png, "IEND", "", 0);
}

static inline struct reader *open_reader(const char *name)
{
    struct reader *reader;
    struct error error = {.text = ""};
    enum status status = reader_open(name, &any_size, &reader, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, STATUS_OK);
    return reader;
}

/* Writes an image in steps of two rows. */
static inline void write_image(const struct image_info *info, const unsigned char *rows, int compression)
{
    struct writer_options options = {.format = format_by_extension("png"), .compression = compression};
    struct writer *writer;
    struct error error = {.text = ""};
    size_t pitch = row_size(info);
    assert_int_equal(writer_open(path, &options, &writer, &error), STATUS_OK);
    assert_int_equal(writer_begin_page(writer, info, &error), STATUS_OK);
    for (uint32_t y = 0; y < info->height; y += 2) {
        uint32_t count = info->height - y < 2 ? 1 : 2;
        assert_int_equal(writer_write(writer, rows + y * pitch, pitch, count, &error), STATUS_OK);
    }
    assert_int_equal(writer_end_page(writer, &error), STATUS_OK);
    assert_int_equal(writer_commit(writer, &error), STATUS_OK);
    assert_string_equal(error.text, "");
    writer_close(writer);
}

#endif
