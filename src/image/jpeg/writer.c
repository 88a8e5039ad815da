#include "image/jpeg/jpeg.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- rows to parts
 *
 * Encodes a JPEG in the parts of image/parts.h. A part is encoded like a picture of its own. A restart marker
 * ends each row of units (ITU-T T.81, B.2.4.4 and F.1.1.5.1). What follows a marker does not depend on what
 * is before it, so the encoded parts are simply written one after the other. Markers are numbered from 0 to 7
 * again and again: a part has a multiple of eight rows of units and ends with number 7. */

struct encoder {
    uint32_t width, height;
    int channels;                 /* 1 or 3, without alpha */
    bool alpha;                   /* rows have it: they are blended with white */
    int quality, colour_quality;  /* 1 to 100 */
    enum subsampling subsampling; /* one of the three that say what it is */
    int jobs;                     /* threads */
    uint64_t memory;              /* bytes for all parts, unless one takes more; 0: no limit */
    FILE *file;
};

enum { PART_SIZE = 512 << 10 /* bytes of samples, at least: a thread does not pay for less */ };

struct coded {
    struct part part;
    struct jpeg_session session;
    bool opened;
};

static int factor_across(const struct encoder *encoder)
{
    return encoder->channels == 3 && encoder->subsampling != SUBSAMPLING_444 ? 2 : 1;
}

static int factor_down(const struct encoder *encoder)
{
    return encoder->channels == 3 && encoder->subsampling == SUBSAMPLING_420 ? 2 : 1;
}

static uint32_t choose_rows(const struct encoder *encoder)
{
    const uint32_t least = RESTARTS * DCTSIZE * (uint32_t)factor_down(encoder);
    const uint64_t size = (uint64_t)encoder->width * (uint64_t)encoder->channels * least;
    return size >= PART_SIZE ? least : least * (uint32_t)((PART_SIZE - 1) / size + 1);
}

/* Its samples, and room for what becomes of them. */
static uint64_t part_memory(const struct encoder *encoder)
{
    const uint64_t size = (uint64_t)encoder->width * (uint64_t)encoder->channels * choose_rows(encoder);
    return size + size / 2;
}

static void set_parameters(struct jpeg_compress_struct *out, const struct encoder *encoder, uint32_t rows)
{
    out->image_width = encoder->width;
    out->image_height = rows;
    out->input_components = encoder->channels;
    out->in_color_space = encoder->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(out);
    jpeg_set_quality(out, encoder->colour_quality, TRUE);
    const JQUANT_TBL colour = *out->quant_tbl_ptrs[1];
    jpeg_set_quality(out, encoder->quality, TRUE);
    memcpy(out->quant_tbl_ptrs[1]->quantval, colour.quantval, sizeof colour.quantval);
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
    const struct encoder *encoder = context;
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
    const struct encoder *encoder = context;
    const int colours = encoder->channels;
    const unsigned full = UINT8_MAX;
    const unsigned char *row = pixels;
    for (uint32_t x = 0; x < encoder->width; x++, row += colours + 1, to += colours)
        for (int c = 0; c < colours; c++)
            to[c] = (unsigned char)((row[c] * row[colours] + full * (full - row[colours]) + full / 2) / full);
}

static struct parts_options parts_of(const struct encoder *encoder)
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

enum { QUALITY_DEFAULT = 90 };

/* ---------------------------------------------------------------- quality and subsampling */

/* Returns the sum of the standard table for brightness (0) or colour (1) at that quality, as jpeg_set_quality
 * scales it for baseline files. */
static long sum_at(int quality, int component)
{
    static const unsigned char tables[2][DCTSIZE2] = {
        {16, 11,  10,  16, 24, 40, 51, 61, 12,  12,  14,  19,  26, 58, 60, 55,  14,  13,  16,  24, 40, 57,
         69, 56,  14,  17, 22, 29, 51, 87, 80,  62,  18,  22,  37, 56, 68, 109, 103, 77,  24,  35, 55, 64,
         81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98,  112, 100, 103, 99},
        {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99,
         99, 99, 47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
         99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}};
    const unsigned char *base = tables[component];
    const long scale = jpeg_quality_scaling(quality);
    long sum = 0;
    for (int i = 0; i < DCTSIZE2; i++) {
        const long value = (base[i] * scale + 50) / 100;
        sum += value < 1 ? 1 : value > 255 ? 255 : value;
    }
    return sum;
}

int jpeg_quality_estimate(const struct jpeg_decompress_struct *in, int component, int preferred)
{
    const int number =
        in->comp_info[component].quant_tbl_no; /* as the file has it: libjpeg looks at it later */
    const JQUANT_TBL *table = number >= 0 && number < NUM_QUANT_TBLS ? in->quant_tbl_ptrs[number] : NULL;
    int best = preferred;
    long sum = 0, nearest = LONG_MAX;
    if (table == NULL)
        return 0;
    for (int i = 0; i < DCTSIZE2; i++)
        sum += table->quantval[i];
    if (preferred > 0)
        nearest = labs(sum_at(preferred, component) - sum);
    for (int quality = 1; quality <= 100; quality++) {
        const long far = labs(sum_at(quality, component) - sum);
        if (far < nearest || (far == nearest && preferred == 0)) {
            best = quality;
            nearest = far;
        }
    }
    return best;
}

