#include "image/png/png.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

struct png_writer {
    struct writer base;
    struct png_idat idat;
    struct parts *parts; /* takes the rows */
};

static enum status write_header(FILE *file, const struct image_info *info, struct error *error)
{
    static const unsigned char signature[SIGNATURE_SIZE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const unsigned char colour_types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                                 PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    unsigned char header[13] = {
        [8] = info->type == SAMPLE_UINT16 ? 16 : 8, [9] = colour_types[info->channels - 1]};
    png_save_uint_32(header, info->width);
    png_save_uint_32(header + 4, info->height);
    if (fwrite(signature, 1, sizeof signature, file) != sizeof signature)
        return fail_writing(error, errno);
    return png_put_chunk(file, "IHDR", header, sizeof header, error);
}

static enum status emit(void *context, const unsigned char *data, size_t size, struct error *error)
{
    enum { CHUNK_SIZE_MAX = 1 << 30 }; /* PNG allows nearly twice as much */
    enum status status = STATUS_OK;
    for (; status == STATUS_OK && size > CHUNK_SIZE_MAX; data += CHUNK_SIZE_MAX, size -= CHUNK_SIZE_MAX)
        status = png_put_chunk(context, "IDAT", data, CHUNK_SIZE_MAX, error);
    return status == STATUS_OK ? png_put_chunk(context, "IDAT", data, size, error) : status;
}

static struct png_idat idat_of(const struct writer_options *options, const struct image_info *info)
{
    const int level = options->compression == COMPRESSION_PRESET_DEFAULT ? 1 : options->compression;
    return (struct png_idat){.level = level,
                             .strategy = level == 1 ? Z_RLE : Z_FILTERED,
                             .filter = level == 0 ? PNG_ROW_NONE : PNG_ROW_PAETH,
                             .row_size = row_size(info),
                             .pixel_size = pixel_size(info),
                             .height = info->height,
                             .swap = BYTE_ORDER == LITTLE_ENDIAN && info->type == SAMPLE_UINT16,
                             .jobs = options->jobs,
                             .memory = options->memory};
}

static uint64_t memory(const struct writer_options *options, const struct image_info *info)
{
    struct png_idat chosen = idat_of(options, info);
    return png_idat_memory(&chosen);
}

static enum status begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base;
    FILE *file = base->output.file;
    enum status status = write_header(file, info, error);
    if (status == STATUS_OK)
        status = png_metadata_write(file, info, error);
    if (status != STATUS_OK)
        return status;
    writer->idat = idat_of(&base->options, info);
    writer->idat.emit = emit;
    writer->idat.context = file;
    writer->parts = png_idat_open(&writer->idat, error);
    return writer->parts == NULL ? STATUS_FAILED : STATUS_OK;
}

static enum status write_some(struct writer *base, const void *data, size_t pitch, uint32_t count,
                              struct error *error)
{
    return parts_write(((struct png_writer *)base)->parts, data, pitch, count, error);
}

static enum status end_page(struct writer *base, struct error *error)
{
    enum status status = parts_finish(((struct png_writer *)base)->parts, error);
    return status == STATUS_OK ? png_put_chunk(base->output.file, "IEND", NULL, 0, error) : status;
}

static void close_writer(struct writer *base)
{
    parts_close(((struct png_writer *)base)->parts);
}

static const struct writer_class writer_class = {
    .size = sizeof(struct png_writer),
    .memory = memory,
    .seeks = false,
    .begin_page = begin_page,
    .write = write_some,
    .end_page = end_page,
    .close = close_writer,
};

/* ---------------------------------------------------------------- the format */

static const char *const extensions[] = {"png", NULL};

/* Also one that lost bit 7, or whose line ends were changed: the reader says what happened to it. */
static bool recognise(const unsigned char *head, size_t size)
{
    return size >= 4 && (head[0] & 0x7f) == 0x09 && memcmp(head + 1, "PNG", 3) == 0;
}

static const char *compression_name(const struct image_info *info)
{
    (void)info; /* PNG has one */
    return "Deflate";
}

const struct format format_png = {
    .name = "PNG",
    .extensions = extensions,
    .holds = {.types = 1u << SAMPLE_UINT8 | 1u << SAMPLE_UINT16,
              .channels = CHANNELS_ALL,
              .texts = true,
              .extras = 1u << EXTRA_CHUNK},
    .recognise = recognise,
    .compression = compression_name,
    .holds_text = png_metadata_holds,
    .holds_icc = png_icc_is_valid,
    .reader = &png_reader_class,
    .writer = &writer_class,
};
