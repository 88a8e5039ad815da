/* Measures a picture for stages whose parameters depend on it, such as --deskew and --trim, before the page's
 * plan is made. A measured stage is then replaced by one with numbers, such as --rotate 1.5.
 *
 *     file, read again ─▶ steps before the stage ─▶ rows ─▶ measurement ─▶ the stage that replaces it
 *
 * If the stage is the first step, its measurement gets the rows of the file. JPEG is then decoded at 1/2, 1/4
 * or 1/8 of its size if that suffices. This needs no device, so that it runs while the device is being
 * opened. Otherwise the steps before the stage run like a page (flow_page), in slices, with a writer that
 * passes the rows to the measurement. If the chain has a second measured stage, its steps include the stage
 * that replaced the first one. */
#include "base/text.h"
#include "batch/convert.h"
#include "image/memory_io.h"

#include <stdlib.h>

/* A measurement in progress: the context of a memory_sink. */
struct measuring {
    const struct step *step; /* the measured stage */
    void *state;             /* of its struct measurement; owned by measure_step */
    struct shape shape;      /* of the measured picture */
};

static enum status measuring_begin(void *context, const struct image_info *info, struct error *error)
{
    const struct measuring *measuring = context;
    return measuring->step->stage->measurement->begin(measuring->state, measuring->step->params,
                                                      &measuring->shape, info, error);
}

static enum status measuring_add(void *context, const void *rows, size_t pitch, uint32_t count,
                                 struct error *error)
{
    const struct measuring *measuring = context;
    (void)error;
    measuring->step->stage->measurement->add(measuring->state, rows, pitch, count);
    return STATUS_OK;
}

/* Opens the current page of the input a second time. Fails for video and for the result of a stack. */
static enum status measure_open(const struct job *job, const struct worker *worker, const char *stage,
                                struct reader **reader, struct error *error)
{
    struct reader_options options = job_reader_options(worker);
    if (!job->pyramid) /* whose pages are one picture */
        options.page = (options.page > 0 ? options.page : 1) + job->page;
    options.last_page = 0;
    *reader = NULL;
    if (reader_info(job->reader)->video.parts > 0)
        return fail(error, STATUS_FAILED, "--%s measures the picture, which does not work on video", stage);
    if (job->is_stack_result)
        return fail(error, STATUS_FAILED,
                    "is no file that can be read twice, as --%s does; write it to one first", stage);
    return job->bytes > 0 ? reader_open(job->input, &options, reader, error)
                          : reader_open_again(job->reader, &options, reader, error);
}

/* True if step `index` can measure the rows of the file itself: it is the first step, and conversion to
 * planes and back would not change a sample. */
static bool measures_file_rows(const struct job *job, const struct worker *worker, size_t index)
{
    const struct settings *settings = worker->context->settings;
    const struct image_info *info = reader_info(job->reader);
    return index == 0 && (info->type == SAMPLE_UINT8 || info->type == SAMPLE_UINT16) && !info->alpha &&
           job_output_type(job, worker) == info->type && !settings->linear && !settings->range.given;
}

/* Passes the file's rows to the measurement. */
static enum status measure_file(struct worker *worker, struct reader *reader, struct measuring *measuring,
                                struct error *error)
{
    enum { PIECE_SIZE = 1 << 18 }; /* bytes of rows, which stay in a core's cache */
    const struct image_info *info = reader_info(reader);
    const size_t pitch = row_size(info);
    const uint32_t piece = pitch < PIECE_SIZE ? (uint32_t)(PIECE_SIZE / pitch) : 1;
    const double since = clock_seconds();
    unsigned char *rows = allocate(pitch * piece, "rows", error);
    enum status status = rows ? measuring_begin(measuring, info, error) : STATUS_FAILED;
    for (uint32_t y = 0; status == STATUS_OK && y < info->height; y += piece) {
        const uint32_t count = info->height - y < piece ? info->height - y : piece;
        status = reader_read(reader, rows, pitch, count, error);
        if (status == STATUS_OK)
            status = measuring_add(measuring, rows, pitch, count, error);
    }
    free(rows);
    timing_add(&worker->timing, PHASE_DECODE, "measure", -1, since);
    return status;
}