enum subsampling jpeg_subsampling_of(const struct jpeg_decompress_struct *in)
{
    const jpeg_component_info *part = in->comp_info;
    if (in->num_components != 3 || part[1].h_samp_factor != part[2].h_samp_factor ||
        part[1].v_samp_factor != part[2].v_samp_factor)
        return SUBSAMPLING_UNKNOWN;
    const bool across = part[0].h_samp_factor == 2 * part[1].h_samp_factor;
    const bool down = part[0].v_samp_factor == 2 * part[1].v_samp_factor;
    if (part[0].h_samp_factor == part[1].h_samp_factor && part[0].v_samp_factor == part[1].v_samp_factor)
        return SUBSAMPLING_444;
    if (across && down)
        return SUBSAMPLING_420;
    return across && part[0].v_samp_factor == part[1].v_samp_factor ? SUBSAMPLING_422 : SUBSAMPLING_UNKNOWN;
}

/* Returns the quality that was asked for, or else the input's. */
static int choose_quality(int asked, int input)
{
    return asked > 0 ? asked : input > 0 ? input : QUALITY_DEFAULT;
}

/* What libvips and ImageMagick do where nothing else is known. */
static enum subsampling choose_subsampling(int asked, int quality, const struct image_info *info)
{
    if (asked > SUBSAMPLING_AUTO)
        return (enum subsampling)asked;
    if (info->subsampling > SUBSAMPLING_AUTO)
        return info->subsampling;
    return quality < QUALITY_DEFAULT ? SUBSAMPLING_420 : SUBSAMPLING_444;
}

/* ---------------------------------------------------------------- the writer */

struct jpeg_writer {
    struct writer base; /* must be first */
    struct encoder encoder;
    struct parts *parts; /* takes the rows */
};

static struct encoder encoder_of(const struct writer_options *options, const struct image_info *info)
{
    const int quality = choose_quality(options->quality, info->quality);
    return (struct encoder){
        .width = info->width,
        .height = info->height,
        .channels = info->channels - info->alpha,
        .alpha = info->alpha,
        .quality = quality,
        .colour_quality = choose_quality(options->quality, info->colour_quality),
        .subsampling = choose_subsampling(options->subsampling, quality, info),
        .jobs = options->jobs,
        .memory = options->memory,
    };
}

static uint64_t memory(const struct writer_options *options, const struct image_info *info)
{
    const struct encoder chosen = encoder_of(options, info);
    const struct parts_options parts = parts_of(&chosen);
    return parts_memory(&parts);
}

static enum status begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct jpeg_writer *writer = (struct jpeg_writer *)base;
    if (info->width > JPEG_MAX_DIMENSION || info->height > JPEG_MAX_DIMENSION)
        return fail(error, STATUS_FAILED, "JPEG holds at most %ld pixels along an axis; write PNG or TIFF",
                    (long)JPEG_MAX_DIMENSION);
    enum status status = jpeg_metadata_write(base->output.file, info, true, error);
    if (status != STATUS_OK)
        return status;
    writer->encoder = encoder_of(&base->options, info);
    writer->encoder.file = base->output.file;
    struct parts_options options = parts_of(&writer->encoder);
    options.context = &writer->encoder;
    writer->parts = parts_open(&options, error);
    return writer->parts == NULL ? STATUS_FAILED : STATUS_OK;
}

static enum status write_some(struct writer *base, const void *data, size_t pitch, uint32_t count,
                              struct error *error)
{
    return parts_write(((struct jpeg_writer *)base)->parts, data, pitch, count, error);
}

static enum status end_page(struct writer *base, struct error *error)
{
    return parts_finish(((struct jpeg_writer *)base)->parts, error);
}

static void close_writer(struct writer *base)
{
    parts_close(((struct jpeg_writer *)base)->parts);
}

static const struct writer_class jpeg_writer_class = {
    .memory = memory,
    .size = sizeof(struct jpeg_writer),
    .begin_page = begin_page,
    .write = write_some,
    .end_page = end_page,
    .close = close_writer,
};

/* ---------------------------------------------------------------- the format */

static const char *const extensions[] = {"jpg", "jpeg", "jpe", "jfif", NULL};

static bool recognise(const unsigned char *head, size_t size)
{
    return size >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0;
}

static const char *describe_coding(const struct image_info *info)
{
    static const char *const subsamplings[] = {
        [SUBSAMPLING_444] = ", 4:4:4", [SUBSAMPLING_422] = ", 4:2:2", [SUBSAMPLING_420] = ", 4:2:0"};
    static _Thread_local char text[48];
    const char *subsampling = subsamplings[info->subsampling];
    char colour[24] = "";
    if (info->colour_quality != info->quality)
        snprintf(colour, sizeof colour, ", of colour %d", info->colour_quality);
    snprintf(text, sizeof text, "quality %d%s%s", info->quality, colour,
             subsampling == NULL ? "" : subsampling);
    return text;
}

const struct format format_jpeg = {
    .lossy = true,
    .name = "JPEG",
    .extensions = extensions,
    .holds =
        {.types = 1u << SAMPLE_UINT8, .channels = CHANNELS_ALL, .flat = true, .texts = true, .tags = true},
    .recognise = recognise,
    .compression = describe_coding,
    .holds_text = jpeg_metadata_holds,
    .holds_icc = jpeg_metadata_holds_icc,
    .leave_out = jpeg_metadata_leave_out,
    .turn = jpeg_turn,
    .reader = &jpeg_reader_class,
    .writer = &jpeg_writer_class,
};
