#include "image/jpeg/jpeg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PART_SIZE = 512 << 10 /* bytes of samples, at least: a thread does not pay for less */ };

struct coded {
    struct part part;
    struct jpeg_session session;
    bool opened;
};

static int factor_across(const struct jpeg_encoder *encoder)
{
    return encoder->channels == 3 && encoder->subsampling != SUBSAMPLING_444 ? 2 : 1;
}

static int factor_down(const struct jpeg_encoder *encoder)
{
    return encoder->channels == 3 && encoder->subsampling == SUBSAMPLING_420 ? 2 : 1;
}

static uint32_t choose_rows(const struct jpeg_encoder *encoder)
{
    const uint32_t least = RESTARTS * DCTSIZE * (uint32_t)factor_down(encoder);
    const uint64_t size = (uint64_t)encoder->width * (uint64_t)encoder->channels * least;
    return size >= PART_SIZE ? least : least * (uint32_t)((PART_SIZE - 1) / size + 1);
}

/* Its samples, and room for what becomes of them. */
static uint64_t part_memory(const struct jpeg_encoder *encoder)
{
    const uint64_t size = (uint64_t)encoder->width * (uint64_t)encoder->channels * choose_rows(encoder);
    return size + size / 2;
}

static void set_parameters(struct jpeg_compress_struct *out, const struct jpeg_encoder *encoder,
                           uint32_t rows)
{
    out->image_width = encoder->width;
    out->image_height = rows;
    out->input_components = encoder->channels;
    out->in_color_space = encoder->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(out);
    jpeg_set_quality(out, encoder->quality, TRUE);
    out->comp_info[0].h_samp_factor = factor_across(encoder);
    out->comp_info[0].v_samp_factor = factor_down(encoder);
    out->restart_in_rows = 1;
    out->write_JFIF_header = FALSE;
}

static enum status encode(void *context, struct error *error)
{
    (void)error;
    struct coded *coded = context;
    const struct part *part = &coded->part;
    struct jpeg_compress_struct *out = &coded->session.jpeg.out;
    set_parameters(out, part->options->context, part->count);
    jpeg_start_compress(out, TRUE);
    for (uint32_t i = 0; i < part->count; i++) {
        JSAMPROW row = part->rows + i * part->options->row_size;
        jpeg_write_scanlines(out, &row, 1);
    }
    jpeg_finish_compress(out);
    return STATUS_OK;
}

static enum status encode_part(struct part *part, struct error *error)
{
    struct coded *coded = (struct coded *)part;
    enum status status = STATUS_OK;
    if (!coded->opened)
        status = jpeg_session_open_write(&coded->session, error);
    coded->opened = true;
    return status == STATUS_OK ? jpeg_session_run(&coded->session, encode, coded, error) : status;
}

static void close_part(struct part *part)
{
    struct coded *coded = (struct coded *)part;
    if (coded->opened)
        jpeg_session_close(&coded->session);
}

/* Returns where the samples begin, behind the tables. Replaces the part's height by the picture's. */
static size_t find_samples(unsigned char *file, uint32_t height)
{
    size_t at = 2;
    while (file[at + 1] != MARKER_SOS) {
        if (file[at + 1] == MARKER_SOF0) {
            file[at + 5] = (unsigned char)(height >> 8);
            file[at + 6] = (unsigned char)height;
        }
        at += 2 + ((size_t)file[at + 2] << 8 | file[at + 3]);
    }
    return at + 2 + ((size_t)file[at + 2] << 8 | file[at + 3]);
}

/* Only the first part is written with its tables, and only the last one with its end. The other ends become
 * restart markers. */
static enum status emit(void *context, struct part *part, struct error *error)
{
    const struct jpeg_encoder *encoder = context;
    const struct jpeg_session *session = &((struct coded *)part)->session;
    unsigned char *made = session->buffer;
    const size_t samples = find_samples(made, encoder->height), start = part->first ? 2 : samples;
    const size_t size = session->size - start;
    made[session->size - 1] = part->last ? MARKER_EOI : MARKER_RST7;
    return fwrite(made + start, 1, size, encoder->file) == size ? STATUS_OK : fail_writing(error, errno);
}

/* On white, as on paper. */
static void flatten(const void *context, const void *pixels, unsigned char *to)
{
    const struct jpeg_encoder *encoder = context;
    const int colours = encoder->channels;
    const unsigned full = UINT8_MAX;
    const unsigned char *row = pixels;
    for (uint32_t x = 0; x < encoder->width; x++, row += colours + 1, to += colours)
        for (int c = 0; c < colours; c++)
            to[c] = (unsigned char)((row[c] * row[colours] + full * (full - row[colours]) + full / 2) / full);
}

static struct parts_options parts_of(const struct jpeg_encoder *encoder)
{
    return (struct parts_options){
        .row_size = (size_t)encoder->width * (size_t)encoder->channels,
        .height = encoder->height,
        .part_rows = choose_rows(encoder),
        .part_size = sizeof(struct coded),
        .part_memory = part_memory(encoder),
        .memory = encoder->memory,
        .jobs = encoder->jobs,
        .copy = encoder->alpha ? flatten : NULL,
        .encode = encode_part,
        .emit = emit,
        .close = close_part,
    };
}

uint64_t jpeg_encoder_memory(const struct jpeg_encoder *encoder)
{
    const struct parts_options options = parts_of(encoder);
    return parts_memory(&options);
}

struct parts *jpeg_encoder_open(struct jpeg_encoder *encoder, struct error *error)
{
    struct parts_options options = parts_of(encoder);
    options.context = encoder;
    return parts_open(&options, error);
}
