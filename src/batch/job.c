/* Opens a job: reads the header, chooses the output's format, builds the chain, and checks that the command
 * can be done with this input.
 *
 *     header ─▶ output format ─▶ coefficient file? ─▶ chain for that kind ─▶ checks ─▶ reduction ─▶ range
 *
 * The format of the output is --format, else the format of its name, else the input's. A coefficient file
 * becomes a pyramid, the input of the chain's first stage. Pages of video are planes of luma and chroma; the
 * chain for chroma is built when the first page of luma has a plan. Only job_plan and measurements need a
 * device. */
#include "batch/job.h"

#include "base/files.h"
#include "base/timing.h"
#include "batch/output_format.h"
#include "image/colour/colour.h"
#include "image/format.h"
#include "image/memory_io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fails if --depth or a coding option does not fit the output, or --linear a coefficient file. Inputs of a
 * stack have no output: the options are for its result. */
static enum status check_output_options(const struct job *job, const struct settings *settings,
                                        struct error *error)
{
    const enum kind input = job->pyramid ? KIND_PYRAMID : KIND_IMAGE;
    if (chain_output(&job->chain, input) == KIND_PYRAMID && settings->depth != DEPTH_OPTION_ABSENT &&
        settings->depth != DEPTH_OPTION_FLOAT)
        return fail(error, STATUS_USAGE,
                    "coefficients are written as float; leave --depth out, or add --mosaic");
    if (!job_is_stack_input(job) &&
        output_format_check(job->format, settings, job->is_single, error) != STATUS_OK)
        return STATUS_USAGE;
    if (job->pyramid && settings->linear && !job->pyramid->linear)
        return fail(error, STATUS_FAILED, "was not transformed in linear light; leave --linear out");
    return STATUS_OK;
}

/* True if no option changes samples (--range) or how a lossy format codes them. These formats hold 8 bits, so
 * that --depth can only be 8. */
static bool options_keep_coding(const struct settings *settings)
{
    return settings->quality == 0 && !settings->lossless && settings->subsampling <= SUBSAMPLING_AUTO &&
           !settings->range.given;
}

bool job_keeps_coding(const struct job *job, const struct worker *worker)
{
    const struct settings *settings = worker->context->settings;
    const struct image_info *info = reader_info(job->reader);
    /* A lossless WebP loses nothing by --compression, but an animation would lose frames. */
    const bool is_compressed_again =
        info->lossless && !reader_unread(job->reader) && settings->compression != COMPRESSION_PRESET_DEFAULT;
    return job->format->lossy && job->format == reader_format(job->reader) && options_keep_coding(settings) &&
           !is_compressed_again && info->colour_model == COLOUR_MODEL_RGB;
}

bool job_is_stack_input(const struct job *job)
{
    return job->merge_step && !job->is_stack_result;
}

bool job_keeps_samples(const struct job *job, const struct worker *worker)
{
    const struct settings *settings = worker->context->settings;
    return job->chain.count == (job->orientation > 0) && !settings->linear && !settings->range.given &&
           !reader_info(job->reader)->premultiplied;
}

