/* Measures pictures for stages whose parameters depend on the picture, before the plan of the page is made.
 *
 *     file, read again ─▶ steps before the stage ─▶ rows ─▶ measurement ─▶ a stage with plain numbers
 *
 * If the stage comes first, the picture is decoded at 1/2 to 1/8 where that is enough, and its rows need no
 * device: the first page of a large compressed picture is measured while the device is opened. Otherwise the
 * pass is a page of its own (flow_page) whose writer passes the rows on, so it works in slices, on pictures
 * of any size. A second measured stage in the chain sees what the first one has become. */
#include "batch/result.h"

#include "base/text.h"
#include "image/memory_io.h"

#include <stdlib.h>
#include <string.h>

/* A measurement under way; the context of the writer. */
struct measuring {
    const struct step *step;
    void *state;
};

static enum status measuring_begin(void *context, const struct image_info *info, struct error *error)
{
    const struct measuring *measuring = context;
    return measuring->step->stage->measurement->begin(measuring->state, measuring->step->params, info, error);
}

static enum status measuring_add(void *context, const void *rows, size_t pitch, uint32_t count,
                                 struct error *error)
{
    const struct measuring *measuring = context;
    (void)error;
    measuring->step->stage->measurement->add(measuring->state, rows, pitch, count);
    return STATUS_OK;
}

static enum status measuring_end(void *context, struct error *error)
{
    (void)context;
    (void)error;
    return STATUS_OK;
}

/* Opens the current page of the input once more. The result of a merge cannot be. */
static enum status measure_open(const struct job *job, const struct worker *worker, const char *stage,
                                struct reader **reader, struct error *error)
{
    struct reader_options options = job_reader_options(worker);
    options.page = (options.page > 0 ? options.page : 1) + job->page;
    options.last_page = 0;
    *reader = NULL;
    if (reader_info(job->reader)->video.parts > 0)
        return fail(error, STATUS_FAILED, "--%s measures the picture, which does not work on video", stage);
    if (job->is_merged)
        return fail(error, STATUS_FAILED,
                    "is no file that can be read twice, as --%s does; write it to one first", stage);
    return job->bytes > 0 ? reader_open(job->input, &options, reader, error)
                          : reader_open_again(job->reader, &options, reader, error);
}

/* Reduces the picture as far as the longer side keeps `side` pixels. */
static void measure_reduce(struct reader *reader, int side)
{
    const struct image_info *info = reader_info(reader);
    const uint32_t longer = info->width > info->height ? info->width : info->height;
    int factor = 1;
    while (factor < 8 && longer / (2 * (uint32_t)factor) >= (uint32_t)side)
        factor *= 2;
    reader_reduce(reader, factor);
}

/* True if the rows that the measurement of step `index` needs are the file's: no step comes before, and
 * conversion to planes and back would not change a sample. */
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
    enum { PIECE_SIZE = 1 << 18 }; /* bytes: stays in the cache */
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
    const struct memory_sink sink = {measuring, measuring_begin, measuring_add, measuring_end};
    struct plan_request request = job_plan_request(job, worker, reader);
    struct clipping ignored = {0};
    struct plan plan;
    request.chain = &before;
    if (plan_make(&plan, &request, &worker->run, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct shape *out = plan_output(&plan);
    struct page page = {.run = &worker->run,
                        .plan = &plan,
                        .input_conversion = job_input_conversion(job, worker),
                        .reader = reader,
                        .out = {.width = (uint32_t)out->width,
                                .height = (uint32_t)out->height,
                                .channels = out->channels,
                                .alpha = out->alpha,
                                .type = plan.out},
                        .timing = &worker->timing,
                        .clipping = &ignored};
    page.input_conversion.rounded = plan_has_large_halo(&plan);
    page.input_conversion.opponent_in = plan.opponent_in;
    page.input_conversion.opponent_out = plan.opponent_out;
    page.output_conversion = page.input_conversion;
    page.output_conversion.type = plan.out;
    page.output_conversion.channels = out->channels;
    page.output_conversion.alpha = out->alpha;
    page.output_conversion.has_range =
        page.input_conversion.has_range && sample_is_float(plan.in) && sample_is_float(plan.out);
    enum status status = memory_writer(reader_name(reader), &sink, &page.writer, error);
    if (status == STATUS_OK)
        status = flow_page(&page, error);
    writer_close(page.writer);
    plan_free(&plan);
    run_clear(&worker->run);      /* the page's planes have other sizes */
    worker->run.prebuilt = false; /* the programs of the whole chain are still to be compiled together */
    return status;
}

/* Measures for step `index` and replaces it. */
static enum status measure_step(struct job *job, struct worker *worker, size_t index, struct result *result)
{
    const struct step *step = &job->chain.steps[index];
    const struct measurement *measurement = step->stage->measurement;
    struct error *error = &result->error;
    struct measuring measuring = {.step = step};
    struct replacement replacement = {.stage = NULL};
    struct reader *reader;
    enum status status = measure_open(job, worker, step->stage->name, &reader, error);
    if (status == STATUS_OK) {
        if (measurement->sufficient_side > 0 && index == (job->orientation > 0))
            measure_reduce(reader, measurement->sufficient_side);
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
