/* Converts one job, page by page: plans and describes the output, runs the chain, commits the file.
 *
 *     begin ─▶ for each page: plan ─▶ describe ─▶ chain ─▶ end of page ─▶ ... ─▶ input unchanged? ─▶ commit
 *
 * A lossy file that nothing changes is copied. A lossy file whose pixels only move is written without
 * re-encoding, if its format can do so. If no step precedes --stack, its pictures need no device until they
 * are merged. A large picture is decoded while the device is being opened:
 *
 *     calling thread   measurements that need no device   wait for both   plan   pages
 *     thread           open the device
 *     thread           decode the first rows ........... */
#include "batch/convert.h"

#include "base/threads.h"
#include "base/timing.h"
#include "batch/report.h"
#include "batch/resume.h"
#include "batch/stack.h"
#include "chain/page.h"
#include "image/colour/colour.h"
#include "image/output/output.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

struct conversion job_output_conversion(const struct job *job, const struct worker *worker,
                                        const struct conversion *from, const struct shape *shape,
                                        const struct image_info *out)
{
    struct conversion to = *from;
    const struct settings *settings = worker->context->settings;
    const enum sample_type in = job->is_stack_result ? job->samples : from->type;
    to.type = out->type;
    /* Float samples without a profile are linear light already. With --range, float outputs of float inputs
     * are scaled back to the input's range. Inputs of a stack keep the chain's values until they are merged.
     */
    to.linear = settings->linear && job_has_stages(job) && !job_is_stack_input(job) &&
                !(sample_is_float(in) && sample_is_float(to.type) && shape->space == NULL);
    conversion_set_curves(&to, shape);
    to.has_range = settings->range.given && (from->has_range || job->is_stack_result) &&
                   !job_is_stack_input(job) && sample_is_float(in) && sample_is_float(to.type);
    to.counts_clipping =
        transfer_clips(job->samples, to.type,
                       settings->verbose || settings->range.given || chain_caps(&job->chain).amplifies ||
                           (job->is_stack_result && step_caps(job->merge_step).amplifies));
    to.channels = out->channels;
    to.alpha = out->alpha;
    /* A coefficient file says how samples were converted before the transform: invert that. Not for inputs of
     * a stack with --linear, which merges linear light. */
    if (job->pyramid && !(job_is_stack_input(job) && settings->linear)) {
        to.multiply = true;
        to.linear = job->pyramid->linear;
        to.exponent = job->pyramid->exponent;
        to.space = to.exponent < 0 ? to.space : NULL;
    }
    return to;
}

/* True if --range changes values: the input is scaled, and the output is not scaled back. */
static bool range_applies(const struct page *page)
{
    return page->input_conversion.has_range && !page->output_conversion.has_range;
}

/* Returns the differences between input and output, for metadata_update. A coefficient file counts as the
 * image that it was made from. */
static struct change describe_change(const struct job *job, const struct page *page)
{
    const struct image_info *in = reader_info(job->reader), *out = &page->out;
    const struct shape decoded = job_shape(job), shape = shape_full(&decoded);
    const struct colour_space *space = plan_output(page->plan)->space;
    const struct stage_caps caps = chain_caps(&job->chain);
    /* Full scale of the input's samples, which the reader may have expanded. */
    const double white = out->bits > 0 ? ldexp(1, out->bits) - 1 : sample_full_scale(job->samples);
    return (struct change){
        .in_width = (uint32_t)shape.width,
        .in_height = (uint32_t)shape.height,
        .out_width = out->width,
        .out_height = out->height,
        .from = plan_inverse_map(page->plan),
        .in_pages = job->pyramid ? 1 : reader_page_count(job->reader),
        .out_pages = job->pyramid || job_is_stack_input(job) ? 1 : reader_pages_to_read(job->reader),
        .in_channels = in->channels,
        .out_channels = out->channels,
        .in_type = job->samples,
        .out_type = out->type,
        .processed = job->chain.count > 0 || range_applies(page),
        /* A sample value may mean another brightness in the output than in the input. */
        .rescaled = caps.new_values || out->palette || out->inverted || range_applies(page) ||
                    white != sample_full_scale(out->type),
        .reoriented = job->orientation > 0,
        .new_geometry = caps.new_geometry,
        .recoloured = (space != NULL && space != job->space) || in->colour_model != COLOUR_MODEL_RGB,
        .space = space != job->space ? space : NULL};
}

