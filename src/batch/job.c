#include "batch/job.h"

#include "base/clock.h"
#include "base/text.h"
#include "batch/naming.h"
#include "batch/provenance.h"
#include "image/format.h"
#include "image/metadata/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    if (strncmp(output, "/dev/", 5) == 0 || strrchr(base, '.') <= base)
        return STATUS_OK;
    fail(error, STATUS_USAGE, "climg writes %s; name it after one of them, or say which with --format",
         format_names(NULL, "and").text);
    error_prefix(error, output);
    return STATUS_USAGE;
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

static enum status check_depth(const struct job *job, const struct settings *settings, struct error *error)
{
    if (chain_output(&job->chain, KIND_IMAGE) == KIND_PYRAMID && settings->depth != DEPTH_OPTION_ABSENT &&
        settings->depth != DEPTH_OPTION_FLOAT)
        return fail(error, STATUS_USAGE,
                    "coefficients are written as float; leave --depth out, or add --mosaic");
    const enum sample_type type = wanted_type(settings, SAMPLE_UINT8);
    const struct capacity wanted = {.types = 1u << type};
    if (settings->depth != DEPTH_OPTION_ABSENT && !format_holds(job->format, &wanted))
        return fail(error, STATUS_USAGE, "%s does not hold %s samples; leave --depth out, or write %s",
                    job->format->name, sample_name(type), format_names(&wanted, "or").text);
    if (job->pyramid && settings->linear && !job->pyramid->linear)
        return fail(error, STATUS_FAILED, "was not transformed in linear light; leave --linear out");
    return STATUS_OK;
}

enum status job_check_more(const struct job *job, struct error *error)
{
    const struct capacity wanted = {.pages = true};
    if (job->pyramid)
        return fail(error, STATUS_FAILED, "damaged coefficient file: more pages than its description says");
    if (!format_holds(job->format, &wanted))
        return fail(error, STATUS_FAILED,
                    "has several pages and %s holds one; choose it with --page N, or write %s",
                    job->format->name, format_names(&wanted, "or").text);
    if (chain_output(&job->chain, KIND_IMAGE) == KIND_PYRAMID)
        return fail(error, STATUS_FAILED,
                    "has several pages and a coefficient file holds one image; choose it with --page N");
    return STATUS_OK;
}

static enum status check_pages(const struct job *job, struct error *error)
{
    if (job->pyramid)
        return STATUS_OK;
    if (reader_info(job->reader)->type == SAMPLE_COMPLEX)
        return fail(error, STATUS_FAILED, "holds complex numbers, not an image");
    return reader_pages_wanted(job->reader) > 1 ? job_check_more(job, error) : STATUS_OK;
}

static enum status read_pyramid(struct job *job, const struct settings *settings, struct error *error)
{
    const struct image_info *first = reader_info(job->reader);
    if (settings->pages.first > 0 || !coefficients_recognise(first))
        return STATUS_OK;
    job->pyramid = allocate_zeroed(1, sizeof *job->pyramid, "a pyramid's description", error);
    return job->pyramid ? coefficients_read(first, job->pyramid, error) : STATUS_FAILED;
}

/* What the job is, now that the input's header is known. */
static enum status decide(struct job *job, const struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->settings;
    enum status status =
        choose_format(settings, job->output, reader_format(job->reader), &job->format, error);
    if (status == STATUS_OK)
        status = read_pyramid(job, settings, error);
    if (status == STATUS_OK)
        status = chain_resolve(worker->chain, job->pyramid ? KIND_PYRAMID : KIND_IMAGE,
                               format_holds_coefficients(job->format), &job->chain, error);
    if (status == STATUS_OK)
        status = check_depth(job, settings, error);
    return status == STATUS_OK ? check_pages(job, error) : status;
}

/* The name's folders below the output directory. Others may be making the same at the same time. */
static enum status make_folders(const struct job *job, struct error *error)
{
    const char *last = strrchr(job->name, '/');
    char *folder = last ? copy_text(job->output, error) : NULL;
    if (!folder)
        return last ? STATUS_FAILED : STATUS_OK;
    enum status status = STATUS_OK;
    char *end = strrchr(folder, '/') - (last - job->name);
    for (end = strchr(end, '/'); end && status == STATUS_OK; end = strchr(end + 1, '/')) {
        *end = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
            status = fail(error, STATUS_FAILED, "cannot make the folder: %s", strerror(errno));
            error_prefix(error, folder);
        }
        *end = '/';
    }
    free(folder);
    return status;
}

