/* libpng writes what stands around the pixels; the pixels themselves are compressed by idat.c, as libpng
 * does that on one processor only. */
#include "image/png/idat.h"
#include "image/png/metadata.h"
#include "image/png/png.h"
#include "image/png/session.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

struct png_writer {
    struct writer base;
    struct png_session session;
    struct png_idat *idat;
    uint32_t rows_left;
    char *behind; /* chunks that follow the pixels; NULL: none */
    size_t behind_size;
};

static struct png_encoding choose_encoding(int compression)
{
    /* Codes for bytes and run lengths after a filter give the smallest files of all fast ways for
     * photographs: what the filter leaves has hardly any repetitions that a search could find. A choice of
     * filters makes them up to 7% smaller than Paeth's alone and takes 5 to 10% longer. */
    struct png_encoding stored = {0, Z_DEFAULT_STRATEGY, PNG_ROW_NONE};
    struct png_encoding fast = {1, Z_RLE, PNG_ROW_PAETH};
    struct png_encoding usual = {1, Z_RLE, PNG_ROW_CHOSEN};
    struct png_encoding searched = {compression, Z_FILTERED, PNG_ROW_CHOSEN};
    switch (compression) {
    case COMPRESSION_PRESET_DEFAULT:
        return usual;
    case 0:
        return stored;
    case 1:
        return fast;
    default:
        return searched;
    }
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
    return STATUS_OK;
}

static enum status write_header(void *context, struct error *error)
{
    (void)error;
    struct png_writer *writer = context;
    struct png_session *session = &writer->session;
    png_write_info_before_PLTE(session->png, session->info);
    png_metadata_write_chunks(session, &writer->base.info);
    png_write_info(session->png, session->info);
    return STATUS_OK;
}

struct chunk {
    struct png_session *session;
    const unsigned char *data;
    size_t size;
};

static enum status write_chunk(void *context, struct error *error)
{
    (void)error;
    enum { SIZE_MAX_OF_CHUNK = 1 << 30 }; /* PNG allows nearly twice as much */
    const struct chunk *chunk = context;
    const unsigned char *data = chunk->data;
    for (size_t left = chunk->size; left > 0;) {
        size_t size = left < SIZE_MAX_OF_CHUNK ? left : SIZE_MAX_OF_CHUNK;
        png_write_chunk(chunk->session->png, (png_const_bytep) "IDAT", data, size);
        data += size;
        left -= size;
    }
    return STATUS_OK;
}

static enum status emit(void *context, const unsigned char *data, size_t size, struct error *error)
{
    struct chunk chunk = {context, data, size};
    return png_session_run(chunk.session, write_chunk, &chunk, error);
}

static struct png_idat_options idat_options(const struct writer_options *options,
                                            const struct image_info *info)
{
    return (struct png_idat_options){.encoding = choose_encoding(options->compression),
                                     .row_size = row_size(info),
                                     .pixel_size = pixel_size(info),
                                     .height = info->height,
                                     .swap = BYTE_ORDER == LITTLE_ENDIAN && info->type == SAMPLE_UINT16,
                                     .jobs = options->jobs,
                                     .memory = options->memory};
}

static uint64_t memory(const struct writer_options *options, const struct image_info *info)
{
    struct png_idat_options chosen = idat_options(options, info);
    return png_idat_memory(&chosen);
}

static enum status open_idat(struct png_writer *writer, struct error *error)
{
    struct png_idat_options options = idat_options(&writer->base.options, &writer->base.info);
    options.emit = emit;
    options.context = &writer->session;
    writer->idat = png_idat_open(&options, error);
    return writer->idat == NULL ? STATUS_FAILED : STATUS_OK;
}

static enum status begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base;
    writer->rows_left = info->height;
    enum status status = png_session_run(&writer->session, set_header, writer, error);
    if (status == STATUS_OK)
        status = png_metadata_give(&writer->session, info, error);
    if (status == STATUS_OK)
        status = png_session_run(&writer->session, write_header, writer, error);
    if (status == STATUS_OK)
        status = open_idat(writer, error);
    return status;
}

static enum status write_some(struct writer *base, const void *data, size_t pitch, uint32_t count,
                              struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base;
    if (count > writer->rows_left)
        return fail(error, STATUS_FAILED, "more rows than the header says");
    writer->rows_left -= count;
    return png_idat_write(writer->idat, data, pitch, count, error);
}

enum { BEGINNING_SIZE = 8 + 25 /* signature and IHDR */ };

static enum status give_late(struct png_writer *made, FILE *file, struct error *error)
{
    enum status status = png_session_open_write(&made->session, file, error);
    if (status == STATUS_OK)
        status = png_session_run(&made->session, set_header, made, error);
    if (status == STATUS_OK)
        status = png_metadata_give(&made->session, &made->base.info, error);
    if (status == STATUS_OK)
        status = png_session_run(&made->session, write_header, made, error);
    png_session_close_write(&made->session);
    return status;
}

/* The chunks are those of a PNG in memory that says nothing else. */
static enum status amend(struct writer *base, const struct metadata *late, struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base, made = {.base.info = base->info};
    free(writer->behind);
    writer->behind = NULL;
    FILE *file = open_memstream(&writer->behind, &writer->behind_size);
    if (file == NULL)
        return fail_memory(error, "out of memory for metadata");
    made.base.info.metadata = *late;
    enum status status = give_late(&made, file, error);
    bool written = !ferror(file);
    written = fclose(file) == 0 && written;
    return status == STATUS_OK && !written ? fail_memory(error, "out of memory for metadata") : status;
}

static enum status write_behind(const struct png_writer *writer, struct error *error)
{
    const size_t size = writer->behind_size - BEGINNING_SIZE;
    if (writer->behind == NULL ||
        fwrite(writer->behind + BEGINNING_SIZE, 1, size, writer->base.output.file) == size)
        return STATUS_OK;
    return fail_writing(error, errno);
}

static enum status write_end(void *context, struct error *error)
{
    (void)error;
    struct png_writer *writer = context;
    /* png_write_end would refuse: it did not see the pixels. All else that it writes is in front of them. */
    png_write_chunk(writer->session.png, (png_const_bytep) "IEND", NULL, 0);
    return STATUS_OK;
}

static enum status end_page(struct writer *base, struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base;
    if (writer->rows_left != 0)
        return fail(error, STATUS_FAILED, "the last %u rows are missing", (unsigned)writer->rows_left);
    enum status status = png_idat_finish(writer->idat, error);
    if (status == STATUS_OK)
        status = write_behind(writer, error);
    return status == STATUS_OK ? png_session_run(&writer->session, write_end, writer, error) : status;
}

static enum status open_writer(struct writer *base, struct error *error)
{
    struct png_writer *writer = (struct png_writer *)base;
    return png_session_open_write(&writer->session, base->output.file, error);
}

static void close_writer(struct writer *base)
{
    struct png_writer *writer = (struct png_writer *)base;
    free(writer->behind);
    png_idat_close(writer->idat);
    png_session_close_write(&writer->session);
}

const struct writer_class png_writer_class = {
    .size = sizeof(struct png_writer),
    .memory = memory,
    .seeks = false,
    .open = open_writer,
    .begin_page = begin_page,
    .write = write_some,
    .amend = amend,
    .end_page = end_page,
    .close = close_writer,
};