enum status job_check_more(const struct job *job, struct error *error)
{
    const struct capacity wanted = {.pages = true};
    if (job_is_stack_input(job) && !job->pyramid && !step_caps(job->merge_step).merges_pages)
        return fail(error, STATUS_FAILED,
                    "has several pages; choose one with --page N, or merge all: --stack MODE,pages=yes");
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

enum status job_check_in_place(const struct job *job, const struct worker *worker, struct error *error)
{
    const struct worker_context *context = worker->context;
    /* A step more than the user wrote: --mosaic was added to turn the coefficients into a picture. */
    const char *loss =
        job->pyramid && job->chain.count > context->chain->count ? "the coefficients of a transform"
        : job->format->lossy && !reader_format(job->reader)->lossy && !context->settings->lossless
            ? "exact samples, as the file has the name of a lossy format"
            : reader_unread(job->reader);
    return !context->settings->in_place || job->is_copied || !loss
               ? STATUS_OK
               : fail(error, STATUS_FAILED, "--in-place would lose %s; write to another file", loss);
}

static enum status check_video(const struct job *job, const struct settings *settings, struct error *error)
{
    const struct capacity wanted = {.video = true};
    if (reader_info(job->reader)->video.parts < 2)
        return STATUS_OK;
    if (job_is_stack_input(job))
        return fail(error, STATUS_FAILED,
                    "is video of Y, Cb and Cr, which --%s does not merge; convert it first, as with "
                    "ffmpeg -f image2pipe -c:v ppm",
                    job->merge_step->stage->name);
    if (!format_holds(job->format, &wanted))
        return fail(
            error, STATUS_FAILED,
            "is video of Y, Cb and Cr, which %s does not hold; write %s, or convert it first, as with "
            "ffmpeg -f image2pipe -c:v ppm",
            job->format->name, format_names(&wanted, "or").text);
    if (settings->linear || settings->range.given || settings->edge == EDGE_ZERO)
        return fail(error, STATUS_FAILED, "is video of Y, Cb and Cr; leave %s out",
                    settings->linear        ? "--linear"
                    : settings->range.given ? "--range"
                                            : "--edge zero");
    return STATUS_OK;
}

/* True if --strip drops a profile that changes the page's look. PNG's own colour chunks are not dropped. */
static bool strips_space(const struct job *job, const struct settings *settings)
{
    const struct metadata *metadata = &reader_info(job->reader)->metadata;
    return settings->strip && metadata->icc.data != NULL && !metadata->has_cicp && !job->pyramid &&
           !chain_has(&job->chain, "profile") && chain_output(&job->chain, KIND_IMAGE) == KIND_IMAGE &&
           reader_info(job->reader)->video.parts < 2 && reader_info(job->reader)->type != SAMPLE_COMPLEX;
}

/* Opens the page's colour space if a stage or --strip needs it. Warns of a profile that cannot be used. */
static enum status job_open_space(struct job *job, const struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->context->settings;
    const struct image_info *info = reader_info(job->reader);
    colour_space_release(job->space);
    job->space = NULL;
    job->space_warning[0] = '\0';
    if (info->colour_model != COLOUR_MODEL_RGB && !info->approximate && !job->is_stack_result &&
        !job_reader_options(worker).rgb_space)
        snprintf(job->space_warning, sizeof job->space_warning,
                 "is converted from %s to sRGB, as climg does not write it",
                 colour_model_name(info->colour_model));
    /* A pyramid needs it only for a curve that its description does not contain: exponent -1. */
    const bool is_needed = job->pyramid ? job->pyramid->linear && job->pyramid->exponent < 0
                                        : settings->linear || strips_space(job, settings) ||
                                              chain_caps(&job->chain).needs_colour_space;
    if (is_needed && colour_space_of_file(&info->metadata, info->channels - info->alpha, &job->space,
                                          error) != STATUS_OK) {
        if (error->is_out_of_memory)
            return STATUS_FAILED;
        snprintf(job->space_warning, sizeof job->space_warning, "is taken for sRGB, as its %.120s",
                 error->text);
    }
    /* Without a colour space, the float result of a stack counts as linear light. Integer inputs are sRGB by
     * default. */
    if (is_needed && job->space == NULL && job->merge_step && !sample_is_float(job->samples))
        job->space = colour_space_builtin(info->channels - info->alpha == 1 ? COLOUR_GRAY : COLOUR_SRGB);
    return STATUS_OK;
}

enum status job_resolve_chain(struct job *job, const struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->context->settings;
    const int stored = reader_info(job->reader)->metadata.orientation;
    const enum kind input = job->pyramid ? KIND_PYRAMID : KIND_IMAGE;
    chain_free(&job->chain);
    job->orientation = 0;
    job->measured[0] = '\0';
    enum status status =
        chain_resolve(worker->context->chain, input,
                      format_holds_coefficients(job->format) && !job_is_stack_input(job), &job->chain, error);
    if (status == STATUS_OK)
        status = job_open_space(job, worker, error);
    /* For --strip: append a conversion to sRGB if the page's profile is for another space. */
    if (status == STATUS_OK && !job_is_stack_input(job) && strips_space(job, settings) && job->space &&
        !job->space->is_srgb) {
        snprintf(job->space_warning, sizeof job->space_warning,
                 "is converted from %s to sRGB, as --strip drops profiles", job->space->name);
        status = chain_add(&job->chain, stage_find("profile"), "auto", error);
    }
    const bool turns =
        settings->auto_orient ||
        (!settings->stored_orientation && (job_is_stack_input(job) || chain_caps(&job->chain).needs_upright));
    if (status != STATUS_OK || !turns || stored < 2)
        return status;
    job->orientation = stored;
    return chain_auto_orient(&job->chain, input, &job->orientation, error);
}

bool job_has_stages(const struct job *job)
{
    return job->merge_step || job->chain.count > (job->orientation > 0);
}

/* Sets format, pyramid, chain and is_copied from the input's header, and checks them. If the chain makes the
 * picture much smaller, a JPEG is decoded at a reduced size. */
static enum status job_configure(struct job *job, const struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->context->settings;
    enum status status = STATUS_OK;
    if (job_is_stack_input(job))
        job->format = &memory_io;
    else
        status = output_format_choose(settings, job->output,
                                      job->is_stack_result ? job->format : reader_format(job->reader),
                                      &job->format, error);
    /* Read the description of a coefficient file. With --page, such a file is treated like any TIFF. */
    const struct image_info *info = reader_info(job->reader);
    if (status == STATUS_OK && settings->pages.first == 0 && coefficients_recognise(info)) {
        job->pyramid = allocate_zeroed(1, sizeof *job->pyramid, "a pyramid's description", error);
        status = job->pyramid ? coefficients_read(info, job->pyramid, error) : STATUS_FAILED;
    }
    if (status == STATUS_OK)
        job_note_samples(job, settings);
    if (status == STATUS_OK)
        status = job_resolve_chain(job, worker, error);
    if (status == STATUS_OK)
        status = check_output_options(job, settings, error);
    if (status == STATUS_OK)
        status = check_video(job, settings, error);
    job->is_copied = status == STATUS_OK && job_keeps_coding(job, worker) && job->chain.count == 0 &&
                     !settings->strip && !settings->progressive;
    if (status == STATUS_OK)
        status = job_check_in_place(job, worker, error);
    /* Decoding at a reduced size takes means of samples. In linear light, or after clipping by --range, means
     * would differ. Means at the border contain the padding of JPEG's blocks, which repeats pixels as clamp
     * and mirror do. */
    if (status == STATUS_OK && !settings->linear && !settings->range.given && settings->edge != EDGE_WRAP &&
        settings->edge != EDGE_ZERO && !job->pyramid) {
        const struct shape shape = job_shape(job);
        reader_reduce(job->reader, chain_reduction(&job->chain, &shape));
    }
    if (status != STATUS_OK || job->pyramid)
        return status;
    if (info->type == SAMPLE_COMPLEX)
        return fail(error, STATUS_FAILED,
                    "holds complex numbers, not an image; keep their real parts, as with GDAL: "
                    "gdal_translate -ot Float32 IN OUT");
    /* If the number of pages is known, fail now if the output cannot hold them. */
    return reader_pages_to_read(job->reader) > 1 ? job_check_more(job, error) : STATUS_OK;
}

const char *job_input_name(const struct job *job)
{
    return strcmp(job->input, "-") != 0 ? job->input
           : job->is_stack_result       ? "standard output"
                                        : "standard input";
}

/* Returns false also for the result of a stack, which has no input file. */
static bool stat_input(const struct job *job, struct stat *info)
{
    return !job->is_stack_result &&
           (strcmp(job->input, "-") == 0 ? fstat(STDIN_FILENO, info) : stat(job->input, info)) == 0;
}

/* A deleted input was still read to its end, so that is no failure. */
enum status job_check_unchanged(const struct job *job, struct error *error)
{
    const struct stat *before = &job->input_stat;
    struct stat now;
    if (!S_ISREG(before->st_mode) || !stat_input(job, &now) ||
        (now.st_dev == before->st_dev && now.st_ino == before->st_ino && now.st_size == before->st_size &&
         now.st_mtim.tv_sec == before->st_mtim.tv_sec && now.st_mtim.tv_nsec == before->st_mtim.tv_nsec))
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "was changed while it was read; run again when nothing writes to it");
}

