/* Computes random pieces of an output a second time and compares the bits.
 *
 *     reader ─┬─▶ chain ──────────────────────▶ compare ─▶ writer
 *             └─▶ copy ─▶ chain, second time ──────┘
 *
 * A piece is a range of output rows of one slice, with the input rows that it needs. The reader thread copies
 * these input rows when they are read. The writer thread runs the piece before it writes the piece's first
 * row, when all input rows of the slice were read, and compares each row before it is written. A pyramid is
 * one piece, and so is an image whose rows depend on the whole input. */
#include "chain/verify.h"

#include "base/timing.h"
#include "chain/coefficients.h"
#include "chain/planner.h"
#include "device/device.h"
#include "image/memory_io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { MIN_ROWS = 16 }; /* least output rows of a piece, as its halo is computed, too */

enum status verifier_open(struct verifier *verifier, const struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error)
{
    struct device *device = &verifier->device;
    *verifier = (struct verifier){.share = verify->share};
    enum status status = verify->device
                             ? device_open_named(verify->device, opened->environment, force, device, error)
                             : device_share(opened, device, error);
    if (status == STATUS_OK && verify->device && !(device_is_exact(opened) && device_is_exact(device)))
        status = fail(error, STATUS_FAILED,
                      "--verify=%s: results of %s may differ from those of other devices in the last bit",
                      verify->device, device_is_exact(opened) ? device->name : opened->name);
    if (status != STATUS_OK) {
        device_close(device);
        return status;
    }
    if (device->id == opened->id)
        device->variant = opened->variant == VARIANT_CPU ? VARIANT_GPU : VARIANT_CPU;
    device->event_log = &verifier->event_log;
    timing_begin(&verifier->timing, false);
    verifier->event_log.timing = &verifier->timing;
    run_init(&verifier->run, device, MEMORY_BUFFER, run->edge);
    verifier->run.limits = run->limits;
    verifier->is_open = true;
    return STATUS_OK;
}

void verifier_close(struct verifier *verifier)
{
    if (verifier->is_open) {
        run_free(&verifier->run);
        event_log_free(&verifier->event_log);
        timing_free(&verifier->timing);
    }
    device_close(&verifier->device);
    verifier->is_open = false;
}

/* Output rows to compute again, and the input rows that they need. */
struct piece {
    struct interval in, out;
};

/* State of verify_page. The functions tap_* are callbacks of a reader and a writer that call the page's
 * reader and writer. They copy input rows for the pieces, and compare output rows with them. */
struct page_tap {
    struct verifier *verifier;
    const struct page *page;
    struct plan plan; /* of the second computation */

    struct piece *pieces; /* in the order of their rows */
    size_t count;
    struct input_page *inputs; /* in_pages of them for each piece; empty until their first row is read */
    size_t in_pages;           /* number of input pages: 1, or all pages of a pyramid */

    /* Owned by the reader thread. */
    size_t in_page;
    int in_row; /* next row to be read */

    /* Owned by the writer thread. */
    struct image_info out;          /* current output page */
    int out_row;                    /* next row to be written */
    size_t current;                 /* index of the first piece that is not complete */
    struct sample_array recomputed; /* result of the second computation of that piece */
    size_t position;                /* index of the next value to compare in it */
};

static void free_inputs(struct page_tap *tap, size_t piece)
{
    for (size_t i = 0; i < tap->in_pages; i++)
        input_page_free(&tap->inputs[piece * tap->in_pages + i]);
}

/* Draws pieces at random, at most one in each slice. A piece has at least MIN_ROWS rows. If the share of a
 * slice is less, only some slices have a piece, so that the share of the page is right. If no other slice has
 * one, the last slice has. */
