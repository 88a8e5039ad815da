/* Computes random pieces of an output a second time and compares the bits.
 *
 *     reader ─┬─▶ chain ──────────────────────▶ compare ─▶ writer
 *             └─▶ copy ─▶ chain, second time ──────┘
 *
 * A piece is a range of output rows of one slice, with the input rows that it needs. The reader thread copies
 * these input rows when they are read. The writer thread runs the piece before it writes the piece's first
 * row, when all input rows of the slice were read, and compares each row before it is written. A pyramid is
 * one piece, and so is an image whose rows depend on the whole input.
 *
 * If the halo is small, pieces are small, and spread over the image. Chains with a large halo would compute
 * hundreds of additional rows for each piece, so they get fewer and larger pieces. */
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
    verifier->open = true;
    return STATUS_OK;
}

void verifier_close(struct verifier *verifier)
{
    if (verifier->open) {
        run_free(&verifier->run);
        event_log_free(&verifier->event_log);
        timing_free(&verifier->timing);
    }
    device_close(&verifier->device);
    verifier->open = false;
}

struct piece {
    struct interval in, out;   /* input and output rows; all rows for a pyramid */
    struct input_page *inputs; /* one page, or all pages of a pyramid; empty until their first row is read */
    struct sample_array recomputed; /* result of the second computation */
};

/* State of verify_page. The functions tap_* are callbacks of a reader and a writer that call the page's
 * reader and writer. They copy input rows for the pieces, and compare output rows with them. */
struct page_tap {
    struct verifier *verifier;
    const struct page *page;
    struct plan plan; /* of the second computation */

    struct piece *pieces; /* in the order of their rows */
    size_t count;
    int in_pages; /* number of input pages: 1, or all pages of a pyramid */

    /* Owned by the reader thread. */
    int in_page, in_row; /* next row to be read */

    /* Owned by the writer thread. */
    struct image_info out; /* current output page */
    int out_row;           /* next row to be written */
    size_t current;        /* index of the first piece that is not complete */
    size_t position;       /* index of the next value to compare in `recomputed` of that piece */
};

static void piece_free(struct piece *piece, int in_pages)
{
    for (int i = 0; piece->inputs && i < in_pages; i++)
        input_page_free(&piece->inputs[i]);
    free(piece->inputs);
    samples_free(&piece->recomputed);
    piece->inputs = NULL;
}

/* Draws a number of pieces out of all, in order, by selection sampling (D. Knuth, TAOCP 2, 3.4.2, algorithm
 * S). */
static enum status draw_pieces(struct page_tap *tap, struct error *error)
{
    const struct plan *plan = tap->page->plan;
    const double share = tap->verifier->share;
    const int height = plan_output(plan)->height;
    /* One piece: a pyramid, rows that need all input rows, or a first step that moves all samples. */
    const bool has_one_piece = !plan->sliceable || plan->moved_steps > 0 || plan_may_need_analysis(plan);
    const int slice = has_one_piece ? height : plan->slice_rows;
    /* A piece has 1% of the rows, or with a large halo the whole share; at most a slice. */
    const bool has_small_pieces = !has_one_piece && share < 1 && !plan_has_large_halo(plan);
    const double rows = height * (has_one_piece ? 1 : has_small_pieces ? fmin(share, 0.01) : share);
    const int piece_rows = (int)fmin(slice, fmax(ceil(rows), MIN_ROWS));
    /* Each slice is divided into pieces separately. */
    int pieces_left = height / slice * ceil_div(slice, piece_rows) + ceil_div(height % slice, piece_rows);
    const double wanted = ceil(share * height / piece_rows - 0.5);
    int pieces_to_draw = wanted < 1 ? 1 : wanted > pieces_left ? pieces_left : (int)wanted;
    tap->pieces = allocate_zeroed((size_t)pieces_to_draw, sizeof *tap->pieces, "pieces to verify", error);
    for (int begin = 0, end; tap->pieces && pieces_to_draw > 0; begin = end, pieces_left--) {
        const int slice_end = (int)fmin(begin - begin % slice + slice, height);
        uint64_t random;
        end = begin + piece_rows < slice_end ? begin + piece_rows : slice_end;
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            random = (uint64_t)(1e9 * clock_seconds());
        if (random % (uint64_t)pieces_left >= (uint64_t)pieces_to_draw)
            continue;
        struct piece *piece = &tap->pieces[tap->count++];
        struct interval needed[MAX_CHAIN + 1] = {{0, 0}};
        piece->out = (struct interval){begin, end};
        plan_rows(plan, piece->out, needed);
        /* An analysis pass needs all rows that enter the stages. With moved samples, needed[0] has them. */
        piece->in = plan->moved_steps == 0 && plan_may_need_analysis(plan) ? rows_full(plan->shapes[0].height)
                                                                           : needed[0];
        piece->inputs =
            allocate_zeroed((size_t)tap->in_pages, sizeof *piece->inputs, "rows to verify", error);
        if (!piece->inputs)
            return STATUS_FAILED;
        pieces_to_draw--;
    }
    return tap->pieces ? STATUS_OK : STATUS_FAILED;
}

/* ---------------------------------------------------------------- reader thread */

