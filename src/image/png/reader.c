/* Reads PNGs. libpng reads the chunks before the pixels. pixels.c decodes the pixels, but libpng decodes
 * pixels that need conversion or are interlaced.
 *
 * An interlaced image is decoded whole before its first row is returned. Chunks after the pixels are checked,
 * but not parsed: they are reported as left out. */
#include "base/sums.h"
#include "image/png/png.h"

#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROW_BUFFERS = 2, /* the next row, filtered, and the one above */
    /* Bytes of memory for each byte of metadata: the reader's copy, the output's copy, and a third one in
     * UTF-8 or deflated, which may have twice the size. */
    METADATA_COPIES = 4,
};

struct png_reader {
    struct reader base; /* must be first */
    struct png_session session;
    struct png_pixels *pixels; /* NULL: libpng decodes the pixels */
    bool interlaced;
    unsigned char *whole; /* the interlaced image; NULL before the first row is asked for */
    uint32_t next_row;    /* to be read */
};

/* Step of png_session_run: reads the file up to the first IDAT, describes the picture and computes the memory
 * for decoding. */
static enum status png_read_header(void *context, struct error *error)
{
    struct png_reader *reader = context;
    struct png_session *session = &reader->session;
    struct image_info *info = &reader->base.info;
    png_set_sig_bytes(session->png, SIGNATURE_SIZE);
    png_metadata_register(session, &reader->base);
    const size_t budget = session->budget;
    png_read_info(session->png, session->info);

    info->width = png_get_image_width(session->png, session->info);
    info->height = png_get_image_height(session->png, session->info);
    if (check_image_size(info->width, info->height, reader->base.options.max_pixels, error) != STATUS_OK)
        return STATUS_FAILED;

    /* Ask for whole bytes, alpha instead of tRNS, and the host's byte order. */
    const int depth = png_get_bit_depth(session->png, session->info);
    const png_byte type = png_get_color_type(session->png, session->info);
    const bool has_trns = png_get_valid(session->png, session->info, PNG_INFO_tRNS) != 0;
    png_set_expand(session->png);
    if (BYTE_ORDER == LITTLE_ENDIAN && depth == 16)
        png_set_swap(session->png);
    reader->interlaced = png_set_interlace_handling(session->png) > 1;
    /* Describe the expanded picture. libpng could do so only after png_read_update_info, which allocates
     * rows; they may be long, and the plan has not counted their memory yet. */
    info->bits = depth < 8 ? depth : 0;
    info->palette = type == PNG_COLOR_TYPE_PALETTE;
    info->alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || has_trns;
    info->channels = ((type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) + info->alpha;
    snprintf(info->coding, sizeof info->coding, "Deflate");
    info->checksums = "CRC-32 and Adler-32";
    info->type = depth == 16 ? SAMPLE_UINT16 : SAMPLE_UINT8;
    reader->base.memory = ((reader->interlaced ? (uint64_t)info->height : 0) + ROW_BUFFERS) * row_size(info) +
                          (uint64_t)METADATA_COPIES * (budget - session->budget);

    /* Let pixels.c read samples that need no conversion. libpng has read the header of the first IDAT. */
    if (info->palette || depth < 8 || reader->interlaced || has_trns)
        return STATUS_OK;
    reader->pixels = png_pixels_open(&reader->base, png_get_uint_32(session->last_header), error);
    return reader->pixels == NULL ? STATUS_FAILED : STATUS_OK;
}

/* In a step, before the first row: makes libpng allocate its rows. */
static void begin_rows(struct png_reader *reader)
{
    struct png_session *session = &reader->session;
    png_read_update_info(session->png, session->info);
    if (png_get_rowbytes(session->png, session->info) != row_size(&reader->base.info))
        png_error(session->png, "rows of an unexpected size");
}

/* Arguments of the steps that read rows. */
struct row_request {
    struct png_reader *reader;
    unsigned char *data; /* of the first row */
    size_t pitch;        /* bytes from row to row */
    uint32_t count;      /* rows */
};

/* Call before the last `rows` rows. Limits the bytes that libpng may read: after the last row it would
 * otherwise inflate any amount of surplus image data. Compressed rows are hardly larger than rows, unless
 * chunks are absurdly small. */
static void limit_reading(struct png_reader *reader, size_t rows)
{
    enum { SLACK = 64 << 10 };
    reader->session.read_limit = SLACK + 2 * rows * row_size(&reader->base.info);
}

/* Reads the rest of the file, as a file that ends early is damaged, too. */
static void read_end(struct png_reader *reader)
{
    reader->session.read_limit = SIZE_MAX;
    png_read_end(reader->session.png, reader->session.info);
}

/* Step of png_session_run: reads the next rows, and after the last one the rest of the file. */
static enum status png_read_rows_step(void *context, struct error *error)
{
    (void)error;
    const struct row_request *rows = context;
    struct png_reader *reader = rows->reader;
    if (reader->next_row == 0)
        begin_rows(reader);
    for (uint32_t i = 0; i < rows->count; i++) {
        if (++reader->next_row == reader->base.info.height)
            limit_reading(reader, 1);
        png_read_row(reader->session.png, rows->data + i * rows->pitch, NULL);
    }
    if (reader->next_row == reader->base.info.height)
        read_end(reader);
    return STATUS_OK;
}

/* Step of png_session_run: reads all rows of an interlaced image, and the rest of the file. */
static enum status read_interlaced(void *context, struct error *error)
{
    (void)error;
    struct png_reader *reader = context;
    size_t size = row_size(&reader->base.info);
    begin_rows(reader);
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
        if (pass == PNG_INTERLACE_ADAM7_PASSES - 1)
            limit_reading(reader, reader->base.info.height);
        for (uint32_t y = 0; y < reader->base.info.height; y++)
            png_read_row(reader->session.png, reader->whole + y * size, NULL);
    }
    read_end(reader);
    return STATUS_OK;
}