/* If the output's format cannot hold the input's cICP, gAMA or cHRM, replaces them by an ICC profile. Warns
 * if the format cannot hold that either, unless the colours are nearly sRGB's, as with the usual gAMA of
 * 1/2.2. */
static enum status keep_colours(const struct format *format, struct image_info *out, struct error *error)
{
    struct metadata *metadata = &out->metadata;
    const struct colour_space *space = NULL;
    char text[160];
    if (format_holds_colours(format, metadata, out->channels))
        return STATUS_OK;
    enum status status = colour_space_of_file(metadata, out->channels - out->alpha, &space, error);
    const bool is_usual = colour_space_is_usual(space);
    if (status != STATUS_OK && !error->is_out_of_memory) /* damaged: format_note_left_out says so */
        status = STATUS_OK;
    else if (status == STATUS_OK && !is_usual && format_holds_icc(format, &space->icc, out->channels))
        status = metadata_set_space(metadata, space, out->channels, error);
    else if (status == STATUS_OK && !is_usual) {
        snprintf(text, sizeof text,
                 "loses its colour space, %s, which %s cannot hold; --profile auto converts it", space->name,
                 format->name);
        metadata_warn(metadata, text);
    }
    colour_space_release(space);
    return status;
}

/* Fills in the output's metadata from the input's. The order matters: a later step overwrites texts of an
 * earlier one. */
