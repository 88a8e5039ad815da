#include "batch/converting.h"

#include "base/clock.h"
#include "batch/provenance.h"

#include <string.h>
#include <strings.h>

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcasecmp(name + length - tail, ending) == 0;
}

/* --format, else the output's name, else the input's format. */
static enum status choose_format(const struct settings *settings, const char *output, enum file_format input,
                                 enum file_format *format, struct error *error)
{
    const char *slash = strrchr(output, '/'), *base = slash ? slash + 1 : output;
    *format = input;
    if (settings->format != FORMAT_OPTION_ABSENT)
        *format = settings->format == FORMAT_OPTION_PNG ? FORMAT_PNG : FORMAT_TIFF;
    else if (ends_in(base, ".png"))
        *format = FORMAT_PNG;
    else if (ends_in(base, ".tif") || ends_in(base, ".tiff"))
        *format = FORMAT_TIFF;
    else if (strncmp(output, "/dev/", 5) != 0 && strrchr(base, '.') > base)
        return fail(error, STATUS_USAGE,
                    "%s: climg writes PNG and TIFF; name it .png or .tif, or say which with --format",
                    output);
    return STATUS_OK;
}

/* --depth, else the input's samples, as far as the format holds them. */
static enum sample_type choose_type(const struct settings *settings, enum sample_type input,
                                    enum file_format format)
{
    enum sample_type type = input;
    if (settings->depth == DEPTH_OPTION_8)
        type = SAMPLE_UINT8;
    else if (settings->depth == DEPTH_OPTION_16)
        type = SAMPLE_UINT16;
    else if (settings->depth == DEPTH_OPTION_FLOAT || input == SAMPLE_HALF)
        type = SAMPLE_FLOAT; /* a half is a float without loss, and climg writes no halves */
    if (format == FORMAT_PNG && type != SAMPLE_UINT8)
        type = SAMPLE_UINT16;
    return type;
}

static enum status check_depth(const struct converting *c, struct error *error)
{
    const struct settings *settings = c->session->settings;
    if (chain_output(&c->chain, KIND_IMAGE) == KIND_PYRAMID && settings->depth != DEPTH_OPTION_ABSENT &&
        settings->depth != DEPTH_OPTION_FLOAT)
        return fail(error, STATUS_USAGE,
                    "coefficients are written as float; leave --depth out, or add --mosaic");
    if (c->options.format == FORMAT_PNG && settings->depth == DEPTH_OPTION_FLOAT)
        return fail(error, STATUS_USAGE, "--depth float needs TIFF output; PNG holds 8 and 16 bit");
    if (c->pyramid && settings->linear && !c->coefficients.linear)
        return fail(error, STATUS_FAILED, "was not transformed in linear light; leave --linear out");
    return STATUS_OK;
}

static enum status check_pages(const struct converting *c, struct error *error)
{
    int pages = reader_page_count(c->reader);
    if (c->pyramid)
        return STATUS_OK;
    if (reader_info(c->reader)->type == SAMPLE_COMPLEX)
        return fail(error, STATUS_FAILED, "holds complex numbers, not an image");
    if (c->session->settings->page > 0 || pages == 1)
        return STATUS_OK;
    if (c->options.format == FORMAT_PNG)
        return fail(error, STATUS_FAILED,
                    "has %d pages and a PNG holds one; choose it with --page N, or write a TIFF", pages);
    if (chain_output(&c->chain, KIND_IMAGE) == KIND_PYRAMID)
        return fail(error, STATUS_FAILED,
                    "has %d pages and a coefficient file holds one image; choose it with --page N", pages);
    return STATUS_OK;
}

