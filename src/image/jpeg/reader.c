/* Reads JPEGs with libjpeg: header and metadata, then rows.
 *
 * libjpeg replaces pixels of damaged data by gray and continues; here every warning that may cost a pixel is
 * an error. What follows the last pixel is looked at for further pictures and videos, which are left out with
 * a warning. Decoding between restart markers on several threads was tried: hardly any files but climg's own
 * have such markers. */
#include "image/jpeg/jpeg.h"

#include "base/text.h"

#include <jerror.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct jpeg_reader {
    struct reader base; /* must be first */
    struct jpeg_session session;
    struct jpeg_segments segments;
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

static void jpeg_describe(struct jpeg_reader *reader)
{
    struct jpeg_decompress_struct *in = &reader->session.jpeg.in;
    struct image_info *info = &reader->base.info;
    info->channels = in->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
    info->type = SAMPLE_UINT8;
    info->quality = jpeg_quality_estimate(in, 0, 0);
    info->colour_quality =
        in->jpeg_color_space == JCS_YCbCr ? jpeg_quality_estimate(in, 1, info->quality) : info->quality;
    info->subsampling = jpeg_subsampling_of(in);
    in->out_color_space = info->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (jpeg_has_multiple_scans(in))
        reader->base.memory = count_coefficients(in);
}

static enum status jpeg_parse_header(void *context, struct error *error)
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
    jpeg_describe(reader);
    return jpeg_segments_take(&reader->session, &reader->segments, error);
}

static enum status open_reader(struct reader *base, struct error *error)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    enum status status =
        jpeg_session_open_read(&reader->session, base->head, base->head_size, base->file, error);
    return status == STATUS_OK ? jpeg_session_run(&reader->session, jpeg_parse_header, reader, error)
                               : status;
}

struct rows {
    struct jpeg_reader *reader;
    unsigned char *data;
    size_t pitch;
    uint32_t count;
};

/* A file of several scans that ends too early may lack the last ones. Then no row is right. */
static enum status jpeg_read_rows(void *context, struct error *error)
{
    const struct rows *rows = context;
    struct jpeg_session *session = &rows->reader->session;
    struct jpeg_decompress_struct *in = &session->jpeg.in;
    if (!rows->reader->begun)
        jpeg_start_decompress(in);
    rows->reader->begun = true;
    if (jpeg_has_multiple_scans(in) && session->ended) {
        session->complete = jpeg_session_has_all_scans(session);
        if (!session->complete)
            return jpeg_session_check_end(session, error);
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        JSAMPROW row = rows->data + i * rows->pitch;
        jpeg_read_scanlines(in, &row, 1);
    }
    return STATUS_OK;
}

static enum status read_end(void *context, struct error *error)
{
    struct jpeg_reader *reader = context;
    (void)error;
    jpeg_finish_decompress(&reader->session.jpeg.in);
    return STATUS_OK;
}

/* Some cameras, panoramas and interrupted downloads lack the end marker, or have other data in its place. All
 * pixels are there: that is a warning. Bytes before an end marker are an error, as they may be pixels. */
static enum status check_end(struct jpeg_reader *reader, struct error *error)
{
    struct jpeg_session *session = &reader->session;
    session->complete = true;
    enum status status = jpeg_session_run(session, read_end, reader, error);
    const bool is_stray_data = session->errors.msg_code == JWRN_EXTRANEOUS_DATA;
    if (status != STATUS_OK && (error->memory || is_stray_data || ferror(reader->base.file)))
        return status;
    session->has_no_end = session->has_no_end || status != STATUS_OK;
    jpeg_session_warn_of_end(session, &reader->base.trailing);
    return STATUS_OK;
}

static enum status read_some(struct reader *base, void *data, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    struct rows rows = {reader, data, pitch, count};
    const struct jpeg_decompress_struct *in = &reader->session.jpeg.in;
    enum status status = jpeg_session_run(&reader->session, jpeg_read_rows, &rows, error);
    if (status == STATUS_OK && in->output_scanline == in->output_height)
        status = check_end(reader, error);
    if (status != STATUS_OK && !error->memory)
        text_append(error->text, sizeof error->text, "; decoded %u of %u rows", (unsigned)in->output_scanline,
                    (unsigned)base->info.height);
    return status;
}

/* Other pictures and videos may follow the first picture. A pipe is not waited for. */
static void check_trailing_data(struct reader *base)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    struct jpeg_session *session = &reader->session;
    struct stat file;
    if (!session->complete || session->ended || session->has_no_end)
        return;
    const size_t have = session->source.bytes_in_buffer;
    size_t more = 0;
    memmove(session->buffer, session->source.next_input_byte, have);
    if (fstat(fileno(base->file), &file) == 0 && S_ISREG(file.st_mode))
        more = fread(session->buffer + have, 1, JPEG_BUFFER_SIZE - have, base->file);
    const struct jpeg_companions *told = &reader->segments.left_out;
    struct jpeg_companions found = jpeg_companions_find(session->buffer, have + more);
    found.pictures = found.pictures && !told->is_known;
    if (!told->gain_map && !told->video && !told->pictures)
        jpeg_companions_warn(&found, &base->trailing);
}

static void close_reader(struct reader *base)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    jpeg_segments_close(&reader->segments);
    jpeg_session_close(&reader->session);
}

const struct reader_class jpeg_reader_class = {
    .size = sizeof(struct jpeg_reader),
    .open = open_reader,
    .read = read_some,
    .check_trailing_data = check_trailing_data,
    .close = close_reader,
};
