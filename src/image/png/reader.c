#include "image/png/metadata.h"
#include "image/png/pixels.h"
#include "image/png/png.h"
#include "image/png/session.h"

#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROW_BUFFERS = 2 /* the next row, filtered, and the one above */ };

struct png_reader {
    struct reader base;
    struct png_session session;
    struct png_pixels *pixels; /* where libpng is not needed for them, else NULL */
    bool piped;                /* nobody could look behind the pixels */
    struct blob behind;        /* chunks that stand there */
    bool interlaced, begun;    /* libpng has what it needs for rows */
    unsigned char *whole;      /* the interlaced image, from the first row that is asked for on */
    uint32_t next_row;
};

/* Whether the file's samples are what is asked for. */
static bool is_plain(const struct png_session *session)
{
    png_byte type = png_get_color_type(session->png, session->info);
    return type != PNG_COLOR_TYPE_PALETTE && png_get_bit_depth(session->png, session->info) >= 8 &&
           png_get_interlace_type(session->png, session->info) == PNG_INTERLACE_NONE &&
           png_get_valid(session->png, session->info, PNG_INFO_tRNS) == 0;
}

/* libpng stops behind the header of the first IDAT. */
static enum status open_pixels(struct png_reader *reader, struct error *error)
{
    const struct image_info *info = &reader->base.info;
    struct png_pixels_options options = {.file = reader->session.file,
                                         .size = png_get_uint_32(reader->session.header),
                                         .row_size = row_size(info),
                                         .pixel_size = (size_t)info->channels * sample_size(info->type),
                                         .row_count = info->height,
                                         .behind = reader->piped ? &reader->behind : NULL,
                                         .swap = BYTE_ORDER == LITTLE_ENDIAN && info->type == SAMPLE_UINT16};
    reader->pixels = png_pixels_open(&options, error);
    return reader->pixels ? STATUS_OK : STATUS_FAILED;
}

/* Asks for whole bytes, alpha in place of tRNS and of a palette's transparency, and the host's byte order. */
static void set_transformations(struct png_session *session)
{
    png_set_expand(session->png);
    png_session_set_host_order(session);
}

/* As the transformations will have it. libpng would tell, but allocates rows for that, and they may be long:
 * the plan comes first. */