/* Runs a step that reads rows. Image data beyond the limit of limit_reading are an error, but only a warning
 * if all rows were decoded. */
static enum status run_rows(struct png_reader *reader, png_step step, void *context, struct error *error)
{
    enum status status = png_session_run(&reader->session, step, context, error);
    if (!reader->session.is_beyond_limit)
        return status;
    png_structp png = reader->session.png;
    if (reader->interlaced ? png_get_current_pass_number(png) != PNG_INTERLACE_ADAM7_PASSES
                           : png_get_current_row_number(png) != reader->base.info.height)
        return fail(error, STATUS_FAILED, "damaged PNG: its image data are in chunks that are far too small");
    metadata_warn(&reader->base.trailing, PNG_SURPLUS);
    return STATUS_OK;
}

/* Copies rows of an interlaced image, which is decoded whole at the first call: its first row is complete
 * only after the last pass. */
static enum status copy_interlaced(const struct row_request *rows, struct error *error)
{
    struct png_reader *reader = rows->reader;
    size_t size = row_size(&reader->base.info);
    if (reader->whole == NULL) {
        reader->whole = allocate_zeroed(reader->base.info.height, size, "an interlaced PNG", error);
        if (reader->whole == NULL)
            return STATUS_FAILED;
        enum status status = run_rows(reader, read_interlaced, reader, error);
        if (status != STATUS_OK)
            return status;
    }
    for (uint32_t i = 0; i < rows->count; i++)
        memcpy(rows->data + i * rows->pitch, reader->whole + (reader->next_row + i) * size, size);
    reader->next_row += rows->count;
    return STATUS_OK;
}

static enum status png_read(struct reader *base, void *data, size_t pitch, uint32_t count,
                            struct error *error)
{
    struct png_reader *reader = (struct png_reader *)base;
    struct row_request rows = {reader, data, pitch, count};
    if (reader->interlaced)
        return copy_interlaced(&rows, error);
    if (!reader->pixels)
        return run_rows(reader, png_read_rows_step, &rows, error);
    enum status status = png_pixels_read(reader->pixels, data, pitch, count, error);
    reader->next_row += count;
    if (status == STATUS_OK && reader->next_row == base->info.height)
        status = png_pixels_end(reader->pixels, error);
    return status;
}