enum status job_check(const struct job *job, struct error *error)
{
    if (!job->stat_errno)
        return STATUS_OK;
    const char *kind = job->stat_errno == ENOENT ? foreign_name_by_path(job->input) : NULL;
    if (strstr(job->input, "://") != NULL)
        fail(error, STATUS_FAILED, "climg opens only files; use a pipe: curl URL | climg - OUTPUT");
    else if (strpbrk(job->input, "*?") != NULL)
        fail(error, STATUS_FAILED,
             "there is no such file; the shell replaces * and ? if they are not in quotes and a file fits");
    else
        fail(error, STATUS_FAILED, "cannot open: %s%s%s", strerror(job->stat_errno), kind ? "; also, " : "",
             kind ? foreign_hint(kind, job->input, false).text : "");
    error_prefix(error, job_input_name(job));
    return STATUS_FAILED;
}

void job_note_samples(struct job *job, const struct settings *settings)
{
    const double unit = sample_full_scale(reader_info(job->reader)->type);
    if (job->is_stack_result)
        return;
    job->samples = job->pyramid ? job->pyramid->samples : reader_info(job->reader)->type;
    if (settings->range.automatic)
        return;
    job->low = settings->range.low / unit;
    job->high = settings->range.high / unit;
}

/* Returns the memory limit of decoding ahead in bytes, which is also the limit of compression: a quarter of
 * the worker's share of --memory-limit, at least 1. 0: no limit. */
