#include "image/jpeg/jpeg.h"

#include <stdlib.h>
#include <string.h>

enum { QUALITY_DEFAULT = 90 };

/* ---------------- quality and subsampling */

/* The sum of the standard table for brightness at that quality, as jpeg_set_quality scales it for baseline
 * files. */
static long sum_at(int quality)
{
    static const unsigned char base[DCTSIZE2] = {
        16, 11,  10,  16, 24, 40, 51, 61, 12,  12,  14,  19,  26, 58, 60, 55,  14,  13,  16,  24, 40, 57,
        69, 56,  14,  17, 22, 29, 51, 87, 80,  62,  18,  22,  37, 56, 68, 109, 103, 77,  24,  35, 55, 64,
        81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98,  112, 100, 103, 99};
    const long scale = jpeg_quality_scaling(quality);
    long sum = 0;
    for (int i = 0; i < DCTSIZE2; i++) {
        const long value = (base[i] * scale + 50) / 100;
        sum += value < 1 ? 1 : value > 255 ? 255 : value;
    }
    return sum;
}

int jpeg_quality_estimate(const struct jpeg_decompress_struct *in)
{
    const int number = in->comp_info[0].quant_tbl_no; /* as the file has it: libjpeg looks at it later */
    const JQUANT_TBL *table = number >= 0 && number < NUM_QUANT_TBLS ? in->quant_tbl_ptrs[number] : NULL;
    int best = 0;
    long sum = 0, nearest = 0;
    if (table == NULL)
        return 0;
    for (int i = 0; i < DCTSIZE2; i++)
        sum += table->quantval[i];
    for (int quality = 1; quality <= 100; quality++) {
        const long far = labs(sum_at(quality) - sum);
        if (best == 0 || far <= nearest) {
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

/* What was asked for, else that of the input. */
static int choose_quality(int asked, const struct image_info *info)
{
    return asked > 0 ? asked : info->quality > 0 ? info->quality : QUALITY_DEFAULT;
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

/* ---------------- the writer */

struct jpeg_writer {
    struct writer base; /* must be first */
    struct jpeg_encoder encoder;
    struct parts *parts; /* takes the rows */
};

static struct jpeg_encoder encoder_of(const struct writer_options *options, const struct image_info *info)
{
    const int quality = choose_quality(options->quality, info);
    return (struct jpeg_encoder){
        .width = info->width,
        .height = info->height,
        .channels = info->channels - info->alpha,
        .alpha = info->alpha,
        .quality = quality,
        .subsampling = choose_subsampling(options->subsampling, quality, info),
        .jobs = options->jobs,
        .memory = options->memory,
    };
}

static uint64_t memory(const struct writer_options *options, const struct image_info *info)
{
    const struct jpeg_encoder chosen = encoder_of(options, info);
    return jpeg_encoder_memory(&chosen);
}

static enum status begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct jpeg_writer *writer = (struct jpeg_writer *)base;
    if (info->width > JPEG_MAX_DIMENSION || info->height > JPEG_MAX_DIMENSION)
        return fail(error, STATUS_FAILED, "JPEG holds at most %ld pixels along an axis; write PNG or TIFF",
                    (long)JPEG_MAX_DIMENSION);
    enum status status = jpeg_metadata_write(base->output.file, info, error);
    if (status != STATUS_OK)
        return status;
    writer->encoder = encoder_of(&base->options, info);
    writer->encoder.file = base->output.file;
    writer->parts = jpeg_encoder_open(&writer->encoder, error);
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

/* ---------------- the format */

static const char *const extensions[] = {"jpg", "jpeg", "jpe", "jfif", NULL};

static bool recognise(const unsigned char *head, size_t size)
{
    return size >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0;
}

static const char *describe_coding(const struct image_info *info)
{
    static const char *const subsamplings[] = {
        [SUBSAMPLING_444] = ", 4:4:4", [SUBSAMPLING_422] = ", 4:2:2", [SUBSAMPLING_420] = ", 4:2:0"};
    static _Thread_local char text[32];
    const char *subsampling = subsamplings[info->subsampling];
    snprintf(text, sizeof text, "quality %d%s", info->quality, subsampling == NULL ? "" : subsampling);
    return text;
}

const struct format format_jpeg = {
    .lossy = true,
    .name = "JPEG",
    .extensions = extensions,
    .holds = {.types = 1u << SAMPLE_UINT8,
              .channels = CHANNELS_ALL,
              .flat = true,
              .texts = true,
              .extras = 1u << EXTRA_TAG},
    .recognise = recognise,
    .compression = describe_coding,
    .holds_text = jpeg_metadata_holds,
    .holds_icc = jpeg_metadata_holds_icc,
    .leave_out = jpeg_metadata_leave_out,
    .turn = jpeg_turn,
    .reader = &jpeg_reader_class,
    .writer = &jpeg_writer_class,
};
