#include "batch/converting.h"

#include "base/clock.h"
#include "batch/naming.h"
#include "batch/provenance.h"
#include "image/format.h"

#include <string.h>

/* --format, else the output's name, else the input's format. */
static enum status choose_format(const struct settings *settings, const char *output,
                                 const struct format *input, const struct format **format,
                                 struct error *error)
{
    const char *base = name_base(output);
    *format = settings->format ? settings->format : format_by_path(output);
    if (*format)
        return STATUS_OK;
    *format = input;
    if (strncmp(output, "/dev/", 5) != 0 && strrchr(base, '.') > base)
        return fail(error, STATUS_USAGE,
                    "%s: climg writes %s; name it after one of them, or say which with --format", output,
                    format_names(NULL, "and").text);
    return STATUS_OK;
}

/* --depth, else the input's samples. */
static enum sample_type wanted_type(const struct settings *settings, enum sample_type input)
{
    switch (settings->depth) {
    case DEPTH_OPTION_8:
        return SAMPLE_UINT8;
    case DEPTH_OPTION_16:
        return SAMPLE_UINT16;
    case DEPTH_OPTION_FLOAT:
        return SAMPLE_FLOAT;
    default:
        return input;
    }
}

static enum status check_depth(const struct converting *c, struct error *error)
{
    const struct settings *settings = c->session->settings;
    if (chain_output(&c->chain, KIND_IMAGE) == KIND_PYRAMID && settings->depth != DEPTH_OPTION_ABSENT &&
        settings->depth != DEPTH_OPTION_FLOAT)
        return fail(error, STATUS_USAGE,
                    "coefficients are written as float; leave --depth out, or add --mosaic");
    const enum sample_type type = wanted_type(settings, SAMPLE_UINT8);
    const struct capacity wanted = {.types = 1u << type};
    if (settings->depth != DEPTH_OPTION_ABSENT && !format_holds(c->options.format, &wanted))
        return fail(error, STATUS_USAGE, "%s does not hold %s samples; leave --depth out, or write %s",
                    c->options.format->name, sample_name(type), format_names(&wanted, "or").text);
    if (c->pyramid && settings->linear && !c->coefficients.linear)
        return fail(error, STATUS_FAILED, "was not transformed in linear light; leave --linear out");
    return STATUS_OK;
}

enum status converting_check_more(const struct converting *c, struct error *error)
{
    const struct capacity wanted = {.pages = true};
    if (c->pyramid)
        return fail(error, STATUS_FAILED, "damaged coefficient file: more pages than its description says");
    if (!format_holds(c->options.format, &wanted))
        return fail(error, STATUS_FAILED,
                    "has several pages and %s holds one; choose it with --page N, or write %s",
                    c->options.format->name, format_names(&wanted, "or").text);
    if (chain_output(&c->chain, KIND_IMAGE) == KIND_PYRAMID)
        return fail(error, STATUS_FAILED,
                    "has several pages and a coefficient file holds one image; choose it with --page N");
    return STATUS_OK;
}

static enum status check_pages(const struct converting *c, struct error *error)
{
    if (c->pyramid)
        return STATUS_OK;
    if (reader_info(c->reader)->type == SAMPLE_COMPLEX)
        return fail(error, STATUS_FAILED, "holds complex numbers, not an image");
    bool several = c->session->settings->page == 0 && reader_page_count(c->reader) > 1;
    return several ? converting_check_more(c, error) : STATUS_OK;
}

/* The chain on what the input turned out to be. */
static enum status resolve(struct converting *c, struct error *error)
{
    const struct image_info *first = reader_info(c->reader);
    c->pyramid = c->session->settings->page == 0 && coefficients_recognise(first);
    enum status status = c->pyramid ? coefficients_read(first, &c->coefficients, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = chain_resolve(c->session->chain, c->pyramid ? KIND_PYRAMID : KIND_IMAGE,
                               format_holds_coefficients(c->options.format), &c->chain, error);
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
    return format_sample_type(c->options.format, wanted_type(c->session->settings, input_samples(c)));
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
        in->alpha ? " with alpha" : "", sample_name(description->from.type), c->options.format->name,
        plan_output(plan)->kind == KIND_PYRAMID ? "pyramid" : "image", out->width, out->height, out->channels,
        sample_name(out->type), c->session->device.name,
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