/* Replaces the pipe by /dev/null, so that the stream ends after the bytes in its buffer. */
static bool end_after_buffer(FILE *file)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool done = nothing >= 0 && dup3(nothing, fileno(file), O_CLOEXEC) >= 0;
    if (nothing >= 0)
        close(nothing);
    return done;
}

/* Warns if another PNG follows, as in `cat a.png b.png`. Other bytes are ignored: no program reads them, and
 * many cameras and editors leave some. Does not wait for a pipe, which may stay open without more data. */
static void png_check_trailing_data(struct reader *base)
{
    const struct png_reader *reader = (struct png_reader *)base;
    unsigned char after[SIGNATURE_SIZE];
    struct pollfd pipe = {.fd = fileno(base->file), .events = POLLIN};
    if (reader->next_row < base->info.height || reader->session.is_beyond_limit)
        return;
    for (size_t i = 0; i < sizeof after; i++) {
        if (poll(&pipe, 1, 0) <= 0 && !end_after_buffer(base->file))
            return;
        int byte = getc(base->file);
        if (byte == EOF)
            return;
        after[i] = (unsigned char)byte;
    }
    if (memcmp(after, png_signature, sizeof after) != 0)
        return;
    base->unread = "the picture after the first one";
    metadata_warn(&base->trailing, "is followed by another picture, which is left out");
}

static void png_close_reader(struct reader *base)
{
    struct png_reader *reader = (struct png_reader *)base;
    png_session_close(&reader->session);
    png_pixels_close(reader->pixels);
    free(reader->whole);
}

static enum status png_open_reader(struct reader *base, struct error *error)
{
    struct png_reader *reader = (struct png_reader *)base;
    enum status status = png_session_open(&reader->session, base->file, error);
    if (status == STATUS_OK)
        status = png_session_run(&reader->session, png_read_header, reader, error);
    return status;
}

const struct reader_class png_reader_class = {
    .size = sizeof(struct png_reader),
    .open = png_open_reader,
    .read = png_read,
    .check_trailing_data = png_check_trailing_data,
    .close = png_close_reader,
};

/* ---------------------------------------------------------------- --check */

/* Compares the CRCs of all chunks, while the reader ignores the CRCs of optional chunks after the pixels, and
 * warns of bytes after the last chunk. */
enum status png_examine(FILE *file, struct metadata *trailing, struct error *error)
{
    unsigned char bytes[16 << 10], head[8], sum[4];
    if (png_read_bytes(file, bytes, SIGNATURE_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    do {
        /* A chunk: length, name, data, and the CRC of name and data. */
        if (png_read_bytes(file, head, sizeof head, error) != STATUS_OK)
            return STATUS_FAILED;
        uint32_t left = png_get_uint_32(head), crc = isal_crc32(0, head + 4, 4);
        while (left > 0) {
            const uint32_t piece = left < sizeof bytes ? left : (uint32_t)sizeof bytes;
            if (png_read_bytes(file, bytes, piece, error) != STATUS_OK)
                return STATUS_FAILED;
            crc = isal_crc32(crc, bytes, piece);
            left -= piece;
        }
        if (png_read_bytes(file, sum, sizeof sum, error) != STATUS_OK)
            return STATUS_FAILED;
        if (png_get_uint_32(sum) != crc)
            return fail(error, STATUS_FAILED, "damaged PNG: %.4s: CRC error", (const char *)head + 4);
    } while (memcmp(head + 4, "IEND", 4) != 0);

    uint64_t surplus = 0;
    for (size_t more; (more = fread(bytes, 1, sizeof bytes, file)) > 0;)
        surplus += more;
    format_warn_surplus(trailing, surplus);
    return STATUS_OK;
}