/* Runs the steps before `index` and passes the rows to the measurement. */
static enum status measure_steps(const struct job *job, struct worker *worker, size_t index,
                                 struct reader *reader, struct measuring *measuring, struct error *error)
{
    const struct chain before = {.steps = job->chain.steps, .count = index};
    const struct memory_sink sink = {measuring, measuring_begin, measuring_add, NULL};
    struct plan_request request = job_plan_request(job, worker, reader);
    struct clipping ignored = {0};
    struct plan plan;
    request.chain = &before;
    if (plan_make(&plan, &request, &worker->run, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct shape *out = plan_output(&plan);
    measuring->shape = *out;
    struct page page = {.run = &worker->run,
                        .plan = &plan,
                        .input_conversion = job_input_conversion(job, worker),
                        .reader = reader,
                        .out = {.width = (uint32_t)out->width,
                                .height = (uint32_t)out->height,
                                .channels = out->channels,
                                .alpha = out->alpha,
                                .type = plan.out},
                        .clipping = &ignored};
    page.input_conversion.flushes_tiny_alpha = plan_has_large_halo(&plan);
    page.input_conversion.opponent_in = plan.opponent_in;
    page.input_conversion.opponent_out = plan.opponent_out;
    /* Measure the samples that an output would get; of an input of a stack, samples with the file's curve. */
    page.output_conversion = page.input_conversion;
    if (!job_is_stack_input(job))
        page.output_conversion = job_output_conversion(job, worker, &page.input_conversion, out, &page.out);
    page.output_conversion.type = plan.out;
    page.output_conversion.channels = out->channels;
    page.output_conversion.alpha = out->alpha;
    page.output_conversion.has_range = false;
    page.output_conversion.counts_clipping = false;
    enum status status = memory_writer(reader_name(reader), &sink, &page.writer, error);
    if (status == STATUS_OK)
        status = flow_page(&page, error);
    writer_close(page.writer);
    plan_free(&plan);
    run_clear(&worker->run);      /* planes of the whole chain have other sizes */
    worker->run.prebuilt = false; /* compile the programs of the whole chain together later */
    return status;
}

/* Measures the page for step `index` of the job's chain, and replaces that step. */
static enum status measure_step(struct job *job, struct worker *worker, size_t index, struct result *result)
{
    const struct step *step = &job->chain.steps[index];
    const struct measurement *measurement = step->stage->measurement;
    struct error *error = &result->error;
    struct measuring measuring = {.step = step, .shape = job_shape(job)};
    struct replacement replacement = {.stage = NULL};
    struct reader *reader;
    enum status status = measure_open(job, worker, step->stage->name, &reader, error);
    if (status == STATUS_OK) {
        /* Reduce the picture by 2, 4 or 8, if its longer side keeps enough pixels and no step precedes,
         * except the one that turns the page upright. */
        const struct image_info *info = reader_info(reader);
        const int longer = (int)(info->width > info->height ? info->width : info->height);
        const int side = measurement->sufficient_side;
        int factor = 1;
        while (side > 0 && index == (job->orientation > 0) && factor < 8 && longer / (2 * factor) >= side)
            factor *= 2;
        if (factor > 1)
            reader_reduce(reader, factor);
        measuring.state = allocate_zeroed(1, measurement->size, "a measurement", error);
        status = !measuring.state ? STATUS_FAILED
                 : measures_file_rows(job, worker, index)
                     ? measure_file(worker, reader, &measuring, error)
                     : measure_steps(job, worker, index, reader, &measuring, error);
    }
    if (status == STATUS_OK)
        status = measurement->end(measuring.state, step->params, step->written, &replacement, error);
    if (measuring.state)
        measurement->release(measuring.state);
    free(measuring.state);
    reader_close(reader);
    if (status != STATUS_OK)
        return status;
    if (replacement.found[0] != '\0')
        text_append(job->measured, sizeof job->measured, "%s%s", job->measured[0] != '\0' ? "; " : "",
                    replacement.found);
    result_warn(result, replacement.warning);
    return chain_replace(&job->chain, index, stage_find(replacement.stage), replacement.value, error);
}

enum status job_measure(struct job *job, struct worker *worker, bool has_device, struct result *result)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < job->chain.count; i++) {
        if (!step_is_measured(&job->chain.steps[i]))
            continue;
        if (!has_device && !measures_file_rows(job, worker, i))
            return STATUS_OK;
        status = measure_step(job, worker, i, result);
    }
    return status;
}
