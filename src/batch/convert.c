/* One input to one output: which format, which samples, which pages. */
#include "batch/session.h"

#include "chain/execute.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct conversion_job {
    struct session *session;
    const char *name; /* of the input, for messages */
    struct reader *reader;
    struct writer *writer;
    struct writer_options options;
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

static enum status check_pages(const struct conversion_job *job, struct error *error)
{
    int pages = reader_page_count(job->reader);
    if (job->options.format == FORMAT_PNG && job->session->globals->page == 0 && pages > 1)
        return fail(error, STATUS_FAILED,
                    "has %d pages and a PNG holds one; choose it with --page N, or write a TIFF", pages);
    if (job->options.format == FORMAT_PNG && job->session->globals->depth == DEPTH_OPTION_FLOAT)
        return fail(error, STATUS_USAGE, "--depth float needs TIFF output; PNG holds 8 and 16 bit");
    if (reader_info(job->reader)->type == SAMPLE_COMPLEX)
        return fail(error, STATUS_FAILED, "holds complex numbers, not an image");
    return STATUS_OK;
}

static struct shape image_shape(const struct image_info *info)
{
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

static void set_conversions(struct page *page, const struct conversion_job *job, const struct image_info *in,
                            const struct image_info *out)
{
    /* Without stages colours pass as they are, also those of transparent pixels. */
    bool multiply = job->session->chain->count > 0;
    struct conversion from = {.type = in->type,
                              .channels = in->channels,
                              .alpha = in->alpha,
                              .premultiplied = in->premultiplied,
                              .multiply = multiply,
                              .linear = job->session->globals->linear && multiply,
                              .exponent = transfer_exponent(&in->metadata)};
    page->from = from;
    page->to = from;
    page->to.type = out->type;
    page->to.channels = out->channels;
    page->to.alpha = out->alpha;
}

static struct image_info output_info(const struct conversion_job *job, const struct image_info *in,
                                     const struct shape *shape)
{
    struct image_info out = *in; /* borrows the metadata */
    out.width = (uint32_t)shape->width;
    out.height = (uint32_t)shape->height;
    out.channels = shape->channels;
    out.alpha = shape->alpha;
    out.premultiplied = false;
    out.type = choose_type(job->session->globals, in->type, job->options.format);
    if (job->session->globals->strip) {
        out.page_name = NULL;
        out.metadata = (struct metadata){.srgb = in->metadata.srgb,
                                         .rendering_intent = in->metadata.rendering_intent,
                                         .gamma = in->metadata.gamma};
    }
    return out;
}

/* --verbose: what was decided. */
static void tell(const struct conversion_job *job, const struct plan *plan, const struct image_info *out)
{
    const struct globals *globals = job->session->globals;
    const struct shape *in = &plan->shapes[0];
    static const char *const types[] = {"8 bit", "16 bit", "32 bit", "half", "float", "complex"};
    if (!globals->verbose || globals->quiet)
        return;
    fprintf(stderr,
            "climg: %s: %dx%d, %d channels%s, %s; to %s %ux%u, %d channels, %s; on %s, %s memory, %d rows at "
            "once\n",
            job->name, in->width, in->height, in->channels, in->alpha ? " with alpha" : "",
            types[reader_info(job->reader)->type], job->options.format == FORMAT_PNG ? "PNG" : "TIFF",
            out->width, out->height, out->channels, types[out->type], job->session->device.name,
            job->session->run.memory == MEMORY_IMAGE ? "image" : "buffer", plan->band);
}

static enum status convert_page(const struct conversion_job *job, struct error *error)
{
    struct session *session = job->session;
    const struct image_info *in = reader_info(job->reader);
    struct shape shape = image_shape(in);
    struct plan plan;
    enum status status = plan_make(&plan, session->chain, &shape, &session->run, error);
    if (status != STATUS_OK) {
        error_prefix(error, job->name);
        return status;
    }
    struct image_info out = output_info(job, in, plan_output(&plan));
    struct page page = {.name = job->name,
                        .run = &session->run,
                        .plan = &plan,
                        .reader = job->reader,
                        .writer = job->writer,
                        .timing = &session->timing};
    set_conversions(&page, job, in, &out);
    tell(job, &plan, &out);
    enum phase before = timing_enter(&session->timing, PHASE_ENCODE);
    status = writer_begin_page(job->writer, &out, error);
    timing_enter(&session->timing, before);
    if (status == STATUS_OK)
        status = execute_page(&page, error);
    timing_enter(&session->timing, PHASE_ENCODE);
    if (status == STATUS_OK)
        status = writer_end_page(job->writer, error);
    timing_enter(&session->timing, before);
    plan_free(&plan);
    return status;
}

static enum status convert_pages(const struct conversion_job *job, struct error *error)
{
    struct timing *timing = &job->session->timing;
    bool more = true;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && more) {
        status = convert_page(job, error);
        enum phase before = timing_enter(timing, PHASE_DECODE);
        if (status == STATUS_OK)
            status = reader_next_page(job->reader, &more, error);
        timing_enter(timing, before);
    }
    timing_enter(timing, PHASE_ENCODE);
    if (status == STATUS_OK)
        status = writer_commit(job->writer, error);
    timing_enter(timing, PHASE_OTHER);
    return status;
}

/* Opens the input first: what is wrong with it is said without waiting for a driver. */
static enum status open_all(struct conversion_job *job, const char *input, const char *output,
                            struct error *error)
{
    struct session *session = job->session;
    const struct globals *globals = session->globals;
    struct reader_options options = {.page = globals->page, .max_pixels = globals->max_pixels};
    enum phase before = timing_enter(&session->timing, PHASE_DECODE);
    enum status status = reader_open(input, &options, &job->reader, error);
    timing_enter(&session->timing, before);
    if (status != STATUS_OK)
        return status;
    job->options.compression = globals->compression;
    status = choose_format(globals, output, reader_format(job->reader), &job->options.format, error);
    if (status == STATUS_OK) {
        status = check_pages(job, error);
        if (status != STATUS_OK)
            error_prefix(error, job->name);
    }
    if (status == STATUS_OK)
        status = session_open(session, error);
    return status == STATUS_OK ? writer_open(output, &job->options, &job->writer, error) : status;
}

enum status session_convert(struct session *session, const char *input, const char *output,
                            struct error *error)
{
    struct conversion_job job = {.session = session,
                                 .name = strcmp(input, "-") == 0 ? "standard input" : input};
    enum status status = open_all(&job, input, output, error);
    if (status == STATUS_OK)
        status = convert_pages(&job, error);
    writer_close(job.writer);
    reader_close(job.reader);
    return status;
}
