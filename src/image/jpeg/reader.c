#include "image/jpeg/jpeg.h"

#include "base/text.h"
#include "base/threads.h"

#include <stdlib.h>

struct jpeg_reader {
    struct reader base; /* must be first */
    struct jpeg_session session;
    struct jpeg_segments segments;
    struct jpeg_decoder *decoder; /* NULL: one thread decodes */
    int jobs;                     /* threads that decode */
    bool begun;
};

static enum status check_colours(const struct jpeg_decompress_struct *in, struct error *error)
{
    switch (in->jpeg_color_space) {
    case JCS_GRAYSCALE:
    case JCS_RGB:
    case JCS_YCbCr:
        return STATUS_OK;
    case JCS_CMYK:
    case JCS_YCCK:
        return fail(
            error, STATUS_FAILED,
            "is a JPEG of CMYK, which needs colour management; convert it first, as with ImageMagick: "
            "convert IN.jpg -colorspace sRGB OUT.jpg");
    default:
        return fail(error, STATUS_FAILED, "a kind of JPEG that is not supported: %d channels",
                    in->num_components);
    }
}

/* For a file of several scans libjpeg holds all coefficients, of 16 bit, in whole units of the largest
 * sampling. */
static uint64_t count_coefficients(const struct jpeg_decompress_struct *in)
{
    uint64_t bytes = 0;
    for (int i = 0; i < in->num_components; i++) {
        const jpeg_component_info *part = &in->comp_info[i];
        const uint64_t across = (uint64_t)part->width_in_blocks + (uint64_t)part->h_samp_factor;
        const uint64_t down = (uint64_t)part->height_in_blocks + (uint64_t)part->v_samp_factor;
        bytes += across * down * DCTSIZE2 * sizeof(JCOEF);
    }
    return bytes;
}

static void describe(struct jpeg_reader *reader)
{
    struct jpeg_decompress_struct *in = &reader->session.jpeg.in;
    struct image_info *info = &reader->base.info;
    info->channels = in->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
    info->type = SAMPLE_UINT8;
    info->quality = jpeg_quality_estimate(in);
    info->subsampling = jpeg_subsampling_of(in);
    in->out_color_space = info->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (jpeg_has_multiple_scans(in))
        reader->base.memory = count_coefficients(in);
    else if (reader->jobs > 1)
        reader->base.memory = jpeg_decoder_memory(in, reader->jobs, reader->base.options.memory);
}

/* Several threads if the file's coding allows it. */
static void choose_jobs(struct jpeg_reader *reader)
{
    const int wanted = reader->base.options.jobs > 0 ? reader->base.options.jobs : workers_available();
    reader->jobs = jpeg_decoder_fits(&reader->session.jpeg.in) ? wanted : 1;
}

static enum status read_header(void *context, struct error *error)
{
    struct jpeg_reader *reader = context;
    struct jpeg_decompress_struct *in = &reader->session.jpeg.in;
    struct image_info *info = &reader->base.info;
    reader->segments.metadata = &info->metadata;
    jpeg_segments_expect(&reader->session, &reader->segments);
    jpeg_read_header(in, TRUE);
    reader->session.in_header = false;
    info->width = in->image_width;
    info->height = in->image_height;
    enum status status = check_image_size(info->width, info->height, reader->base.options.max_pixels, error);
    if (status == STATUS_OK)
        status = check_colours(in, error);
    if (status != STATUS_OK)
        return status;
    choose_jobs(reader);
    describe(reader);
    return jpeg_segments_take(&reader->session, &reader->segments, error);
}

static enum status open_reader(struct reader *base, struct error *error)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    enum status status =
        jpeg_session_open_read(&reader->session, base->head, base->head_size, base->file, error);
    return status == STATUS_OK ? jpeg_session_run(&reader->session, read_header, reader, error) : status;
}

struct rows {
    struct jpeg_reader *reader;
    unsigned char *data;
    size_t pitch;
    uint32_t count;
};

/* A file of several scans may lack the last ones: then no row is right. Behind the last row the end of the
 * file is checked. */
static enum status read_rows(void *context, struct error *error)
{
    const struct rows *rows = context;
    const struct jpeg_session *session = &rows->reader->session;
    struct jpeg_decompress_struct *in = &rows->reader->session.jpeg.in;
    if (!rows->reader->begun)
        jpeg_start_decompress(in);
    if (jpeg_has_multiple_scans(in) && session->ended)
        return jpeg_session_check_end(session, error);
    for (uint32_t i = 0; i < rows->count; i++) {
        JSAMPROW row = rows->data + i * rows->pitch;
        jpeg_read_scanlines(in, &row, 1);
    }
    if (in->output_scanline < in->output_height)
        return STATUS_OK;
    jpeg_finish_decompress(in);
    return jpeg_session_check_end(session, error);
}

static enum status read_some(struct reader *base, void *data, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    struct rows rows = {reader, data, pitch, count};
    enum status status = STATUS_OK;
    if (!reader->begun && reader->jobs > 1) {
        reader->decoder = jpeg_decoder_open(&reader->session, reader->jobs, base->options.memory, error);
        if (reader->decoder == NULL)
            return STATUS_FAILED;
    }
    if (reader->decoder != NULL)
        status = jpeg_decoder_read(reader->decoder, data, pitch, count, error);
    else
        status = jpeg_session_run(&reader->session, read_rows, &rows, error);
    reader->begun = true;
    const uint32_t whole = reader->decoder != NULL ? jpeg_decoder_whole(reader->decoder)
                                                   : reader->session.jpeg.in.output_scanline;
    if (status != STATUS_OK && !error->memory)
        text_append(error->text, sizeof error->text, "; of its %u rows the first %u are whole",
                    (unsigned)base->info.height, (unsigned)whole);
    return status;
}

static void close_reader(struct reader *base)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    jpeg_decoder_close(reader->decoder);
    jpeg_segments_close(&reader->segments);
    jpeg_session_close(&reader->session);
}

const struct reader_class jpeg_reader_class = {
    .size = sizeof(struct jpeg_reader),
    .open = open_reader,
    .read = read_some,
    .close = close_reader,
};
