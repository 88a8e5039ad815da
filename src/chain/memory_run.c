/* Runs a chain on samples in memory.
 *
 *     input pages ─▶ memory_reader ─▶ flow_page ─▶ memory_writer ─▶ one array of values
 *
 * flow_page needs a reader and a writer, so this file has the callbacks of image/memory_io.h for arrays. It
 * does not call slice_run directly, so that --selftest tests the threads and the staging buffers, too. */
#include "chain/memory_run.h"

#include "chain/planner.h"
#include "image/memory_io.h"

#include <stdlib.h>
#include <string.h>

enum status input_page_init(struct input_page *input, const struct image_info *info, struct error *error)
{
    *input = (struct input_page){.info = *info};
    memset(&input->info.metadata, 0, sizeof input->info.metadata);
    input->samples = allocate(row_size(info) * info->height, "rows of samples", error);
    return input->samples ? STATUS_OK : STATUS_FAILED;
}

void input_page_free(struct input_page *input)
{
    free(input->samples);
    input->samples = NULL;
}

void samples_free(struct sample_array *values)
{
    free(values->bytes);
    *values = (struct sample_array){.count = 0};
}

struct page memory_page(struct run *run, const struct plan *plan, bool linear, double exponent)
{
    const struct shape *in = &plan->shapes[0], *out = plan_output(plan);
    const bool has_stages = plan->chain->count > 0;
    struct page page = {.run = run, .plan = plan};
    page.out = (struct image_info){.width = (uint32_t)out->width,
                                   .height = (uint32_t)out->height,
                                   .channels = out->channels,
                                   .alpha = out->alpha,
                                   .type = plan->out};
    page.input_conversion = (struct conversion){.type = plan->in,
                                                .channels = in->channels,
                                                .alpha = in->alpha,
                                                .multiply = has_stages,
                                                .flushes_tiny_alpha = plan_has_large_halo(plan),
                                                .linear = linear && has_stages,
                                                .exponent = exponent,
                                                .opponent_in = plan->opponent_in,
                                                .opponent_out = plan->opponent_out};
    page.output_conversion = page.input_conversion;
    page.output_conversion.type = plan->out;
    page.output_conversion.channels = out->channels;
    page.output_conversion.alpha = out->alpha;
    page.output_conversion.counts_clipping =
        transfer_clips(plan->in, plan->out, chain_caps(plan->chain).amplifies);
    return page;
}

/* State of the reader and the writer. */
struct memory_run {
    /* Owned by the reader thread. */
    const struct input_page *inputs;
    size_t count, input; /* number of inputs, and index of the current one */
    uint32_t row;        /* next row to read */

    /* Owned by the writer thread. */
    struct image_info out; /* current output page */
    struct sample_array *values;
};

static enum status memory_run_read_rows(void *context, void *rows, size_t pitch, uint32_t count,
                                        struct error *error)
{
    struct memory_run *memory_run = context;
    const struct input_page *input = &memory_run->inputs[memory_run->input];
    const size_t size = row_size(&input->info);
    (void)error;
    for (uint32_t y = 0; y < count; y++, memory_run->row++)
        memcpy((unsigned char *)rows + y * pitch, input->samples + memory_run->row * size, size);
    return STATUS_OK;
}

static enum status memory_run_next_page(void *context, struct image_info *info, bool *more,
                                        struct error *error)
{
    struct memory_run *memory_run = context;
    (void)error;
    *more = memory_run->input + 1 < memory_run->count;
    memory_run->input += *more;
    memory_run->row = 0;
    *info = memory_run->inputs[memory_run->input].info;
    return STATUS_OK;
}

static enum status memory_run_begin_page(void *context, const struct image_info *info, struct error *error)
{
    (void)error;
    ((struct memory_run *)context)->out = *info;
    return STATUS_OK;
}

/* Appends the rows' values, without padding. */
static enum status memory_run_write_rows(void *context, const void *rows, size_t pitch, uint32_t count,
                                         struct error *error)
{
    const struct memory_run *memory_run = context;
    struct sample_array *values = memory_run->values;
    const enum sample_type stored = memory_run->out.type,
                           type = stored == SAMPLE_COMPLEX ? SAMPLE_FLOAT : stored; /* two values */
    const size_t unit = sample_size(type), row = row_size(&memory_run->out), used = values->count * unit,
                 needed = used + count * row;
    if (needed > values->capacity) {
        const size_t capacity = needed < 2 * values->capacity ? 2 * values->capacity : needed;
        unsigned char *bytes = realloc(values->bytes, capacity);
        if (!bytes)
            return fail_memory(error, "out of memory for rows of samples");
        values->bytes = bytes;
        values->capacity = capacity;
    }
    for (uint32_t y = 0; y < count; y++)
        memcpy(values->bytes + used + y * row, (const unsigned char *)rows + y * pitch, row);
    values->type = type;
    values->count += count * row / unit;
    return STATUS_OK;
}

enum status run_in_memory(const char *name, const struct page *page, const struct input_page *inputs,
                          size_t count, struct sample_array *values, struct error *error)
{
    struct memory_run memory_run = {.inputs = inputs, .count = count, .values = values};
    const struct memory_source source = {&memory_run, memory_run_read_rows, memory_run_next_page};
    const struct memory_sink sink = {&memory_run, memory_run_begin_page, memory_run_write_rows, NULL};
    struct clipping clipping = {0};
    struct page copy = *page;
    copy.reader = NULL;
    copy.writer = NULL;
    copy.clipping = &clipping;
    enum status status = memory_reader(name, &inputs[0].info, &source, &copy.reader, error);
    if (status == STATUS_OK)
        status = memory_writer(name, &sink, &copy.writer, error);
    if (status == STATUS_OK)
        status = flow_page(&copy, error);
    if (status != STATUS_OK)
        event_log_discard(page->run->device->event_log);
    reader_close(copy.reader);
    writer_close(copy.writer);
    return status;
}

bool transfer_works(struct run *run)
{
    unsigned char pixel = 165; /* bits 10100101 */
    const struct chain none = {.count = 0};
    const struct input_page input = {.info = {.width = 1, .height = 1, .channels = 1, .type = SAMPLE_UINT8},
                                     .samples = &pixel};
    struct sample_array output = {.count = 0};
    struct plan plan;
    struct error ignored;
    if (plan_make(
            &plan,
            &(struct plan_request){
                .chain = &none, .input = image_shape(&input.info), .in = SAMPLE_UINT8, .out = SAMPLE_UINT8},
            run, &ignored) != STATUS_OK)
        return false;
    const struct page page = memory_page(run, &plan, false, 0);
    const bool works = run_in_memory("climg", &page, &input, 1, &output, &ignored) == STATUS_OK &&
                       output.count == 1 && output.bytes[0] == pixel;
    samples_free(&output);
    plan_free(&plan);
    return works;
}