static enum status describe_metadata(const struct job *job, const struct worker *worker, struct page *page,
                                     struct error *error)
{
    const struct metadata *in = &reader_info(job->reader)->metadata;
    const struct shape *shape = plan_output(page->plan);
    struct metadata *metadata = &page->out.metadata;
    bool strip = worker->context->settings->strip;
    enum status status = metadata_copy(metadata, in, error);
    if (status == STATUS_OK && strip)
        metadata_strip(metadata);
    if (status == STATUS_OK && job->space_warning[0] != '\0')
        metadata_warn(metadata, job->space_warning);
    if (status == STATUS_OK && job->pyramid && !strip)
        status = coefficients_restore_description(metadata, error);
    const struct change change = describe_change(job, page);
    if (status == STATUS_OK && shape->kind == KIND_IMAGE)
        status = metadata_update(metadata, &change, error);
    const struct colour_space *space = change.space;
    const bool is_float = sample_is_float(page->out.type);
    /* Readers take floats without a profile for linear light. These are encoded by the default curve of
     * integers, so add a profile. */
    if (worker->context->settings->linear && is_float && !sample_is_float(job->samples) &&
        !job_is_stack_input(job) && shape->kind == KIND_IMAGE && metadata->icc.data == NULL &&
        (shape->space == NULL || shape->space->is_srgb))
        space = colour_space_builtin(COLOUR_SRGB);
    if (status == STATUS_OK && space != NULL)
        status = metadata_set_space(metadata, space, page->out.channels, error);
    if (status == STATUS_OK && space != NULL && strip && space->is_srgb && !is_float)
        blob_free(&metadata->icc); /* a picture of integers without a profile is sRGB */
    /* Store the range, by which a program can compute the input's values. */
    const struct range_text range = conversion_range(&page->input_conversion);
    if (status == STATUS_OK && !strip && range_applies(page))
        status = metadata_set_text(metadata, "Range", range.text, strlen(range.text), error);
    if (status == STATUS_OK && shape->kind == KIND_IMAGE && !job_is_stack_input(job))
        status = keep_colours(job->format, &page->out, error);
    format_note_left_out(job->format, &page->out);
    if (status == STATUS_OK && worker->context->provenance)
        status = provenance_put(worker->context->provenance, metadata, error);
    if (status == STATUS_OK && shape->kind == KIND_PYRAMID) {
        const struct conversion *from = &page->input_conversion;
        /* Coefficients of an input that is a pyramid keep their curve. */
        struct coefficients description = {*shape, job->samples, from->linear, from->exponent};
        if (job->pyramid) {
            description.linear = job->pyramid->linear;
            description.exponent = job->pyramid->exponent;
        }
        if (description.linear && description.exponent < 0 && metadata->icc.data == NULL)
            status = fail(error, STATUS_FAILED,
                          "has a curve of cICP, which a coefficient file cannot hold; leave --linear out");
        else
            status = coefficients_describe(&description, metadata, error);
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
    page->input_conversion = job_input_conversion(job, worker);
    page->input_conversion.flushes_tiny_alpha = plan_has_large_halo(page->plan);
    page->input_conversion.opponent_in = page->plan->opponent_in;
    page->input_conversion.opponent_out = page->plan->opponent_out;
    *out = *in;
    out->width = (uint32_t)shape->width;
    out->height = (uint32_t)shape->height;
    out->channels = shape->channels;
    out->alpha = shape->alpha;
    out->premultiplied = false;
    out->type = job_output_type(job, worker);
    out->page_name = worker->context->settings->strip || job->pyramid ? NULL : in->page_name;
    page->output_conversion = job_output_conversion(job, worker, &page->input_conversion, shape, out);
    return describe_metadata(job, worker, page, error);
}

/* Records warnings of the input's data after the pixels, and ends the output page. */
static enum status job_end_page(const struct job *job, struct worker *worker, const struct page *page,
                                struct result *result)
{
    double since = clock_seconds();
    result_note_trailing(job, worker, result);
    enum status status = writer_end_page(page->writer, &result->error);
    timing_add(run_timing(page->run), PHASE_ENCODE, "end", -1, since);
    return status;
}

/* Limits of reading ahead, in bytes of samples. Less than READ_AHEAD_MIN is decoded faster than a thread
 * starts. READ_AHEAD_MAX is a photograph of 10 megapixels. */
enum { READ_AHEAD_MIN = 1 << 20, READ_AHEAD_MAX = 32 << 20 };

enum status convert_begin(struct worker *worker, struct job *job, struct error *error)
{
    if (job->reader || job->skipped)
        return STATUS_OK;
    job->skipped = worker->context->resume && resume_finds_done(worker->context->resume, job);
    if (job->is_stack_result && stack_open_reader(job, worker, error) != STATUS_OK)
        return STATUS_FAILED;
    return job->skipped ? STATUS_OK : job_open(job, worker, error);
}

/* A thread that decodes the first rows of a page while the device is opened and the page measured. */
struct read_ahead {
    struct worker *worker;
    struct reader *reader; /* until is_stopped only this thread decodes with it; others may read its info,
                            * and its file by pread */
    size_t limit;          /* bytes of rows to decode */
    pthread_t thread;
    bool is_device_opening;
    bool is_running;
    atomic_bool is_stopped;
};

/* Callback of reader_prefetch: true until is_stopped is set. */
static bool is_reading_ahead(void *context)
{
    return !atomic_load(&((struct read_ahead *)context)->is_stopped);
}

static void *read_ahead_thread(void *context)
{
    struct read_ahead *ahead = context;
    const double since = clock_seconds();
    reader_prefetch(ahead->reader, ahead->limit, is_reading_ahead, ahead);
    timing_add(&ahead->worker->timing, PHASE_DECODE, "decode ahead", -1, since);
    return NULL;
}

/* Starts to open the device and to decode a large image, unless its decoder and the rows need more than
 * --memory-limit: then the planner may refuse it. A damaged image is reported when its rows are read, that
 * is, only if the device could be opened. */
static void read_ahead_begin(struct read_ahead *ahead, struct worker *worker, const struct job *job)
{
    const struct image_info *info = reader_info(job->reader);
    const struct shape decoded = job_shape(job), shape = shape_full(&decoded);
    const uint64_t limit = worker->share.memory_limit;
    struct error ignored = {.text = ""};
    *ahead = (struct read_ahead){.worker = worker, .reader = job->reader, .limit = READ_AHEAD_MAX};
    if (limit > 0 && limit / 4 < READ_AHEAD_MAX)
        ahead->limit = (size_t)(limit / 4);
    if (worker->is_open || job->pyramid || reader_is_uncompressed(job->reader) ||
        pixel_size(info) * (size_t)shape.width * (size_t)shape.height < READ_AHEAD_MIN ||
        (limit > 0 && reader_memory(job->reader) + ahead->limit > limit))
        return;
    ahead->is_device_opening = worker_begin_open(worker);
    ahead->is_running = ahead->is_device_opening &&
                        thread_start(&ahead->thread, read_ahead_thread, ahead, &ignored) == STATUS_OK;
}

/* Writes the page. Does not re-encode if its pixels only move and the format allows that. Does not use the
 * device for a stack's picture that keeps its samples. Otherwise runs the chain. */
static enum status write_page(struct worker *worker, struct job *job, struct page *page,
                              struct result *result)
{
    const struct affine inverse_map = plan_inverse_map(page->plan);
    struct lossless_move move = {.done = false};
    enum status status = STATUS_OK;
    if (job_keeps_coding(job, worker) && !worker->verifier.is_open && plan_only_moves(page->plan) &&
        conversion_keeps_samples(&page->input_conversion, &page->output_conversion))
        status = writer_transform(job->writer, job->reader, &inverse_map, &page->out, &move, &result->error);
    const bool is_verbose = worker->context->settings->verbose;
    if (move.done && is_verbose)
        job_print(job, "is written without being coded again");
    else if (move.obstacle[0] != '\0' && is_verbose)
        job_print(job, "is coded again, as %s", move.obstacle);
    if (move.done)
        result_warn(result, reader_trailing_warnings(job->reader)->warning);
    if (move.done || status != STATUS_OK)
        return status;
    if (job_is_stack_input(job) && job_keeps_samples(job, worker) && job->chain.count == 0) {
        /* The device has nothing to do. */
        job->picture.stays_in_file = stack_can_leave_in_file(job);
        status = writer_begin_page(job->writer, &page->out, &result->error);
        const double since = clock_seconds();
        if (status == STATUS_OK && !job->picture.stays_in_file)
            status = reader_read(job->reader, job->picture.samples, job->picture.size / page->out.height,
                                 page->out.height, &result->error);
        timing_add(run_timing(page->run), PHASE_DECODE, "decode", -1, since);
        return status == STATUS_OK ? job_end_page(job, worker, page, result) : status;
    }
    status = flow_page(page, &result->error);
    result_note_found(job, worker, result);
    if (status != STATUS_OK)
        return status;
    result_note_noise(job, worker, 0, result);
    result_note_warnings(worker, 0, result);
    if (plan_output(page->plan)->kind == KIND_IMAGE)
        return job_end_page(job, worker, page, result);
    result_note_trailing(job, worker, result); /* the pages of a coefficient file are complete */
    return STATUS_OK;
}

/* Number of frames that share an estimate of the noise: a second of film. With an estimate for each frame the
 * video would flicker, as estimates differ slightly. */
enum { FRAMES_PER_ESTIMATE = 24 };

/* Plans, describes and writes the current page. The first page opens the writer. */
static enum status convert_page(struct worker *worker, struct job *job, struct result *result)
{
    struct plan plan;
    const bool is_chroma = reader_info(job->reader)->video.part > 0; /* its frame is counted with the luma */
    struct page page = {.run = &worker->run,
                        .plan = &plan,
                        .reader = job->reader,
                        .report_rows = worker->context->progress && !is_chroma ? progress_rows : NULL,
                        .report_context = job,
                        .clipping = &result->clipping};
    job->progress = worker->context->progress;
    job->picture.run = &worker->run;
    worker->run.is_merged = job_is_stack_input(job);
    worker->run.input = job->index;
    job->pages = job->pyramid ? 1 : reader_pages_to_read(job->reader);
    /* A frame of video begins with its luma. Noise held from earlier frames is dropped after every
     * FRAMES_PER_ESTIMATE frames. With --verify no noise is held, as the second computation has no earlier
     * frames. */
    const struct video *video = &reader_info(job->reader)->video;
    worker->run.frames.hold = video->header && !worker->verifier.is_open;
    if (video->header && video->part == 0) {
        if (result->frames % FRAMES_PER_ESTIMATE == 0)
            run_expire_noise(&worker->run);
        if (worker->frames.count++ == 0)
            worker->frames.began = clock_seconds();
        result->frames++;
    }
    enum status status = job_measure(job, worker, true, result);
    if (status == STATUS_OK)
        status = job_plan(job, worker, 1, &plan, &result->error);
    if (status != STATUS_OK)
        return status;
    status = job_adapt_to_chroma(job, worker, &plan, &result->error);
    if (status == STATUS_OK)
        status = job_describe(job, worker, &page, &result->error);
    if (status == STATUS_OK) {
        /* Open the writer; the size of the output is estimated from the first page. */
        if (!job->writer && job_is_stack_input(job))
            status = stack_open_writer(job, &result->error);
        else if (!job->writer)
            status =
                job_open_writer(job, worker, plan_output(&plan), page.out.type, job->pages, &result->error);
        if (status == STATUS_OK) {
            page.writer = job->writer;
            result_note_page(job, worker, &page, result);
            status = write_page(worker, job, &page, result);
        }
        metadata_free(&page.out.metadata);
    }
    plan_free(&plan);
    return status;
}

enum status convert_commit(struct worker *worker, const struct job *job, struct error *error)
{
    double since = clock_seconds();
    if (job_is_stack_input(job))
        return STATUS_OK;
    enum status status = writer_commit(job->writer, error);
    if (status == STATUS_OK && worker->context->resume)
        resume_note(worker->context->resume, job);
    timing_add(&worker->timing, PHASE_ENCODE, "commit", -1, since);
    return status;
}

/* Converts all pages. Checks a single output's folder before it opens the device, which takes longer. */
static enum status convert_pages(struct worker *worker, struct job *job, struct result *result)
{
    if (job->is_single && output_check(job->output, &result->error) != STATUS_OK)
        return STATUS_FAILED;
    job->page = 0;
    struct read_ahead ahead;
    struct error ignored;
    read_ahead_begin(&ahead, worker, job);
    enum status status = job_measure(job, worker, false, result);
    if (status == STATUS_OK)
        status = worker_open(worker, &result->error);
    else if (ahead.is_device_opening)
        (void)worker_open(worker, &ignored); /* wait: a driver must not be interrupted while it starts */
    atomic_store(&ahead.is_stopped, true);   /* the thread ends after about a millisecond */
    if (ahead.is_running)
        pthread_join(ahead.thread, NULL);
    for (bool more; status == STATUS_OK;) {
        status = convert_page(worker, job, result);
        /* Free memory that the page did not use; but once per frame, as luma and chroma differ in size. */
        const struct video *video = &reader_info(job->reader)->video;
        if (video->part + 1 >= video->parts)
            run_trim(&worker->run);
        job->page += video->part + 1 >= video->parts;
        if (status == STATUS_OK)
            status = reader_next_page(job->reader, &more, &result->error);
        if (status != STATUS_OK || !more)
            return status;
        job_note_samples(job, worker->context->settings);
        status = job_resolve_chain(job, worker, &result->error);
        if (status == STATUS_OK)
            status = job_check_more(job, &result->error);
    }
    return status;
}

void convert(struct worker *worker, struct job *job, struct result *result)
{
    *result = (struct result){.group = 1, .times = result->times};
    struct times since = worker_times(worker);
    enum status status = convert_begin(worker, job, &result->error);
    if (status == STATUS_OK && !job->skipped) {
        if (!job->is_copied) {
            status = convert_pages(worker, job, result);
        } else { /* copy the file after decoding it to find damage; needs no device */
            const struct shape shape = job_shape(job);
            status = job_open_writer(job, worker, &shape, job->samples, 1, &result->error);
            const double began = clock_seconds();
            if (status == STATUS_OK) {
                result_note_copy(job, worker, result);
                status = writer_copy(job->writer, job->reader, &result->error);
                result_warn(result, reader_trailing_warnings(job->reader)->warning);
            }
            timing_add(&worker->timing, PHASE_DECODE, "copy", -1, began);
        }
        if (status == STATUS_OK)
            status = job->is_stack_result ? stack_check_unchanged(job->stack, &result->error)
                                          : job_check_unchanged(job, &result->error);
        if (status == STATUS_OK)
            status = job_check_in_place(job, worker, &result->error);
        if (status == STATUS_OK)
            status = convert_commit(worker, job, &result->error);
        if (status != STATUS_OK)
            event_log_discard(&worker->event_log);
    }
    worker->run.frames.hold = false;
    worker->run.frames.count = 0; /* discards the noise that was held */
    worker->frames.ended = result->frames > 0 ? clock_seconds() : worker->frames.ended;
    worker_add_elapsed(worker, &since, 1, &result->times);
    /* A stack fails as a whole with strict=yes, and if memory runs out or the device fails, which is no fault
     * of the picture. */
    if (status != STATUS_OK && job->merge_step) {
        if (result->error.is_out_of_memory || result->error.is_device_error)
            result->error.scope = SCOPE_ALL;
        else if (result->error.scope == SCOPE_FILE && step_caps(job->merge_step).merges_strictly)
            result->error.scope = SCOPE_STACK;
    }
    job_finish(job, worker, status, result);
}
