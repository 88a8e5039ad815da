/* One input to one output: which format, which samples, which pages. */
#include "batch/session.h"

#include "base/clock.h"
#include "batch/provenance.h"
#include "chain/coefficients.h"
#include "chain/execute.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Smaller images are decoded before a thread has started; more than the second is not kept for a device that
 * takes long: a photo of 10 megapixels. */
enum { LARGE_IMAGE = 1 << 20, AHEAD_MOST = 32 << 20 };

struct job {
    struct session *session;
    const char *name; /* of the input, for messages */
    const char *output;
    struct reader *reader;
    struct writer *writer; /* opened with the first page's plan */
    struct writer_options options;
    struct chain chain; /* as it runs on this input */
    bool pyramid;       /* the input is a coefficient file, described by */
    struct coefficients coefficients;
    struct converted *made;
};

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcasecmp(name + length - tail, ending) == 0;
}

/* --format, else the output's name, else the input's format. */
static enum status choose_format(const struct globals *globals, const char *output, enum file_format input,
                                 enum file_format *format, struct error *error)
{
    const char *slash = strrchr(output, '/'), *base = slash ? slash + 1 : output;
    *format = input;
    if (globals->format != FORMAT_OPTION_ABSENT)
        *format = globals->format == FORMAT_OPTION_PNG ? FORMAT_PNG : FORMAT_TIFF;
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
static enum sample_type choose_type(const struct globals *globals, enum sample_type input,
                                    enum file_format format)
{
    enum sample_type type = input;
    if (globals->depth == DEPTH_OPTION_8)
        type = SAMPLE_UINT8;
    else if (globals->depth == DEPTH_OPTION_16)
        type = SAMPLE_UINT16;
    else if (globals->depth == DEPTH_OPTION_FLOAT || input == SAMPLE_HALF)
        type = SAMPLE_FLOAT; /* a half is a float without loss, and climg writes no halves */
    if (format == FORMAT_PNG && type != SAMPLE_UINT8)
        type = SAMPLE_UINT16;
    return type;
}

static enum status check_depth(const struct job *job, struct error *error)
{
    const struct globals *globals = job->session->globals;
    if (chain_output(&job->chain, KIND_IMAGE) == KIND_PYRAMID && globals->depth != DEPTH_OPTION_ABSENT &&
        globals->depth != DEPTH_OPTION_FLOAT)
        return fail(error, STATUS_USAGE,
                    "coefficients are written as float; leave --depth out, or add --mosaic");
    if (job->options.format == FORMAT_PNG && globals->depth == DEPTH_OPTION_FLOAT)
        return fail(error, STATUS_USAGE, "--depth float needs TIFF output; PNG holds 8 and 16 bit");
    if (job->pyramid && globals->linear && !job->coefficients.linear)
        return fail(error, STATUS_FAILED, "was not transformed in linear light; leave --linear out");
    return STATUS_OK;
}

static enum status check_pages(const struct job *job, struct error *error)
{
    int pages = reader_page_count(job->reader);
    if (job->pyramid)
        return STATUS_OK;
    if (reader_info(job->reader)->type == SAMPLE_COMPLEX)
        return fail(error, STATUS_FAILED, "holds complex numbers, not an image");
    if (job->session->globals->page > 0 || pages == 1)
        return STATUS_OK;
    if (job->options.format == FORMAT_PNG)
        return fail(error, STATUS_FAILED,
                    "has %d pages and a PNG holds one; choose it with --page N, or write a TIFF", pages);
    if (chain_output(&job->chain, KIND_IMAGE) == KIND_PYRAMID)
        return fail(error, STATUS_FAILED,
                    "has %d pages and a coefficient file holds one image; choose it with --page N", pages);
    return STATUS_OK;
}

/* The chain on what the input turned out to be. */
static enum status resolve(struct job *job, struct error *error)
{
    const struct image_info *first = reader_info(job->reader);
    job->pyramid = job->session->globals->page == 0 && coefficients_recognise(first);
    enum status status = job->pyramid ? coefficients_read(first, &job->coefficients, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = chain_resolve(job->session->chain, job->pyramid ? KIND_PYRAMID : KIND_IMAGE,
                               job->options.format == FORMAT_TIFF, &job->chain, error);
    if (status == STATUS_OK)
        status = check_depth(job, error);
    if (status == STATUS_OK)
        status = check_pages(job, error);
    if (status != STATUS_OK)
        error_prefix(error, job->name);
    return status;
}

static struct shape input_shape(const struct job *job, const struct image_info *info)
{
    if (job->pyramid)
        return job->coefficients.shape;
    return (struct shape){.kind = KIND_IMAGE,
                          .width = (int)info->width,
                          .height = (int)info->height,
                          .channels = info->channels,
                          .alpha = info->alpha};
}

/* The power law that the file says its samples follow, 0 for sRGB's curve. An ICC profile is taken for one
 * with sRGB's curve. */
static double transfer_exponent(const struct metadata *metadata)
{
    bool power = metadata->gamma > 0 && !metadata->srgb && !metadata->icc.data;
    return power ? 1 / metadata->gamma : 0;
}

static struct conversion entry(const struct job *job, const struct image_info *in)
{
    /* Without stages colours pass as they are, also those of transparent pixels. */
    bool work = job->chain.count > 0;
    return (struct conversion){.type = in->type,
                               .channels = in->channels,
                               .alpha = in->alpha,
                               .premultiplied = in->premultiplied,
                               .multiply = work,
                               .linear = job->session->globals->linear && work,
                               .exponent = transfer_exponent(&in->metadata)};
}

static struct conversion leave(const struct job *job, const struct conversion *from,
                               const struct image_info *out)
{
    struct conversion to = *from;
    to.type = out->type;
    to.channels = out->channels;
    to.alpha = out->alpha;
    if (job->pyramid) {
        to.multiply = true;
        to.linear = job->coefficients.linear;
        to.exponent = job->coefficients.exponent;
    }
    return to;
}

/* What the output says about itself; its metadata is a copy of its own. */
static enum status describe_output(const struct job *job, const struct image_info *in,
                                   const struct shape *shape, const struct conversion *from,
                                   struct image_info *out, struct error *error)
{
    const struct globals *globals = job->session->globals;
    enum sample_type samples = job->pyramid ? job->coefficients.samples : in->type;
    *out = *in;
    out->width = (uint32_t)shape->width;
    out->height = (uint32_t)shape->height;
    out->channels = shape->channels;
    out->alpha = shape->alpha;
    out->premultiplied = false;
    out->type = choose_type(globals, samples, job->options.format);
    out->page_name = globals->strip || job->pyramid ? NULL : in->page_name;
    struct metadata colour = {.srgb = in->metadata.srgb,
                              .rendering_intent = in->metadata.rendering_intent,
                              .gamma = in->metadata.gamma};
    enum status status = metadata_copy(&out->metadata, globals->strip ? &colour : &in->metadata, error);
    if (status == STATUS_OK && job->pyramid && !globals->strip)
        status = coefficients_restore_description(&out->metadata, error);
    if (status == STATUS_OK && job->session->provenance)
        status = provenance_put(job->session->provenance, &out->metadata, error);
    if (status == STATUS_OK && shape->kind == KIND_PYRAMID) {
        struct coefficients made = {*shape, samples, from->linear, from->exponent};
        made.linear = job->pyramid ? job->coefficients.linear : made.linear;
        made.exponent = job->pyramid ? job->coefficients.exponent : made.exponent;
        status = coefficients_describe(&made, &out->metadata, error);
    }
    return status;
}

/* --verbose: what was decided. */
static void tell(const struct job *job, const struct plan *plan, const struct image_info *out)
{
    const struct globals *globals = job->session->globals;
    const struct shape *in = &plan->shapes[0];
    static const char *const types[] = {"8 bit", "16 bit", "32 bit", "half", "float", "complex"};
    if (!globals->verbose || globals->quiet)
        return;
    fprintf(
        stderr,
        "climg: %s: %s of %dx%d, %d channels%s, %s; to %s, %s of %ux%u, %d channels, %s; on %s, %s memory, "
        "%d rows at once\n",
        job->name, in->kind == KIND_PYRAMID ? "pyramid" : "image", in->width, in->height, in->channels,
        in->alpha ? " with alpha" : "", types[reader_info(job->reader)->type],
        job->options.format == FORMAT_PNG ? "PNG" : "TIFF",
        plan_output(plan)->kind == KIND_PYRAMID ? "pyramid" : "image", out->width, out->height, out->channels,
        types[out->type], job->session->device.name,
        job->session->run.memory == MEMORY_IMAGE ? "image" : "buffer", plan->band);
}

/* The first page's plan says how much will be written: pages of a file are mostly alike. */
static enum status open_writer(struct job *job, const struct plan *plan, struct error *error)
{
    const struct shape *shape = plan_output(plan);
    uint64_t samples = (uint64_t)shape->width * (uint64_t)shape->height * (uint64_t)shape->channels;
    /* A pyramid has two complex numbers a sample (6 / 4 and a quarter of that for each level more). */
    enum sample_type type =
        choose_type(job->session->globals, reader_info(job->reader)->type, job->options.format);
    uint64_t bytes = samples * (shape->kind == KIND_PYRAMID ? 17 : sample_size(type));
    int pages = job->session->globals->page > 0 || job->pyramid ? 1 : reader_page_count(job->reader);
    job->options.expected_bytes = bytes * (uint64_t)pages;
    return writer_open(job->output, &job->options, &job->writer, error);
}

static void note(struct converted *made, const struct shape *in, const struct image_info *out)
{
    made->pixels += (uint64_t)in->width * (uint64_t)in->height;
    if (made->width > 0)
        return;
    made->width = in->width;
    made->height = in->height;
    made->channels = in->channels;
    made->output_width = (int)out->width;
    made->output_height = (int)out->height;
    made->output_channels = out->channels;
}

static enum status run_plan(struct job *job, const struct plan *plan, struct error *error)
{
    struct session *session = job->session;
    const struct image_info *in = reader_info(job->reader);
    struct image_info out;
    struct conversion from = entry(job, in);
    enum status status = describe_output(job, in, plan_output(plan), &from, &out, error);
    if (status != STATUS_OK)
        return status;
    struct page page = {.name = job->name,
                        .run = &session->run,
                        .plan = plan,
                        .from = from,
                        .to = leave(job, &from, &out),
                        .reader = job->reader,
                        .writer = job->writer,
                        .out = &out,
                        .timing = &session->timing};
    tell(job, plan, &out);
    note(job->made, &plan->shapes[0], &out);
    status = execute_page(&page, error);
    metadata_free(&out.metadata);
    return status;
}

static enum status convert_page(struct job *job, struct error *error)
{
    struct session *session = job->session;
    const struct image_info *info = reader_info(job->reader);
    enum sample_type samples = job->pyramid ? job->coefficients.samples : info->type;
    struct shape shape = input_shape(job, info);
    struct plan plan;
    session->run.memory_limit = session->memory_limit;
    session->run.reserved = reader_memory(job->reader);
    enum status status =
        plan_make(&plan, &job->chain, &shape, info->type,
                  choose_type(session->globals, samples, job->options.format), &session->run, error);
    if (status != STATUS_OK) {
        error_prefix(error, job->name);
        return status;
    }
    if (!job->writer)
        status = open_writer(job, &plan, error);
    if (status == STATUS_OK)
        status = run_plan(job, &plan, error);
    plan_free(&plan);
    return status;
}

static enum status convert_pages(struct job *job, struct error *error)
{
    bool more = true;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && more) {
        status = convert_page(job, error);
        if (status == STATUS_OK)
            status = reader_next_page(job->reader, &more, error);
        if (status == STATUS_OK && more && job->pyramid)
            status = fail(error, STATUS_FAILED,
                          "%s: damaged coefficient file: more pages than its description says", job->name);
    }
    double since = clock_seconds();
    if (status == STATUS_OK) {
        status = writer_commit(job->writer, error);
        timing_charge(&job->session->timing, PART_ENCODE, "commit", -1, since);
    }
    return status;
}

/* Opens the input first: what is wrong with it is said without waiting for a driver. */
static enum status open_input(struct job *job, const char *input, struct error *error)
{
    struct session *session = job->session;
    const struct globals *globals = session->globals;
    struct reader_options options = {
        .page = globals->page, .max_pixels = globals->max_pixels, .jobs = session->jobs};
    double since = clock_seconds();
    enum status status = reader_open(input, &options, &job->reader, error);
    timing_charge(&session->timing, PART_DECODE, "open", -1, since);
    job->options.compression = globals->compression;
    job->options.jobs = session->jobs;
    if (status == STATUS_OK)
        status = choose_format(globals, job->output, reader_format(job->reader), &job->options.format, error);
    if (status == STATUS_OK)
        status = resolve(job, error);
    return status;
}

static bool device_is_awaited(void *context)
{
    return session_is_opening(context);
}

/* Drivers take their time to start, and large images to be decoded: that goes side by side. What is wrong
 * with the pixels is still told after what is wrong with the device. */
static void read_ahead(struct job *job)
{
    struct session *session = job->session;
    const struct image_info *info = reader_info(job->reader);
    uint64_t limit = session->memory_limit;
    if (session->open || job->pyramid || reader_is_plain(job->reader) ||
        (uint64_t)row_size(info) * info->height < LARGE_IMAGE)
        return;
    double since = clock_seconds();
    session_begin_open(session);
    reader_read_ahead(job->reader, limit > 0 && limit / 4 < AHEAD_MOST ? (size_t)(limit / 4) : AHEAD_MOST,
                      device_is_awaited, session);
    timing_charge(&session->timing, PART_DECODE, "decode ahead", -1, since);
}

enum status session_convert(struct session *session, const char *input, const char *output,
                            struct converted *made, struct error *error)
{
    struct job job = {.session = session,
                      .name = strcmp(input, "-") == 0 ? "standard input" : input,
                      .output = output,
                      .made = made};
    *made = (struct converted){0};
    enum status status = open_input(&job, input, error);
    if (status == STATUS_OK)
        read_ahead(&job);
    if (status == STATUS_OK)
        status = session_open(session, error);
    if (status == STATUS_OK)
        status = convert_pages(&job, error);
    if (status != STATUS_OK)
        profile_discard(&session->profile);
    if (session->open)
        run_trim(&session->run);
    writer_close(job.writer);
    reader_close(job.reader);
    chain_free(&job.chain);
    return status;
}