const char *job_input_name(const struct job *job)
{
    return strcmp(job->input, "-") == 0 ? "standard input" : job->input;
}

enum status job_check(const struct job *job, struct error *error)
{
    if (!job->problem)
        return STATUS_OK;
    fail(error, STATUS_FAILED, "cannot open: %s", strerror(job->problem));
    error_prefix(error, job_input_name(job));
    return STATUS_FAILED;
}

static enum sample_type input_samples(const struct job *job)
{
    return job->pyramid ? job->pyramid->samples : reader_info(job->reader)->type;
}

/* Integers become parts of their full scale before the range is taken. */
static enum status choose_range(struct job *job, const struct settings *settings, struct error *error)
{
    const double unit = sample_full_scale(reader_info(job->reader)->type);
    enum status status = STATUS_OK;
    job->samples = input_samples(job);
    job->low = settings->range.low;
    job->high = settings->range.high;
    if (settings->range.given && job->pyramid)
        return fail(error, STATUS_FAILED, "holds coefficients, which have no range; leave --range out");
    if (settings->range.automatic)
        status = reader_measure(job->reader, &job->low, &job->high, error);
    job->low /= unit;
    job->high /= unit;
    return status;
}

/* Of --memory-limit, for what is decoded ahead, and for what is compressed; 0: no limit. */
static uint64_t share_for_threads(const struct worker *worker)
{
    return worker->memory_limit > 0 ? 1 + worker->memory_limit / 4 : 0;
}

enum status job_open(struct job *job, struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->settings;
    const struct format *named = settings->format ? settings->format : format_by_path(job->output);
    const struct reader_options options = {.page = settings->pages.first,
                                           .last_page = settings->pages.last,
                                           .upright = settings->auto_orient,
                                           .looks_behind = named && !writer_streams(named),
                                           .rewinds = settings->range.automatic,
                                           .max_pixels = settings->max_pixels,
                                           .jobs = worker->jobs,
                                           .memory = share_for_threads(worker),
                                           .spool = settings->environment.spool};
    enum status status = job_check(job, error);
    if (status == STATUS_OK)
        status = make_folders(job, error);
    double since = clock_seconds();
    if (status == STATUS_OK)
        status = reader_open(job->input, &options, &job->reader, error);
    timing_charge(&worker->timing, PART_DECODE, "open", -1, since);
    job->rounded = false;
    if (status == STATUS_OK)
        status = decide(job, worker, error);
    if (status == STATUS_OK)
        status = choose_range(job, settings, error);
    if (status != STATUS_OK)
        job_close(job);
    return status;
}

bool job_is_one_image(const struct job *job)
{
    return job->bytes > 0 && !job->pyramid && reader_pages_wanted(job->reader) == 1;
}

