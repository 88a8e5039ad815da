/* Reads JPEGs with libjpeg.
 *
 *     file ─▶ session ─▶ header ─▶ segments (metadata)
 *                     ─▶ Huffman decoding, inverse DCT, upsampling, RGB ─▶ rows of the caller
 *                     ─▶ end marker ─▶ bytes after it: further pictures, videos
 *
 * Rows are decoded into the caller's memory. A picture that will be made smaller can be decoded at 1/2, 1/4
 * or 1/8 of its size; most of the time is then Huffman decoding. Files of several scans (all progressive
 * ones) need all of their coefficients in memory before the first row: reader.memory counts them. Damage that
 * costs a pixel is an error (session.c). Further pictures and videos are left out with a warning.
 *
 * Tried and lost: decoding between restart markers on several threads. Hardly any files but climg's own had
 * such markers. */
#include "image/jpeg/jpeg.h"

#include "base/text.h"

#include <jerror.h>
#include <string.h>
#include <sys/stat.h>

/* Step of jpeg_session_run: reads the header, describes the picture and computes the memory for decoding. */
static enum status jpeg_parse_header(void *context, struct error *error)
{
    static const char *const subsamplings[] = {[SUBSAMPLING_UNKNOWN] = "",
                                               [SUBSAMPLING_444] = ", 4:4:4",
                                               [SUBSAMPLING_422] = ", 4:2:2",
                                               [SUBSAMPLING_420] = ", 4:2:0"};
    struct jpeg_reader *reader = context;
    struct jpeg_decompress_struct *in = &reader->session.jpeg.in;
    struct image_info *info = &reader->base.info;
    reader->segments.metadata = &info->metadata;
    jpeg_segments_register(&reader->session, &reader->segments);
    jpeg_read_header(in, TRUE);

    info->width = in->image_width;
    info->height = in->image_height;
    if (check_image_size(info->width, info->height, reader->base.options.max_pixels, error) != STATUS_OK)
        return STATUS_FAILED;
    switch (in->jpeg_color_space) {
    case JCS_GRAYSCALE:
    case JCS_RGB:
    case JCS_YCbCr:
        break;
    case JCS_CMYK:
    case JCS_YCCK:
        info->colour_model = in->saw_Adobe_marker ? COLOUR_MODEL_CMYK_INVERTED : COLOUR_MODEL_CMYK;
        break;
    default:
        return fail(error, STATUS_FAILED, "a kind of JPEG that is not supported: %d channels",
                    in->num_components);
    }
    info->channels = in->jpeg_color_space == JCS_GRAYSCALE    ? 1
                     : info->colour_model != COLOUR_MODEL_RGB ? 4
                                                              : 3;
    info->type = SAMPLE_UINT8;
    info->quality = jpeg_quality_estimate(in, 0, 0);
    info->colour_quality =
        in->jpeg_color_space == JCS_YCbCr ? jpeg_quality_estimate(in, 1, info->quality) : info->quality;
    info->subsampling = jpeg_subsampling_of(in);
    snprintf(info->coding, sizeof info->coding, "quality %d", info->quality);
    if (info->colour_quality != info->quality)
        text_append(info->coding, sizeof info->coding, ", of colour %d", info->colour_quality);
    text_append(info->coding, sizeof info->coding, "%s", subsamplings[info->subsampling]);
    in->out_color_space = info->channels == 1 ? JCS_GRAYSCALE : info->channels == 4 ? JCS_CMYK : JCS_RGB;

    /* All coefficients, each component rounded up to whole MCUs (at most one MCU more). */
    for (int i = 0; jpeg_has_multiple_scans(in) && i < in->num_components; i++) {
        const jpeg_component_info *component = &in->comp_info[i];
        const uint64_t columns = (uint64_t)component->width_in_blocks + (uint64_t)component->h_samp_factor;
        const uint64_t rows = (uint64_t)component->height_in_blocks + (uint64_t)component->v_samp_factor;
        reader->base.memory += columns * rows * DCTSIZE2 * sizeof(JCOEF);
    }
    enum status status = jpeg_segments_finish(&reader->session, &reader->segments, error);
    jpeg_companions_warn(&reader->segments.companions, &info->metadata, &reader->base.unread);
    return status;
}

static enum status jpeg_open_reader(struct reader *base, struct error *error)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    enum status status =
        jpeg_session_open_read(&reader->session, base->head, base->head_size, base->file, error);
    return status == STATUS_OK ? jpeg_session_run(&reader->session, jpeg_parse_header, reader, error)
                               : status;
}

/* Decodes at 1 / factor. libjpeg's reduced inverse DCT returns means of the pixels of a block, at 1/8 only
 * its DC coefficient. Pixels at the right and lower border are means over the padding of the file, too. */
static void jpeg_reduce(struct reader *base, int factor)
{
    struct jpeg_decompress_struct *in = &((struct jpeg_reader *)base)->session.jpeg.in;
    struct image_info *info = &base->info;
    in->scale_num = 1;
    in->scale_denom = (unsigned)factor;
    info->reduction = factor;
    info->full_width = info->width;
    info->full_height = info->height;
    info->width = (info->width - 1) / in->scale_denom + 1;
    info->height = (info->height - 1) / in->scale_denom + 1;
}

