/* libFuzzer's target for JPEG: any bytes are a file, which is decoded by one thread, by three, and by libjpeg
 * alone; what several of them take must have the same pixels. Its metadata is written again, and its blocks
 * are rotated.
 *
 * Rows and fresh memory are filled with another byte each time, as in images.c. */
#include "fuzz.h"
#include "image/image.h"
#include "image/reader.h"
#include "image/writer.h"

#include <malloc.h>
#include <setjmp.h>
#include <string.h>

#include <jpeglib.h>

enum { MAX_PIXELS = 1 << 18, ROWS_AT_ONCE = 7 };

static enum status read_rows(struct reader *reader, unsigned char *rows, int fill, struct error *error)
{
    const struct image_info *info = reader_info(reader);
    const size_t pitch = row_size(info);
    enum status status = STATUS_OK;
    memset(rows, fill, pitch * info->height);
    for (uint32_t row = 0; status == STATUS_OK && row < info->height; row += ROWS_AT_ONCE) {
        const uint32_t left = info->height - row, count = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        status = reader_read(reader, rows + row * pitch, pitch, count, error);
    }
    return status;
}

/* The same pixels and words, to nowhere. */
static void write_again(const struct image_info *info, const unsigned char *rows)
{
    const struct writer_options options = {.format = format_by_extension("jpg"), .jobs = 1};
    struct error error = {.text = ""};
    struct writer *writer = NULL;
    enum status status = writer_open("/dev/null", &options, &writer, &error);
    if (status == STATUS_OK)
        status = writer_begin_page(writer, info, &error);
    if (status == STATUS_OK)
        status = writer_write(writer, rows, row_size(info), info->height, &error);
    if (status == STATUS_OK)
        status = writer_end_page(writer, &error);
    if (status == STATUS_OK)
        status = writer_commit(writer, &error);
    writer_close(writer);
    if (status != STATUS_OK)
        abort(); /* what was read can be written */
}

/* Turned or mirrored without being coded again, one of eight ways; to nowhere. */
static void turn(const char *path, unsigned way)
{
    const double right = way & 1 ? -1 : 1, down = way & 2 ? -1 : 1;
    const struct affine places =
        way & 4 ? (struct affine){.xy = right, .yx = down} : (struct affine){.xx = right, .yy = down};
    const struct reader_options reading = {.max_pixels = MAX_PIXELS, .jobs = 1};
    const struct writer_options writing = {.format = format_by_extension("jpg"), .jobs = 1};
    struct error error = {.text = ""};
    struct reader *reader = NULL;
    struct writer *writer = NULL;
    struct lossless_move move;
    if (reader_open(path, &reading, &reader, &error) == STATUS_OK &&
        writer_open("/dev/null", &writing, &writer, &error) == STATUS_OK)
        writer_transform(writer, reader, &places, reader_info(reader), &move, &error);
    writer_close(writer);
    reader_close(reader);
}

/* NULL: it is no whole JPEG. */
static unsigned char *decode(const char *path, int jobs, int fill, struct image_info *shape)
{
    const struct reader_options options = {.max_pixels = MAX_PIXELS, .jobs = jobs};
    struct error error = {.text = ""};
    struct reader *reader = NULL;
    unsigned char *rows = NULL;
    mallopt(M_PERTURB, fill);
    enum status status = reader_open(path, &options, &reader, &error);
    if (status == STATUS_OK) {
        *shape = *reader_info(reader);
        rows = malloc(row_size(shape) * shape->height);
        status = rows == NULL ? STATUS_FAILED : read_rows(reader, rows, fill, &error);
    }
    if (rows != NULL && status == STATUS_OK && jobs == 1 && strcmp(reader_format(reader)->name, "JPEG") == 0)
        write_again(shape, rows);
    if (status != STATUS_OK) {
        if (!error.text[0] || strchr(error.text, '\n'))
            abort(); /* a failure is one line */
        free(rows);
        rows = NULL;
    }
    reader_close(reader);
    return rows;
}

static void on_error(j_common_ptr jpeg)
{
    longjmp(*(jmp_buf *)jpeg->client_data, 1);
}

static void on_message(j_common_ptr jpeg, int level)
{
    (void)jpeg;
    (void)level;
}

static void read_all(struct jpeg_decompress_struct *in, const uint8_t *data, size_t size,
                     const struct image_info *wanted, unsigned char *rows)
{
    jpeg_create_decompress(in);
    jpeg_mem_src(in, (unsigned char *)(uintptr_t)data, size);
    jpeg_read_header(in, TRUE);
    in->out_color_space = wanted->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (in->image_width != wanted->width || in->image_height != wanted->height)
        abort(); /* the sizes differ */
    jpeg_start_decompress(in);
    while (in->output_scanline < in->output_height) {
        JSAMPROW row = rows + in->output_scanline * row_size(wanted);
        jpeg_read_scanlines(in, &row, 1);
    }
}

/* False where libjpeg alone does not take the file. */
static bool decode_with_libjpeg(const uint8_t *data, size_t size, const struct image_info *wanted,
                                unsigned char *rows)
{
    struct jpeg_decompress_struct in = {.err = NULL};
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    volatile bool done = false;
    in.err = jpeg_std_error(&errors);
    in.client_data = &failed;
    errors.error_exit = on_error;
    errors.emit_message = on_message;
    if (setjmp(failed) == 0) {
        read_all(&in, data, size, wanted, rows);
        done = true;
    }
    jpeg_destroy_decompress(&in);
    return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_SIZE];
    struct image_info shape, other_shape;
    const int file = fuzz_file(data, size, path);
    unsigned char *one = decode(path, 1, 0x55, &shape), *other = decode(path, 3, 0xaa, &other_shape);
    const size_t bytes = one != NULL ? row_size(&shape) * shape.height : 0;
    unsigned char *alone = calloc(bytes + 1, 1);
    if (one != NULL && other != NULL && memcmp(one, other, bytes) != 0)
        abort(); /* threads give different pixels, or some that were never written */
    if (one != NULL && size > 2 && data[0] == 0xff && decode_with_libjpeg(data, size, &shape, alone) &&
        memcmp(one, alone, bytes) != 0)
        abort(); /* other pixels than libjpeg alone gives */
    turn(path, size > 0 ? data[size / 2] : 0);
    free(one);
    free(other);
    free(alone);
    close(file);
    return 0;
}