struct shape job_shape(const struct job *job)
{
    const struct image_info *info = reader_info(job->reader);
    if (job->pyramid)
        return job->pyramid->shape;
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

struct conversion job_entry(const struct job *job, const struct worker *worker)
{
    const struct image_info *in = reader_info(job->reader);
    /* Without stages colours pass as they are, also those of transparent pixels. */
    bool work = job->chain.count > 0;
    return (struct conversion){.type = in->type,
                               .channels = in->channels,
                               .alpha = in->alpha,
                               .premultiplied = in->premultiplied,
                               .multiply = work,
                               .linear = worker->settings->linear && work,
                               .ranged = worker->settings->range.given,
                               .low = job->low,
                               .high = job->high,
                               .exponent = transfer_exponent(&in->metadata)};
}

static bool is_float(enum sample_type type)
{
    return type == SAMPLE_HALF || type == SAMPLE_FLOAT;
}

static bool is_signed(enum sample_type type)
{
    return type == SAMPLE_INT8 || type == SAMPLE_INT16 || type == SAMPLE_INT32;
}

/* Whether the input may have values that the output's samples cannot hold, whatever stages make of it. */
static bool may_be_beyond(enum sample_type in, enum sample_type out)
{
    return !is_float(out) && out != SAMPLE_COMPLEX && (is_float(in) || (is_signed(in) && !is_signed(out)));
}

/* Floats that came from floats get the file's own values back. */
static struct conversion leave(const struct job *job, const struct worker *worker,
                               const struct conversion *from, const struct image_info *out)
{
    struct conversion to = *from;
    to.type = out->type;
    to.ranged = from->ranged && is_float(from->type) && is_float(to.type);
    to.counted = may_be_beyond(input_samples(job), to.type) ||
                 (worker->settings->verbose && !is_float(to.type) && to.type != SAMPLE_COMPLEX);
    to.channels = out->channels;
    to.alpha = out->alpha;
    if (job->pyramid) {
        to.multiply = true;
        to.linear = job->pyramid->linear;
        to.exponent = job->pyramid->exponent;
    }
    return to;
}

enum sample_type job_output_type(const struct job *job, const struct worker *worker)
{
    return format_sample_type(job->format, wanted_type(worker->settings, input_samples(job)));
}

static struct writer_options writer_options(const struct job *job, const struct worker *worker)
{
    return (struct writer_options){.format = job->format,
                                   .compression = worker->settings->compression,
                                   .jobs = worker->jobs,
                                   .memory = share_for_threads(worker),
                                   .spool = worker->settings->environment.spool,
                                   .durable = worker->settings->resume};
}

enum status job_plan(const struct job *job, struct worker *worker, int images, struct plan *plan,
                     struct error *error)
{
    struct shape shape = job_shape(job);
    shape.images = images;
    worker->run.reserved = reader_memory(job->reader);
    worker->run.writer = writer_options(job, worker);
    worker->run.compression = reader_info(job->reader)->compression;
    return plan_make(plan, &job->chain, &shape, reader_info(job->reader)->type, job_output_type(job, worker),
                     &worker->run, error);
}

/* What is between the input's metadata and the output's. A coefficient file has that of the image it was made
 * of. */
static struct change change_to(const struct job *job, const struct plan *plan, const struct image_info *out)
{
    double x, y;
    plan_factors(plan, &x, &y);
    const struct image_info *in = reader_info(job->reader);
    const struct shape shape = job_shape(job);
    int pages = job->pyramid ? 1 : reader_page_count(job->reader);
    return (struct change){.in_width = (uint32_t)shape.width,
                           .in_height = (uint32_t)shape.height,
                           .out_width = out->width,
                           .out_height = out->height,
                           .x = x,
                           .y = y,
                           .in_pages = pages,
                           .out_pages = job->pyramid ? 1 : reader_pages_wanted(job->reader),
                           .in_channels = in->channels,
                           .out_channels = out->channels,
                           .in_type = input_samples(job),
                           .out_type = out->type,
                           .worked = job->chain.count > 0,
                           .redrawn = chain_redraws(&job->chain)};
}

struct range_text {
    char text[64];
};

/* "LOW to HIGH", in the file's own numbers. */
static struct range_text range_text(const struct conversion *from)
{
    const double unit = sample_full_scale(from->type);
    struct range_text range;
    snprintf(range.text, sizeof range.text, "%.9g to %.9g", from->low * unit, from->high * unit);
    return range;
}

/* With it the samples can be turned back into what they were. */
static enum status note_range(const struct page *page, struct metadata *metadata, struct error *error)
{
    const struct range_text range = range_text(&page->from);
    if (!page->from.ranged || page->to.ranged)
        return STATUS_OK;
    return metadata_set_text(metadata, "Range", range.text, strlen(range.text), error);
}

static enum status describe_metadata(const struct job *job, const struct worker *worker, struct page *page,
                                     struct error *error)
{
    const struct metadata *in = &reader_info(job->reader)->metadata;
    const struct metadata colour = {
        .srgb = in->srgb, .rendering_intent = in->rendering_intent, .gamma = in->gamma};
    const struct shape *shape = plan_output(page->plan);
    struct metadata *metadata = &page->out.metadata;
    bool strip = worker->settings->strip;
    enum status status = metadata_copy(metadata, strip ? &colour : in, error);
    memcpy(metadata->warning, in->warning, sizeof in->warning);
    if (status == STATUS_OK && job->pyramid && !strip)
        status = coefficients_restore_description(metadata, error);
    const struct change change = change_to(job, page->plan, &page->out);
    if (status == STATUS_OK && shape->kind == KIND_IMAGE)
        status = metadata_follow(metadata, &change, error);
    if (status == STATUS_OK && !strip)
        status = note_range(page, metadata, error);
    format_leave_out(job->format, &page->out);
    if (status == STATUS_OK && worker->provenance)
        status = provenance_put(worker->provenance, metadata, error);
    if (status == STATUS_OK && shape->kind == KIND_PYRAMID) {
        const struct conversion *from = &page->from;
        struct coefficients made = {*shape, input_samples(job), from->linear, from->exponent};
        made.linear = job->pyramid ? job->pyramid->linear : made.linear;
        made.exponent = job->pyramid ? job->pyramid->exponent : made.exponent;
        status = coefficients_describe(&made, metadata, error);
    }
    if (status != STATUS_OK)
        metadata_free(metadata);
    return status;
}

enum status job_describe(const struct job *job, const struct worker *worker, struct page *page,
                         struct error *error)
{
    const struct image_info *in = reader_info(job->reader);
    const struct shape *shape = plan_output(page->plan);
    struct image_info *out = &page->out;
    page->from = job_entry(job, worker);
    page->from.opponent_in = page->plan->opponent_in;
    page->from.opponent_out = page->plan->opponent_out;
    *out = *in;
    out->width = (uint32_t)shape->width;
    out->height = (uint32_t)shape->height;
    out->channels = shape->channels;
    out->alpha = shape->alpha;
    out->premultiplied = false;
    out->type = job_output_type(job, worker);
    out->page_name = worker->settings->strip || job->pyramid ? NULL : in->page_name;
    page->to = leave(job, worker, &page->from, out);
    return describe_metadata(job, worker, page, error);
}

enum status job_open_writer(struct job *job, const struct worker *worker, const struct shape *shape,
                            enum sample_type type, int pages, struct error *error)
{
    uint64_t samples = (uint64_t)shape->width * (uint64_t)shape->height * (uint64_t)shape->channels;
    /* A pyramid has two complex numbers a sample (6 / 4 and a quarter of that for each level more). */
    uint64_t bytes = samples * (shape->kind == KIND_PYRAMID ? 17 : sample_size(type));
    struct writer_options options = writer_options(job, worker);
    options.expected_bytes = bytes * (uint64_t)pages;
    return writer_open(job->output, &options, &job->writer, error);
}

void job_close_input(struct job *job)
{
    job->rounded = job->rounded || (job->reader && reader_rounded(job->reader));
    reader_close(job->reader);
    job->reader = NULL;
}

void job_close(struct job *job)
{
    writer_close(job->writer);
    job->writer = NULL;
    job_close_input(job);
    chain_free(&job->chain);
    free(job->pyramid);
    job->pyramid = NULL;
}

bool job_can_begin_again(const struct job *job)
{
    struct stat there;
    return job->bytes > 0 && strcmp(job->output, "-") != 0 &&
           (stat(job->output, &there) != 0 || S_ISREG(there.st_mode));
}

void job_free(struct job *job)
{
    free(job->name);
    free(job->input);
    free(job->output);
}

static void tell(const struct job *job, const struct worker *worker, const struct page *page)
{
    const struct shape *in = &page->plan->shapes[0];
    const struct image_info *out = &page->out; /* of the input where nothing changes it */
    char group[48] = "";
    if (in->images > 1)
        snprintf(group, sizeof group, ", a group of %d images", in->images);
    fprintf(
        stderr,
        "climg: %s: %s of %dx%d, %d channels%s, %s; to %s, %s of %ux%u, %d channels, %s; on %s, %s memory, "
        "%d rows at once%s\n",
        job_input_name(job), in->kind == KIND_PYRAMID ? "pyramid" : "image", in->width, in->height,
        in->channels, in->alpha ? " with alpha" : "", sample_name(page->from.type), job->format->name,
        plan_output(page->plan)->kind == KIND_PYRAMID ? "pyramid" : "image", out->width, out->height,
        out->channels, sample_name(out->type), worker->device.name,
        worker->run.memory == MEMORY_IMAGE ? "image" : "buffer", page->plan->slice, group);
    if (out->palette || out->bits > 0)
        fprintf(stderr, "climg: %s: %d-bit %s are %s samples from here on\n", job_input_name(job),
                out->bits > 0 ? out->bits : 8, out->palette ? "numbers of a palette's colours" : "samples",
                sample_name(page->from.type));
    if (page->from.ranged)
        fprintf(stderr, "climg: %s: values from %s become 0 to full scale\n", job_input_name(job),
                range_text(&page->from).text);
    if (out->metadata.left_out[0] != '\0')
        fprintf(stderr, "climg: %s: left out: %s\n", job_input_name(job), out->metadata.left_out);
}

/* Of several pages that give the same reason it is told once. */
static void result_warn(struct result *result, const char *text)
{
    if (text[0] != '\0' && strstr(result->warnings, text) == NULL)
        text_append(result->warnings, sizeof result->warnings, "%s%s",
                    result->warnings[0] != '\0' ? "\n" : "", text);
}

void job_note(const struct job *job, const struct worker *worker, const struct page *page,
              struct result *result)
{
    const struct shape *in = &page->plan->shapes[0];
    result_warn(result, page->out.metadata.warning);
    if (worker->settings->verbose && !worker->settings->quiet)
        tell(job, worker, page);
    const struct plan *plan = page->plan;
    result->slice = plan->sliceable && 2 * plan->overlap_rows <= plan->input_rows ? plan->slice : 0;
    result->pixels += (uint64_t)in->width * (uint64_t)in->height;
    result->output_type = page->out.type;
    if (page->to.counted)
        result->clipping.samples +=
            (uint64_t)page->out.width * page->out.height * (uint64_t)page->out.channels;
    if (result->width > 0)
        return;
    result->width = in->width;
    result->height = in->height;
    result->channels = in->channels;
    result->output_width = (int)page->out.width;
    result->output_height = (int)page->out.height;
    result->output_channels = page->out.channels;
}

/* What the input says behind its pixels follows the chain, too. */
static enum status amend(const struct job *job, const struct worker *worker, const struct page *page,
                         struct metadata *late, struct error *error)
{
    struct image_info behind = page->out;
    const struct change change = change_to(job, page->plan, &page->out);
    if (page->out.metadata.exif.data) { /* a PNG has one eXIf */
        free(late->exif.data);
        late->exif = (struct blob){NULL, 0};
        late->orientation = 0;
    }
    enum status status = metadata_follow(late, &change, error);
    behind.metadata = *late;
    format_leave_out(job->format, &behind);
    *late = behind.metadata;
    if (worker->settings->verbose && !worker->settings->quiet && late->left_out[0] != '\0')
        fprintf(stderr, "climg: %s: left out, of what stands behind its pixels: %s\n", job_input_name(job),
                late->left_out);
    return status == STATUS_OK ? writer_amend(page->writer, late, error) : status;
}

enum status job_end_page(const struct job *job, struct worker *worker, const struct page *page,
                         struct result *result)
{
    const struct metadata *said = reader_late(job->reader);
    struct metadata late;
    enum status status = STATUS_OK;
    double since = clock_seconds();
    if (said && !worker->settings->strip) {
        result_warn(result, said->warning);
        status = metadata_copy(&late, said, &result->error);
        if (status == STATUS_OK) {
            status = amend(job, worker, page, &late, &result->error);
            metadata_free(&late);
        }
    }
    if (status == STATUS_OK)
        status = writer_end_page(page->writer, &result->error);
    timing_charge(page->timing, PART_ENCODE, "end", -1, since);
    return status;
}

static uint64_t file_size(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 && S_ISREG(there.st_mode) ? (uint64_t)there.st_size : 0;
}

/* Floats that the user has mapped are clipped because that was asked for, and what stages add to integers
 * is in their nature: these are told with --verbose. */
static void warn_of_clipping(const struct job *job, const struct worker *worker, struct result *result)
{
    const struct clipping *clipping = &result->clipping;
    const struct settings *settings = worker->settings;
    bool floats = may_be_beyond(job->samples, result->output_type);
    double percent = 100.0 * (double)clipping->beyond / (double)clipping->samples;
    char text[256] = "";
    if (clipping->beyond > 0 && (settings->verbose || (floats && !settings->range.given)))
        text_append(
            text, sizeof text, "%llu of %llu values (%.2g%%) are beyond what %s samples hold, and clipped%s",
            (unsigned long long)clipping->beyond, (unsigned long long)clipping->samples, percent,
            sample_name(result->output_type),
            floats && !settings->range.given
                ? "; --range MIN,MAX or --range auto maps values to full scale, --depth float keeps them"
                : "");
    result_warn(result, text);
    if (clipping->not_numbers == 0)
        return;
    snprintf(text, sizeof text, "%llu of its values, which are no numbers (NaN), became 0",
             (unsigned long long)clipping->not_numbers);
    result_warn(result, text);
}

/* Integers of 8 or 16 bits have less than what floats lose. */
static void warn_of_rounding(const struct job *job, struct result *result)
{
    if (job->rounded && sample_size(result->output_type) == sizeof(float))
        result_warn(
            result,
            "has samples with more digits than the 32-bit floats that climg works with; they are rounded");
}

void job_settle(struct job *job, const struct worker *worker, enum status status, struct result *result)
{
    job_close(job);
    result->status = status;
    result->skipped = job->skipped;
    result->bytes_in = job->bytes;
    result->device = worker->open ? worker->device.name : NULL;
    if (status != STATUS_OK)
        error_name(&result->error, job_input_name(job));
    else if (!job->skipped) {
        result->bytes_out = file_size(job->output);
        warn_of_clipping(job, worker, result);
        warn_of_rounding(job, result);
    }
}