struct row_request {
    struct jpeg_reader *reader;
    unsigned char *data; /* of the first row */
    size_t pitch;        /* bytes from row to row */
    uint32_t count;      /* rows */
};

/* Step of jpeg_session_run: decodes rows. */
static enum status jpeg_read_rows(void *context, struct error *error)
{
    const struct row_request *request = context;
    struct jpeg_session *session = &request->reader->session;
    struct jpeg_decompress_struct *in = &session->jpeg.in;
    if (in->output_scanline == 0)
        jpeg_start_decompress(in); /* reads all scans if there are several */
    /* A file that ended too early may lack the last scans. Then no row is right. */
    if (jpeg_has_multiple_scans(in) && session->file_ended) {
        session->has_all_pixels = jpeg_session_has_all_scans(session);
        if (!session->has_all_pixels)
            return jpeg_session_check_end(session, error);
    }
    for (uint32_t i = 0; i < request->count; i++) {
        JSAMPROW row = request->data + i * request->pitch;
        jpeg_read_scanlines(in, &row, 1);
    }
    return STATUS_OK;
}

/* Step of jpeg_session_run: reads to the end marker. */
static enum status read_end_marker(void *context, struct error *error)
{
    struct jpeg_reader *reader = context;
    (void)error;
    jpeg_finish_decompress(&reader->session.jpeg.in);
    return STATUS_OK;
}

/* Reads the end marker after the last row. Pictures of some cameras, panoramas and interrupted downloads lack
 * it, or have other data in its place. All pixels were decoded, so that is a warning. If the marker is there,
 * but after bytes that are not zero, these may be pixels that were not decoded: an error. */
static enum status check_end_marker(struct jpeg_reader *reader, struct error *error)
{
    struct jpeg_session *session = &reader->session;
    session->has_all_pixels = true;
    enum status status = jpeg_session_run(session, read_end_marker, reader, error);
    /* libjpeg's last message is the one that failed. */
    const bool is_stray_data = session->errors.msg_code == JWRN_EXTRANEOUS_DATA;
    if (status != STATUS_OK && (error->is_out_of_memory || is_stray_data || ferror(reader->base.file)))
        return status;
    /* All other failures mean that other data are in place of the marker. */
    session->lacks_end_marker = session->lacks_end_marker || status != STATUS_OK;
    jpeg_session_warn_missing_end(session, &reader->base.trailing);
    return STATUS_OK;
}

/* Reads rows. The message of a failure ends with the number of decoded rows. */
static enum status jpeg_read(struct reader *base, void *data, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    struct row_request request = {reader, data, pitch, count};
    const struct jpeg_decompress_struct *in = &reader->session.jpeg.in;
    enum status status = jpeg_session_run(&reader->session, jpeg_read_rows, &request, error);
    if (status == STATUS_OK && in->output_scanline == in->output_height)
        status = check_end_marker(reader, error);
    const unsigned decoded = in->output_scanline * in->scale_denom, height = in->image_height;
    if (status != STATUS_OK && !error->is_out_of_memory)
        text_append(error->text, sizeof error->text, "; decoded %u of %u rows",
                    decoded < height ? decoded : height, height);
    return status;
}

void jpeg_check_companions(struct jpeg_session *session, struct jpeg_reader *reader)
{
    FILE *const opened = reader->base.file;
    struct stat file;
    if (!session->has_all_pixels || session->file_ended || session->lacks_end_marker)
        return;
    const size_t have = session->source.bytes_in_buffer;
    size_t more = 0;
    memmove(session->buffer, session->source.next_input_byte, have);
    if (fstat(fileno(opened), &file) == 0 && S_ISREG(file.st_mode))
        more = fread(session->buffer + have, 1, JPEG_BUFFER_SIZE - have, opened);
    const struct jpeg_companions *announced = &reader->segments.companions; /* the header warned of them */
    struct jpeg_companions found = jpeg_companions_find(session->buffer, have + more);
    /* The header may have an index of further pictures. If it lists none, a JPEG here is only a preview. */
    found.pictures = found.pictures && !announced->has_index;
    if (!announced->gain_map && !announced->video && !announced->pictures)
        jpeg_companions_warn(&found, &reader->base.trailing, &reader->base.unread);
}

static void jpeg_check_trailing_data(struct reader *base)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    jpeg_check_companions(&reader->session, reader);
}

static void jpeg_close_reader(struct reader *base)
{
    struct jpeg_reader *reader = (struct jpeg_reader *)base;
    jpeg_segments_close(&reader->segments);
    jpeg_session_close(&reader->session);
}

const struct reader_class jpeg_reader_class = {
    .size = sizeof(struct jpeg_reader),
    .open = jpeg_open_reader,
    .reduce = jpeg_reduce,
    .read = jpeg_read,
    .check_trailing_data = jpeg_check_trailing_data,
    .close = jpeg_close_reader,
};