/* The chain on what the input turned out to be. */
static enum status resolve(struct converting *c, struct error *error)
{
    const struct image_info *first = reader_info(c->reader);
    c->pyramid = c->session->settings->page == 0 && coefficients_recognise(first);
    enum status status = c->pyramid ? coefficients_read(first, &c->coefficients, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = chain_resolve(c->session->chain, c->pyramid ? KIND_PYRAMID : KIND_IMAGE,
                               c->options.format == FORMAT_TIFF, &c->chain, error);
    if (status == STATUS_OK)
        status = check_depth(c, error);
    if (status == STATUS_OK)
        status = check_pages(c, error);
    if (status != STATUS_OK)
        error_prefix(error, c->name);
    return status;
}

struct shape converting_shape(const struct converting *c)
{
    const struct image_info *info = reader_info(c->reader);
    if (c->pyramid)
        return c->coefficients.shape;
    return (struct shape){.kind = KIND_IMAGE,
                          .width = (int)info->width,
                          .height = (int)info->height,
                          .channels = info->channels,
                          .images = 1,
                          .alpha = info->alpha};
}

/* The power law that the file says its samples follow, 0 for sRGB's curve. An ICC profile is taken for one
 * with sRGB's curve. */
static double transfer_exponent(const struct metadata *metadata)
{
    bool power = metadata->gamma > 0 && !metadata->srgb && !metadata->icc.data;
    return power ? 1 / metadata->gamma : 0;
}

struct conversion converting_entry(const struct converting *c)
{
    const struct image_info *in = reader_info(c->reader);
    /* Without stages colours pass as they are, also those of transparent pixels. */
    bool work = c->chain.count > 0;
    return (struct conversion){.type = in->type,
                               .channels = in->channels,
                               .alpha = in->alpha,
                               .premultiplied = in->premultiplied,
                               .multiply = work,
                               .linear = c->session->settings->linear && work,
                               .exponent = transfer_exponent(&in->metadata)};
}

static struct conversion leave(const struct converting *c, const struct conversion *from,
                               const struct image_info *out)
{
    struct conversion to = *from;
    to.type = out->type;
    to.channels = out->channels;
    to.alpha = out->alpha;
    if (c->pyramid) {
        to.multiply = true;
        to.linear = c->coefficients.linear;
        to.exponent = c->coefficients.exponent;
    }
    return to;
}

static enum sample_type input_samples(const struct converting *c)
{
    return c->pyramid ? c->coefficients.samples : reader_info(c->reader)->type;
}

enum sample_type converting_output_type(const struct converting *c)
{
    return choose_type(c->session->settings, input_samples(c), c->options.format);
}

static enum status describe_metadata(const struct converting *c, const struct shape *shape,
                                     struct description *description, struct error *error)
{
    const struct image_info *in = reader_info(c->reader);
    const struct metadata colour = {.srgb = in->metadata.srgb,
                                    .rendering_intent = in->metadata.rendering_intent,
                                    .gamma = in->metadata.gamma};
    struct metadata *metadata = &description->out.metadata;
    bool strip = c->session->settings->strip;
    enum status status = metadata_copy(metadata, strip ? &colour : &in->metadata, error);
    if (status == STATUS_OK && c->pyramid && !strip)
        status = coefficients_restore_description(metadata, error);
    if (status == STATUS_OK && c->session->provenance)
        status = provenance_put(c->session->provenance, metadata, error);
    if (status == STATUS_OK && shape->kind == KIND_PYRAMID) {
        const struct conversion *from = &description->from;
        struct coefficients made = {*shape, input_samples(c), from->linear, from->exponent};
        made.linear = c->pyramid ? c->coefficients.linear : made.linear;
        made.exponent = c->pyramid ? c->coefficients.exponent : made.exponent;
        status = coefficients_describe(&made, metadata, error);
    }
    if (status != STATUS_OK)
        metadata_free(metadata);
    return status;
}

enum status converting_describe(const struct converting *c, const struct shape *shape,
                                struct description *description, struct error *error)
{
    const struct image_info *in = reader_info(c->reader);
    struct image_info *out = &description->out;
    description->from = converting_entry(c);
    *out = *in;
    out->width = (uint32_t)shape->width;
    out->height = (uint32_t)shape->height;
    out->channels = shape->channels;
    out->alpha = shape->alpha;
    out->premultiplied = false;
    out->type = converting_output_type(c);
    out->page_name = c->session->settings->strip || c->pyramid ? NULL : in->page_name;
    description->to = leave(c, &description->from, out);
    return describe_metadata(c, shape, description, error);
}

static void tell(const struct converting *c, const struct plan *plan, const struct description *description)
{
    static const char *const types[] = {"8 bit", "16 bit", "32 bit", "half", "float", "complex"};
    const struct shape *in = &plan->shapes[0];
    const struct image_info *out = &description->out;
    char stacked[48] = "";
    if (in->images > 1)
        snprintf(stacked, sizeof stacked, ", a group of %d images", in->images);
    fprintf(
        stderr,
        "climg: %s: %s of %dx%d, %d channels%s, %s; to %s, %s of %ux%u, %d channels, %s; on %s, %s memory, "
        "%d rows at once%s\n",
        c->name, in->kind == KIND_PYRAMID ? "pyramid" : "image", in->width, in->height, in->channels,
        in->alpha ? " with alpha" : "", types[description->from.type],
        c->options.format == FORMAT_PNG ? "PNG" : "TIFF",
        plan_output(plan)->kind == KIND_PYRAMID ? "pyramid" : "image", out->width, out->height, out->channels,
        types[out->type], c->session->device.name,
        c->session->run.memory == MEMORY_IMAGE ? "image" : "buffer", plan->slice, stacked);
}

void converting_note(struct converting *c, const struct plan *plan, const struct description *description)
{
    const struct settings *settings = c->session->settings;
    const struct shape *in = &plan->shapes[0];
    struct converted *made = &c->made;
    if (settings->verbose && !settings->quiet)
        tell(c, plan, description);
    made->pixels += (uint64_t)in->width * (uint64_t)in->height;
    if (made->width > 0)
        return;
    made->width = in->width;
    made->height = in->height;
    made->channels = in->channels;
    made->output_width = (int)description->out.width;
    made->output_height = (int)description->out.height;
    made->output_channels = description->out.channels;
}

enum status converting_open_writer(struct converting *c, const struct shape *shape, enum sample_type type,
                                   int pages, struct error *error)
{
    uint64_t samples = (uint64_t)shape->width * (uint64_t)shape->height * (uint64_t)shape->channels;
    /* A pyramid has two complex numbers a sample (6 / 4 and a quarter of that for each level more). */
    uint64_t bytes = samples * (shape->kind == KIND_PYRAMID ? 17 : sample_size(type));
    c->options.expected_bytes = bytes * (uint64_t)pages;
    return writer_open(c->output, &c->options, &c->writer, error);
}

enum status converting_plan(const struct converting *c, int images, struct plan *plan, struct error *error)
{
    struct session *session = c->session;
    const struct image_info *info = reader_info(c->reader);
    struct shape shape = converting_shape(c);
    shape.images = images;
    session->run.memory_limit = session->memory_limit;
    session->run.reserved = reader_memory(c->reader);
    enum status status =
        plan_make(plan, &c->chain, &shape, info->type, converting_output_type(c), &session->run, error);
    if (status != STATUS_OK)
        error_prefix(error, c->name);
    return status;
}

enum status converting_open(struct converting *c, struct session *session, const char *input,
                            const char *output, struct error *error)
{
    const struct settings *settings = session->settings;
    const struct reader_options options = {
        .page = settings->page, .max_pixels = settings->max_pixels, .jobs = session->jobs};
    *c = (struct converting){.session = session,
                             .name = strcmp(input, "-") == 0 ? "standard input" : input,
                             .output = output,
                             .options = {.compression = settings->compression, .jobs = session->jobs}};
    double since = clock_seconds();
    enum status status = reader_open(input, &options, &c->reader, error);
    timing_charge(&session->timing, PART_DECODE, "open", -1, since);
    if (status == STATUS_OK)
        status = choose_format(settings, output, reader_format(c->reader), &c->options.format, error);
    if (status == STATUS_OK)
        status = resolve(c, error);
    return status;
}

void converting_close_input(struct converting *c)
{
    reader_close(c->reader);
    c->reader = NULL;
}

void converting_close(struct converting *c)
{
    writer_close(c->writer);
    c->writer = NULL;
    converting_close_input(c);
    chain_free(&c->chain);
}