static void describe(struct png_session *session, struct image_info *info)
{
    png_byte type = png_get_color_type(session->png, session->info);
    info->alpha =
        (type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(session->png, session->info, PNG_INFO_tRNS) != 0;
    info->channels = ((type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) + info->alpha;
    info->type = png_get_bit_depth(session->png, session->info) == 16 ? SAMPLE_UINT16 : SAMPLE_UINT8;
}

static enum status read_header(void *context, struct error *error)
{
    struct png_reader *reader = context;
    struct png_session *session = &reader->session;
    struct image_info *info = &reader->base.info;
    png_set_sig_bytes(session->png, SIGNATURE_SIZE);
    png_metadata_expect(session, &info->metadata);
    png_session_begin_chunks(session);
    png_read_info(session->png, session->info);
    png_session_end_chunks(session);

    info->width = png_get_image_width(session->png, session->info);
    info->height = png_get_image_height(session->png, session->info);
    enum status status = check_image_size(info->width, info->height, reader->base.options.max_pixels, error);
    if (status != STATUS_OK)
        return status;

    const int depth = png_get_bit_depth(session->png, session->info);
    info->bits = depth < 8 ? depth : 0;
    info->palette = png_get_color_type(session->png, session->info) == PNG_COLOR_TYPE_PALETTE;
    bool plain = is_plain(session);
    set_transformations(session);
    reader->interlaced = png_set_interlace_handling(session->png) > 1;
    describe(session, info);
    reader->base.memory = ((reader->interlaced ? (uint64_t)info->height : 0) + ROW_BUFFERS) * row_size(info);
    if (plain && open_pixels(reader, error) != STATUS_OK)
        return STATUS_FAILED;
    return png_metadata_take(session, &info->metadata, error);
}

/* With png_read_row's way of failing. */
static void begin_rows(struct png_reader *reader)
{
    struct png_session *session = &reader->session;
    if (reader->begun)
        return;
    reader->begun = true;
    png_read_update_info(session->png, session->info);
    if (png_get_rowbytes(session->png, session->info) != row_size(&reader->base.info))
        png_error(session->png, "rows of an unexpected size");
}

struct rows {
    struct png_reader *reader;
    unsigned char *data;
    size_t pitch;
    uint32_t count;
};

static enum status read_end(struct png_reader *reader, struct error *error)
{
    struct png_session *session = &reader->session;
    if (reader->piped)
        png_metadata_forget(session, &reader->base.late);
    png_read_end(session->png, session->info);
    return reader->piped ? png_metadata_take_late(session, &reader->base.late, error) : STATUS_OK;
}

/* After the last row the file's end is read too: a file that breaks off there is damaged as well. */
static enum status read_rows(void *context, struct error *error)
{
    (void)error;
    const struct rows *rows = context;
    struct png_reader *reader = rows->reader;
    begin_rows(reader);
    for (uint32_t i = 0; i < rows->count; i++)
        png_read_row(reader->session.png, rows->data + i * rows->pitch, NULL);
    reader->next_row += rows->count;
    return reader->next_row == reader->base.info.height ? read_end(reader, error) : STATUS_OK;
}

static enum status read_interlaced(void *context, struct error *error)
{
    (void)error;
    struct png_reader *reader = context;
    size_t size = row_size(&reader->base.info);
    begin_rows(reader);
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        for (uint32_t y = 0; y < reader->base.info.height; y++)
            png_read_row(reader->session.png, reader->whole + y * size, NULL);
    return read_end(reader, error);
}

/* The rows of an interlaced image are complete only after all of it was read. */
static enum status copy_interlaced(const struct rows *rows, struct error *error)
{
    struct png_reader *reader = rows->reader;
    size_t size = row_size(&reader->base.info);
    if (reader->whole == NULL) {
        reader->whole = allocate_zeroed(reader->base.info.height, size, "an interlaced PNG", error);
        if (reader->whole == NULL)
            return STATUS_FAILED;
        enum status status = png_session_run(&reader->session, read_interlaced, reader, error);
        if (status != STATUS_OK)
            return status;
    }
    for (uint32_t i = 0; i < rows->count; i++)
        memcpy(rows->data + i * rows->pitch, reader->whole + (reader->next_row + i) * size, size);
    reader->next_row += rows->count;
    return STATUS_OK;
}

static enum status read_pixels(const struct rows *rows, struct error *error)
{
    struct png_reader *reader = rows->reader;
    enum status status = png_pixels_read(reader->pixels, rows->data, rows->pitch, rows->count, error);
    reader->next_row += rows->count;
    if (status == STATUS_OK && reader->next_row == reader->base.info.height)
        status = png_pixels_end(reader->pixels, error);
    if (status == STATUS_OK && reader->behind.size > 0 && reader->next_row == reader->base.info.height)
        status = png_metadata_read_late(&reader->behind, &reader->base.late, error);
    return status;
}

static enum status read_some(struct reader *base, void *data, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct png_reader *reader = (struct png_reader *)base;
    struct rows rows = {reader, data, pitch, count};
    if (reader->pixels)
        return read_pixels(&rows, error);
    if (reader->interlaced)
        return copy_interlaced(&rows, error);
    return png_session_run(&reader->session, read_rows, &rows, error);
}

/* Lets the stream end behind the bytes that it has taken from its pipe already. */
static bool cut_off(FILE *file)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool done = nothing >= 0 && dup3(nothing, fileno(file), O_CLOEXEC) >= 0;
    if (nothing >= 0)
        close(nothing);
    return done;
}

/* Looks at what has come by now: whoever writes to the pipe may keep it open. Of a file metadata_ahead.c has
 * looked there. */
static void look_after_end(struct reader *base)
{
    const struct png_reader *reader = (struct png_reader *)base;
    unsigned char after[SIGNATURE_SIZE];
    struct pollfd pipe = {.fd = fileno(base->file), .events = POLLIN};
    if (!reader->piped || reader->next_row < base->info.height)
        return;
    for (size_t i = 0; i < sizeof after; i++) {
        if (poll(&pipe, 1, 0) <= 0 && !cut_off(base->file))
            return;
        int byte = getc(base->file);
        if (byte == EOF)
            return;
        after[i] = (unsigned char)byte;
    }
    png_metadata_judge_end(after, &base->late);
}

static void close_reader(struct reader *base)
{
    struct png_reader *reader = (struct png_reader *)base;
    png_session_close_read(&reader->session);
    png_pixels_close(reader->pixels);
    free(reader->whole);
    free(reader->behind.data);
}

/* The signature is made to show what happens to files in transfer. */
static enum status check_signature(const struct reader *base, struct error *error)
{
    static const unsigned char signature[SIGNATURE_SIZE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (base->head_size == sizeof signature && memcmp(base->head, signature, sizeof signature) == 0)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "damaged PNG: its first bytes were changed or cut off in transfer; fetch it again as binary");
}

static enum status open_reader(struct reader *base, struct error *error)
{
    struct png_reader *reader = (struct png_reader *)base;
    off_t start = ftello(base->file);
    reader->piped = start < 0;
    enum status status = check_signature(base, error);
    if (status == STATUS_OK && base->options.page > 1)
        status = fail(error, STATUS_FAILED, "there is no page %d; a PNG has one", base->options.page);
    if (status == STATUS_OK)
        status = png_session_open_read(&reader->session, base->file, error);
    if (status == STATUS_OK)
        status = png_session_run(&reader->session, read_header, reader, error);
    if (status == STATUS_OK)
        status = png_metadata_look_ahead(base->file, start, &base->info.metadata, error);
    return status;
}

const struct reader_class png_reader_class = {
    .size = sizeof(struct png_reader),
    .looks_behind = true,
    .open = open_reader,
    .read = read_some,
    .look_after_end = look_after_end,
    .close = close_reader,
};