static enum status draw_pieces(struct page_tap *tap, struct error *error)
{
    const struct plan *plan = tap->page->plan;
    const int height = plan_output(plan)->height;
    /* A pyramid, rows that need all input rows, and a first step that moves all samples: all of it. */
    const bool needs_all = plan_may_need_analysis(plan), is_moved = plan->raster_steps > 0;
    const bool is_whole = !plan->sliceable || is_moved || needs_all;
    const double share = is_whole ? 1 : tap->verifier->share;
    const int slice = is_whole ? height : plan->slice_rows;
    const size_t most = (size_t)ceil_div(height, slice);
    tap->pieces = allocate_zeroed(most, sizeof *tap->pieces, "pieces to verify", error);
    tap->inputs = allocate_zeroed(most * tap->in_pages, sizeof *tap->inputs, "pieces to verify", error);
    if (!tap->pieces || !tap->inputs)
        return STATUS_FAILED;
    for (int begin = 0, size; begin < height; begin += size) {
        size = begin + slice < height ? slice : height - begin;
        const int rows = (int)fmin(size, fmax(ceil(share * size), MIN_ROWS));
        uint32_t random[2];
        if (getrandom(random, sizeof random, 0) != sizeof random)
            random[0] = random[1] = 0; /* the slice's first rows */
        if (ldexp(random[0], -32) * rows >= share * size && (begin + size < height || tap->count > 0))
            continue;
        /* Divide the slice, so that its first and last rows, where halos are, are as likely as others. */
        const int part = (int)(random[1] % (uint32_t)ceil_div(size, rows)) * rows;
        const int first = begin + (part < size - rows ? part : size - rows);
        struct piece *piece = &tap->pieces[tap->count++];
        struct interval needed[MAX_CHAIN + 1] = {{0, 0}};
        piece->out = (struct interval){first, first + rows};
        plan_rows(plan, piece->out, needed);
        /* An analysis pass needs all rows that enter the stages. With moved samples, needed[0] has them. */
        piece->in = needs_all && !is_moved ? rows_full(plan->shapes[0].height) : needed[0];
    }
    return STATUS_OK;
}

/* ---------------------------------------------------------------- reader thread */

static enum status tap_read(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct page_tap *tap = context;
    const struct image_info *info = reader_info(tap->page->reader);
    const bool is_image = tap->page->plan->shapes[0].kind == KIND_IMAGE;
    const int begin = tap->in_row, end = tap->in_row += (int)count;
    enum status status = reader_read(tap->page->reader, rows, pitch, count, error);
    for (size_t i = 0; status == STATUS_OK && i < tap->count; i++) {
        struct input_page *input = &tap->inputs[i * tap->in_pages + tap->in_page];
        const struct interval needed = is_image ? tap->pieces[i].in : rows_full((int)info->height);
        if (needed.begin >= end || needed.end <= begin)
            continue;
        if (!input->samples)
            status = input_page_init(input, info, needed, error);
        for (int y = begin; status == STATUS_OK && y < end; y++)
            if (y >= needed.begin && y < needed.end)
                memcpy(input->samples + row_size(info) * (size_t)(y - needed.begin),
                       (unsigned char *)rows + pitch * (size_t)(y - begin), row_size(info));
    }
    return status;
}

static enum status tap_next_page(void *context, struct image_info *info, bool *more, struct error *error)
{
    struct page_tap *tap = context;
    enum status status = reader_next_page(tap->page->reader, more, error);
    if (status != STATUS_OK || !*more)
        return status;
    *info = *reader_info(tap->page->reader);
    memset(&info->metadata, 0, sizeof info->metadata); /* belongs to the reader */
    tap->in_page++;
    tap->in_row = 0;
    return STATUS_OK;
}

/* ---------------------------------------------------------------- writer thread */

/* Computes the current piece again. */
static enum status run_piece(struct page_tap *tap, struct error *error)
{
    const double since = clock_seconds();
    const struct interval out = tap->pieces[tap->current].out;
    const int rows = out.end - out.begin;
    struct plan part = tap->plan;
    struct page page = *tap->page;
    part.output_rows = out;
    plan_set_slice(&part, part.slice_rows < rows ? part.slice_rows : rows);
    page.run = &tap->verifier->run;
    page.plan = &part;
    page.output_conversion.counts_clipping = false;
    enum status status = run_in_memory("--verify", &page, &tap->inputs[tap->current * tap->in_pages],
                                       tap->in_pages, &tap->recomputed, error);
    timing_add_within(run_timing(tap->page->run), PHASE_VERIFY, PHASE_ENCODE, "verify", since);
    return status;
}

