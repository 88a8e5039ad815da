#include "image/format.h"
#include "image/png_metadata.h"
#include "image/png_session.h"

#include <zlib.h>

enum { CHUNK_SIZE = 1 << 16 }; /* of IDAT */

struct png_writer {
    struct writer base;
    struct png_session session;
    bool begun;
    uint32_t rows_left;
};

struct encoding {
    int level, strategy, filters;
};

static struct encoding choose_encoding(int compression)
{
    /* Paeth's filter and run lengths give the smallest files of all fast ways for photographs: what the
     * filter leaves has hardly any repetitions that a search could find. */
    struct encoding fast = {1, Z_RLE, PNG_FILTER_PAETH};
    struct encoding stored = {0, Z_DEFAULT_STRATEGY, PNG_FILTER_NONE};
    struct encoding searched = {compression, Z_DEFAULT_STRATEGY, PNG_ALL_FILTERS};
    if (compression == COMPRESSION_PRESET_DEFAULT || compression == 1)
        return fast;
    return compression == 0 ? stored : searched;
}

static void set_encoding(png_structp png, int compression)
{
    struct encoding encoding = choose_encoding(compression);
    png_set_compression_level(png, encoding.level);
    png_set_compression_strategy(png, encoding.strategy);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, encoding.filters);
    png_set_compression_buffer_size(png, CHUNK_SIZE);
}

static enum status set_header(void *context, struct error *error)
{
    (void)error;
    static const int colour_types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                       PNG_COLOR_TYPE_RGB_ALPHA};
    struct png_writer *writer = context;
    const struct image_info *info = &writer->base.info;
    png_set_IHDR(writer->session.png, writer->session.info, info->width, info->height,
                 info->type == SAMPLE_UINT16 ? 16 : 8, colour_types[info->channels - 1], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    set_encoding(writer->session.png, writer->base.options.compression);
    return STATUS_OK;
}

static enum status write_header(void *context, struct error *error)
{
    (void)error;
    struct png_writer *writer = context;
    struct png_session *session = &writer->session;
    png_write_info_before_PLTE(session->png, session->info);
    png_metadata_write_colour(session, &writer->base.info.metadata);
    png_write_info(session->png, session->info);
    png_session_set_host_order(session);
    return STATUS_OK;
}

static enum status begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base;
    if (writer->begun)
        return fail(error, STATUS_FAILED, "PNG holds one page; write TIFF to keep more");
    if (info->type != SAMPLE_UINT8 && info->type != SAMPLE_UINT16)
        return fail(error, STATUS_FAILED, "PNG holds samples of 8 or 16 bit; write TIFF to keep others");
    if (info->channels < 1 || info->channels > 4)
        return fail(error, STATUS_FAILED, "PNG holds 1 to 4 channels, not %d", info->channels);

    writer->begun = true;
    writer->rows_left = info->height;
    enum status status = png_session_run(&writer->session, set_header, writer, error);
    if (status == STATUS_OK)
        status = png_metadata_give(&writer->session, info, error);
    if (status == STATUS_OK)
        status = png_session_run(&writer->session, write_header, writer, error);
    return status;
}

struct rows {
    struct png_writer *writer;
    const unsigned char *data;
    size_t pitch;
    uint32_t count;
};

static enum status write_rows(void *context, struct error *error)
{
    (void)error;
    const struct rows *rows = context;
    for (uint32_t i = 0; i < rows->count; i++)
        png_write_row(rows->writer->session.png, rows->data + i * rows->pitch);
    rows->writer->rows_left -= rows->count;
    return STATUS_OK;
}

static enum status write_some(struct writer *base, const void *data, size_t pitch, uint32_t count,
                              struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base;
    struct rows rows = {writer, data, pitch, count};
    return png_session_run(&writer->session, write_rows, &rows, error);
}

static enum status write_end(void *context, struct error *error)
{
    (void)error;
    struct png_writer *writer = context;
    png_write_end(writer->session.png, NULL);
    return STATUS_OK;
}

static enum status end_page(struct writer *base, struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base;
    /* libpng would not notice, and the file would be damaged. */
    if (writer->rows_left != 0)
        return fail(error, STATUS_FAILED, "the last %u rows are missing", (unsigned)writer->rows_left);
    return png_session_run(&writer->session, write_end, writer, error);
}

static enum status open_writer(struct writer *base, struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base;
    return png_session_open_write(&writer->session, base->output.file, error);
}

static enum status finish(struct writer *base, struct error *error)
{
    const struct png_writer *writer = (const struct png_writer *)base;
    if (!writer->begun)
        return fail(error, STATUS_FAILED, "nothing to write; a PNG has one page");
    return STATUS_OK;
}

static void close_writer(struct writer *base)
{
    struct png_writer *writer = (struct png_writer *)base;
    png_session_close_write(&writer->session);
}

const struct writer_class png_writer_class = {
    .size = sizeof(struct png_writer),
    .seeks = false,
    .open = open_writer,
    .begin_page = begin_page,
    .write = write_some,
    .end_page = end_page,
    .finish = finish,
    .close = close_writer,
};