static uint64_t coding_memory(const struct worker *worker)
{
    return worker->share.memory_limit > 0 ? 1 + worker->share.memory_limit / 4 : 0;
}

struct reader_options job_reader_options(const struct worker *worker)
{
    const struct chain *chain = worker->context->chain;
    struct reader_options options = settings_reader_options(worker->context->settings);
    options.rgb_space = chain->count > 0 ? step_caps(&chain->steps[0]).rgb_space : NULL;
    options.jobs = worker->share.threads;
    options.memory = coding_memory(worker);
    return options;
}

enum status job_open(struct job *job, struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->context->settings;
    const struct chain *chain = worker->context->chain;
    struct reader_options options = job_reader_options(worker);
    options.rewinds = settings->range.automatic;
    options.copies = chain->count == 0 && options_keep_coding(settings);
    for (size_t i = 0; i < chain->count; i++)
        options.reopens = options.reopens || step_is_measured(&chain->steps[i]);
    enum status status = job_check(job, error);
    if (!stat_input(job, &job->input_stat))
        job->input_stat = (struct stat){.st_mode = 0};

    /* Create the folders in job->name below the output folder. The output ends with job->name, whose
     * extension may differ: find where that begins. */
    const char *last = job->merge_step ? NULL : strrchr(job->name, '/');
    if (status == STATUS_OK && last) {
        /* create_folders changes the path, and other threads read job->output. */
        char *path = copy_text(job->output, error);
        const char *below = path ? strrchr(path, '/') - (last - job->name) : NULL;
        status =
            path ? create_folders(path, (size_t)(below - path), &job->created_length, error) : STATUS_FAILED;
        free(path);
    }
    double since = clock_seconds();
    if (status == STATUS_OK && !job->is_stack_result)
        status = reader_open(job->input, &options, &job->reader, error);
    timing_add(&worker->timing, PHASE_DECODE, "open", -1, since);
    job->rounded = false;
    if (status == STATUS_OK)
        status = job_configure(job, worker, error);
    if (status == STATUS_OK && settings->range.given && job->pyramid)
        status = fail(error, STATUS_FAILED, "holds coefficients, which have no range; leave --range out");
    else if (status == STATUS_OK && settings->range.automatic)
        status = reader_measure(job->reader, &job->low, &job->high, error);
    if (status != STATUS_OK)
        job_close(job);
    return status;
}

bool job_is_one_image(const struct job *job)
{
    return job->bytes > 0 && !job->pyramid && !job->is_copied && reader_pages_to_read(job->reader) == 1;
}

/* Returns the shape of the current page of a reader of the job's input. */
static struct shape page_shape(const struct job *job, const struct reader *reader)
{
    struct shape shape = job->pyramid ? job->pyramid->shape : image_shape(reader_info(reader));
    if (job->is_stack_result) { /* floats on the scale of the stack's inputs */
        const struct image_info files = {.type = job->samples};
        shape.full = image_shape(&files).full;
        shape.min_sample = image_shape(&files).min_sample;
    }
    shape.space = job->space;
    return shape;
}

struct shape job_shape(const struct job *job)
{
    return page_shape(job, job->reader);
}

struct conversion job_input_conversion(const struct job *job, const struct worker *worker)
{
    const struct image_info *in = reader_info(job->reader);
    const bool has_stages =
        job_has_stages(job) && !(job_is_stack_input(job) && job_keeps_samples(job, worker));
    /* Without stages, or if they only move pixels, colours are not multiplied by alpha, so that they stay
     * unchanged even if alpha is 0. */
    const bool is_multiplied = has_stages && (job->merge_step || !chain_caps(&job->chain).lossless_move);
    const bool stays_float = sample_is_float(in->type) && sample_is_float(job_output_type(job, worker));
    struct shape shape = job_shape(job);
    shape.linear = worker->context->settings->linear;
    struct conversion conversion = {.type = in->type,
                                    .channels = in->channels,
                                    .alpha = in->alpha,
                                    .premultiplied = in->premultiplied,
                                    .multiply = is_multiplied,
                                    .linear = worker->context->settings->linear && has_stages &&
                                              !job->is_stack_result &&
                                              (!sample_is_float(in->type) || job->space != NULL),
                                    .has_range = worker->context->settings->range.given &&
                                                 (has_stages || !stays_float) && !job->is_stack_result,
                                    .low = job->low,
                                    .high = job->high};
    conversion_set_curves(&conversion, &shape);
    return conversion;
}