static enum status tap_read(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct page_tap *tap = context;
    const struct image_info *info = reader_info(tap->page->reader);
    const bool is_image = tap->page->plan->shapes[0].kind == KIND_IMAGE;
    const int end = tap->in_row + (int)count;
    enum status status = reader_read(tap->page->reader, rows, pitch, count, error);
    for (size_t i = 0; status == STATUS_OK && i < tap->count; i++) {
        struct piece *piece = &tap->pieces[i];
        const struct interval needed = is_image ? piece->in : rows_full((int)info->height);
        if (needed.begin >= end || needed.end <= tap->in_row)
            continue;
        struct input_page *input = &piece->inputs[tap->in_page];
        if (!input->samples)
            status = input_page_init(input, info, needed, error);
        for (int y = tap->in_row; status == STATUS_OK && y < end; y++)
            if (y >= needed.begin && y < needed.end)
                memcpy(input->samples + row_size(info) * (size_t)(y - needed.begin),
                       (unsigned char *)rows + pitch * (size_t)(y - tap->in_row), row_size(info));
    }
    tap->in_row = end;
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

static enum status run_piece(struct page_tap *tap, struct piece *piece, struct error *error)
{
    const double since = clock_seconds();
    struct plan part = tap->plan;
    struct page page = *tap->page;
    plan_set_part(&part, piece->out);
    page.run = &tap->verifier->run;
    page.plan = &part;
    page.output_conversion.counts_clipping = false;
    enum status status =
        run_in_memory("--verify", &page, piece->inputs, (size_t)tap->in_pages, &piece->recomputed, error);
    timing_add_within(run_timing(tap->page->run), PHASE_VERIFY, PHASE_ENCODE, "verify", since);
    return status;
}

/* Describes memory and kernel variant for a message. */
static const char *variant_text(const struct run *run)
{
    bool is_cpu = run->device->variant == VARIANT_CPU, images = run->memory == MEMORY_IMAGE;
    return images ? "images" : is_cpu ? "buffers, kernels for CPUs" : "buffers, kernels for GPUs";
}

/* Compares a row with its second computation. Two NaN are equal: no device promises their bits. */
static enum status compare_row(struct page_tap *tap, const struct sample_array *recomputed, int y,
                               const unsigned char *row, struct error *error)
{
    const struct image_info *out = &tap->out;
    const size_t count = row_values(out), size = sample_size(recomputed->type);
    const unsigned char *expected = recomputed->bytes + tap->position * size;
    const size_t parts = out->type == SAMPLE_COMPLEX ? 2 : 1, channels = (size_t)out->channels;
    const bool is_pyramid = plan_output(tap->page->plan)->kind == KIND_PYRAMID;
    const double scale = sample_full_scale(recomputed->type);
    const struct run *first = tap->page->run, *second = &tap->verifier->run;
    tap->position += count;
    if (memcmp(row, expected, count * size) == 0)
        return STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        const double value = sample_value(recomputed->type, row, i),
                     other = sample_value(recomputed->type, expected, i);
        if (memcmp(row + i * size, expected + i * size, size) == 0 || (isnan(value) && isnan(other)))
            continue;
        return fail(error, STATUS_FAILED,
                    "--verify: %s%srow %d, column %zu, channel %zu is %.9g (%s, %s), and %.9g when it is "
                    "computed again (%s, %s); one of them is wrong: see climg --selftest",
                    is_pyramid ? out->page_name : "", is_pyramid ? ", " : "", y, i / parts / channels,
                    i / parts % channels, value * scale, first->device->name, variant_text(first),
                    other * scale, second->device->name, variant_text(second));
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
    for (uint32_t i = 0; i < count; i++) {
        const int y = tap->out_row++;
        struct piece *piece = &tap->pieces[tap->current];
        if (tap->current == tap->count || (is_image && y < piece->out.begin))
            continue;
        if (!piece->recomputed.bytes && run_piece(tap, piece, error) != STATUS_OK)
            return STATUS_FAILED;
        if (compare_row(tap, &piece->recomputed, y, (const unsigned char *)rows + i * pitch, error) !=
            STATUS_OK)
            return STATUS_FAILED;
        if (is_image && y + 1 == piece->out.end) {
            piece_free(piece, tap->in_pages);
            tap->current++;
            tap->position = 0;
        }
    }
    return writer_write(tap->page->writer, rows, pitch, count, error);
}

static enum status tap_end_page(void *context, struct error *error)
{
    return writer_end_page(((struct page_tap *)context)->page->writer, error);
}

/* ---------------------------------------------------------------- a page */

enum status verify_page(struct verifier *verifier, const struct page *page, struct error *error)
{
    struct page_tap tap = {.verifier = verifier, .page = page};
    const struct memory_source source = {&tap, tap_read, tap_next_page};
    const struct memory_sink sink = {&tap, tap_begin_page, tap_write, tap_end_page};
    const struct plan *plan = page->plan;
    const char *name = reader_name(page->reader);
    struct page tapped = *page;
    tapped.reader = NULL;
    tapped.writer = NULL;
    /* --align and --stack treat the input of a merge differently. */
    verifier->run.is_merged = page->run->is_merged;
    verifier->run.input = page->run->input;
    tap.in_pages = plan->shapes[0].kind == KIND_IMAGE ? 1 : coefficients_page_count(&plan->shapes[0]);
    enum status status = plan_make(&tap.plan,
                                   &(struct plan_request){.chain = plan->chain,
                                                          .input = plan->shapes[0],
                                                          .in = plan->in,
                                                          .out = plan->out,
                                                          .converted = plan->converted},
                                   &verifier->run, error);
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
        piece_free(&tap.pieces[i], tap.in_pages);
    free(tap.pieces);
    plan_free(&tap.plan);
    run_trim(&verifier->run);
    return status;
}