/* Compares a row with its second computation. Two NaN are equal: no device promises their bits. */
static enum status compare_row(struct page_tap *tap, int y, const unsigned char *row, struct error *error)
{
    static const char *const kernels[] = {
        [VARIANT_CPU] = "kernels for CPUs", [VARIANT_GPU] = "kernels for GPUs"};
    const struct device *first = tap->page->run->device, *second = tap->verifier->run.device;
    const struct image_info *out = &tap->out;
    const enum sample_type type = tap->recomputed.type;
    const size_t count = row_values(out), size = sample_size(type), channels = (size_t)out->channels;
    const size_t parts = out->type == SAMPLE_COMPLEX ? 2 : 1;
    const unsigned char *expected = tap->recomputed.bytes + tap->position * size;
    const bool is_pyramid = plan_output(tap->page->plan)->kind == KIND_PYRAMID;
    tap->position += count;
    for (size_t i = memcmp(row, expected, count * size) == 0 ? count : 0; i < count; i++) {
        const double value = sample_value(type, row, i), other = sample_value(type, expected, i);
        if (memcmp(row + i * size, expected + i * size, size) == 0 || (isnan(value) && isnan(other)))
            continue;
        return fail(error, STATUS_FAILED,
                    "--verify: %s%srow %d, column %zu, channel %zu is %.9g (%s, %s), and %.9g when it is "
                    "computed again (%s, %s); one of them is wrong: see climg --selftest",
                    is_pyramid ? out->page_name : "", is_pyramid ? ", " : "", y, i / parts / channels,
                    i / parts % channels, value * sample_full_scale(type), first->name,
                    kernels[first->variant], other * sample_full_scale(type), second->name,
                    kernels[second->variant]);
    }
    return STATUS_OK;
}

static enum status tap_begin_page(void *context, const struct image_info *info, struct error *error)
{
    struct page_tap *tap = context;
    tap->out = *info;
    tap->out_row = 0;
    return writer_begin_page(tap->page->writer, info, error);
}

static enum status tap_write(void *context, const void *rows, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct page_tap *tap = context;
    const bool is_image = plan_output(tap->page->plan)->kind == KIND_IMAGE;
    for (uint32_t i = 0; i < count && tap->current < tap->count; i++) {
        const struct piece *piece = &tap->pieces[tap->current];
        const int y = tap->out_row + (int)i;
        if (is_image && y < piece->out.begin)
            continue;
        if (!tap->recomputed.bytes && run_piece(tap, error) != STATUS_OK)
            return STATUS_FAILED;
        if (compare_row(tap, y, (const unsigned char *)rows + i * pitch, error) != STATUS_OK)
            return STATUS_FAILED;
        if (is_image && y + 1 == piece->out.end) {
            free_inputs(tap, tap->current);
            samples_free(&tap->recomputed);
            tap->position = 0;
            tap->current++;
        }
    }
    tap->out_row += (int)count;
    return writer_write(tap->page->writer, rows, pitch, count, error);
}

static enum status tap_end_page(void *context, struct error *error)
{
    return writer_end_page(((struct page_tap *)context)->page->writer, error);
}

/* ---------------------------------------------------------------- a page */

enum status verify_page(struct verifier *verifier, const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    const struct shape *in = &plan->shapes[0];
    const struct plan_request request = {
        .chain = plan->chain, .input = *in, .in = plan->in, .out = plan->out, .converted = plan->converted};
    struct page_tap tap = {.verifier = verifier,
                           .page = page,
                           .in_pages = in->kind == KIND_IMAGE ? 1 : (size_t)coefficients_page_count(in)};
    const struct memory_source source = {&tap, tap_read, tap_next_page};
    const struct memory_sink sink = {&tap, tap_begin_page, tap_write, tap_end_page};
    const char *name = reader_name(page->reader);
    struct page tapped = *page;
    tapped.reader = NULL;
    tapped.writer = NULL;
    verifier->run.limits = page->run->limits; /* a repeated job has smaller ones */
    /* --align and --stack treat the input of a merge differently. */
    verifier->run.is_merged = page->run->is_merged;
    verifier->run.input = page->run->input;
    enum status status = plan_make(&tap.plan, &request, &verifier->run, error);
    if (status == STATUS_OK)
        status = draw_pieces(&tap, error);
    if (status == STATUS_OK)
        status = memory_reader(name, reader_info(page->reader), &source, &tapped.reader, error);
    if (status == STATUS_OK)
        status = memory_writer(name, &sink, &tapped.writer, error);
    if (status == STATUS_OK)
        status = flow_page(&tapped, error);
    reader_close(tapped.reader);
    writer_close(tapped.writer);
    for (size_t i = 0; i < tap.count; i++)
        free_inputs(&tap, i);
    free(tap.inputs);
    free(tap.pieces);
    samples_free(&tap.recomputed);
    plan_free(&tap.plan);
    run_trim(&verifier->run);
    return status;
}