enum sample_type job_output_type(const struct job *job, const struct worker *worker)
{
    if (job_is_stack_input(job))
        return job_keeps_samples(job, worker) ? job->samples : SAMPLE_FLOAT;
    return format_sample_type(job->format, settings_type(worker->context->settings, job->samples));
}

bool job_is_bilevel(const struct job *job, const struct worker *worker)
{
    return job->format->holds.bits &&
           (worker->context->settings->depth == DEPTH_OPTION_1 || job->format->holds.types == 0);
}

/* Returns the options of the output, without the expected size. */
static struct writer_options writer_options(const struct job *job, const struct worker *worker)
{
    return (struct writer_options){.format = job->format,
                                   .compression = worker->context->settings->compression,
                                   .quality = worker->context->settings->quality,
                                   .bilevel = job_is_bilevel(job, worker),
                                   .lossless = worker->context->settings->lossless,
                                   .subsampling = worker->context->settings->subsampling,
                                   .progressive = worker->context->settings->progressive,
                                   .jobs = worker->share.threads,
                                   .memory = coding_memory(worker),
                                   .spool_folder = worker->context->settings->environment.spool_folder,
                                   .durable = worker->context->settings->resume};
}

struct plan_request job_plan_request(const struct job *job, const struct worker *worker,
                                     const struct reader *reader)
{
    const struct settings *settings = worker->context->settings;
    const struct image_info *in = reader_info(reader);
    struct shape shape = page_shape(job, reader);
    shape.linear = settings->linear || (job->pyramid && job->pyramid->linear);
    if (settings->range.given) {
        shape.zero = shape.min_sample = job->low * shape.full;
        shape.full *= job->high;
    }
    return (struct plan_request){.chain = &job->chain,
                                 .input = shape,
                                 .in = in->type,
                                 .out = job_output_type(job, worker),
                                 .converted = settings->linear || settings->range.given || job->pyramid,
                                 .reader_memory = reader_memory(reader),
                                 .reader_limit = job_can_begin_again(job) ? 0 : coding_memory(worker),
                                 .compression = in->compression,
                                 .lossless = in->lossless};
}

enum status job_plan(const struct job *job, struct worker *worker, int images, struct plan *plan,
                     struct error *error)
{
    struct plan_request request = job_plan_request(job, worker, job->reader);
    request.input.images = images;
    request.writer = writer_options(job, worker);
    if (reader_info(job->reader)->video.part > 0)
        request.chain = &job->chroma_chain;
    return plan_make(plan, &request, &worker->run, error);
}

enum status job_adapt_to_chroma(struct job *job, const struct worker *worker, const struct plan *plan,
                                struct error *error)
{
    const struct video *video = &reader_info(job->reader)->video;
    if (video->parts < 2 || job->chroma_chain.count > 0)
        return STATUS_OK;
    const struct chroma chroma = {
        .across = video->across, .down = video->down, .left = video->left, .top = video->top};
    enum status status = chain_make_chroma(&job->chain, &chroma, plan->shapes, worker->context->settings,
                                           &job->chroma_chain, error);
    if (status != STATUS_OK)
        error_prefix(error, job_input_name(job)); /* the message begins with the stage */
    return status;
}

enum status job_open_writer(struct job *job, const struct worker *worker, const struct shape *shape,
                            enum sample_type type, int pages, struct error *error)
{
    uint64_t samples = (uint64_t)shape->width * (uint64_t)shape->height * (uint64_t)shape->channels;
    /* A pyramid has about two complex floats, 16 bytes, for each sample: 6/4 at level 1 and a quarter of that
     * at each further level; 17 with the lowpass. */
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
    free_pages(job->picture.samples, job->picture.size);
    metadata_free(&job->picture.info.metadata);
    job->picture = (struct stack_picture){.samples = NULL};
    if (!job->keeps_reader)
        job_close_input(job);
    chain_free(&job->chain);
    chain_free(&job->chroma_chain);
    colour_space_release(job->space);
    job->space = NULL;
    free(job->pyramid);
    job->pyramid = NULL;
}

bool job_can_begin_again(const struct job *job)
{
    struct stat info;
    return job->bytes > 0 && !job->merge_step && named_descriptor(job->output) < 0 &&
           (stat(job->output, &info) != 0 || S_ISREG(info.st_mode));
}

void job_free(struct job *job)
{
    free(job->name);
    free(job->input);
    free(job->output);
}
