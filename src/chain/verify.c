/* Taps the data between reader, chain and writer, and has complete pieces computed again (recheck.c).
 *
 * A piece is a range of output rows together with the input rows that it needs. Pieces are drawn at
 * random before the page is read. The reader's thread copies input rows into the pieces that need them;
 * the writer's thread copies output rows, and rechecks each piece when it is complete, before its last
 * rows are written. A pyramid is one piece.
 *
 * Pieces are small where the halo is small, so that the rows spread over the image. Chains with a large
 * halo would compute hundreds of additional rows for each piece, so the whole share is one piece. */
#include "chain/verify.h"

#include "base/timing.h"
#include "chain/coefficients.h"
#include "chain/page.h"
#include "chain/planner.h"
#include "device/device.h"
#include "image/memory_io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Returns a random number below `below`: xorshift64 (G. Marsaglia, J. Stat. Soft. 8, 2003). */
static uint64_t draw_random(struct verifier *verifier, uint64_t below)
{
    uint64_t x = verifier->random_state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    verifier->random_state = x;
    return (x >> 11) % below;
}

enum status verifier_open(struct verifier *verifier, const struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error)
{
    *verifier = (struct verifier){.share = verify->share, .other_device = verify->device != NULL};
    enum status status = verifier->other_device ? device_find(verify->device, opened->environment, force,
                                                              &verifier->device, error)
                                                : device_share(opened, &verifier->device, error);
    if (status != STATUS_OK) {
        device_close(&verifier->device);
        return status;
    }
    if (verifier->other_device && !(device_is_exact(opened) && device_is_exact(&verifier->device))) {
        const char *name = device_is_exact(opened) ? verifier->device.name : opened->name;
        fail(error, STATUS_FAILED,
             "--verify=%s: results of %s may differ from those of other devices in the last bit",
             verify->device, name);
        device_close(&verifier->device);
        return STATUS_FAILED;
    }
    verifier->device.profile = &verifier->profile;
    timing_begin(&verifier->timing, false);
    verifier->profile.timing = &verifier->timing;
    run_init(&verifier->run, &verifier->device, MEMORY_BUFFER, run->edge);
    verifier->run.limits.device = run->limits.device;
    verifier->run.limits.host = run->limits.host;
    if (getrandom(&verifier->random_state, sizeof verifier->random_state, 0) < 0 ||
        verifier->random_state == 0)
        verifier->random_state = (uint64_t)(1e9 * clock_seconds()) | 1;
    verifier->open = true;
    return STATUS_OK;
}

void verifier_close(struct verifier *verifier)
{
    if (verifier->open) {
        run_free(&verifier->run);
        profile_free(&verifier->profile);
        timing_free(&verifier->timing);
    }
    device_close(&verifier->device);
    verifier->open = false;
}

/* Images are only used with the kernel variants for GPUs. */
void verifier_choose_way(struct verifier *verifier, const struct run *first, const struct plan *plan)
{
    struct run *run = &verifier->run;
    bool fits = verifier->device.has_images && first->device->class == DEVICE_GPU;
    for (size_t i = 0; i <= plan->chain->count; i++)
        fits = fits && (size_t)plan->shapes[i].width <= verifier->device.image_width;
    if (verifier->other_device)
        return;
    verifier->device.class = first->device->class;
    run->memory = first->memory == MEMORY_BUFFER && fits ? MEMORY_IMAGE : MEMORY_BUFFER;
    if (first->memory == MEMORY_BUFFER && !fits)
        verifier->device.class = first->device->class == DEVICE_CPU ? DEVICE_GPU : DEVICE_CPU;
}

/* Minimum rows of a piece, as its halo is computed, too. */
enum { LEAST_ROWS = 16 };

/* A page whose data are tapped. The reader's thread writes the inputs of pieces, the writer's thread
 * their outputs; a piece's inputs are complete before its first output. */
struct page_tap {
    struct verifier *verifier;
    const struct page *page;
    struct plan plan; /* plan of the second computation */
    struct piece *pieces;
    size_t count;            /* of pieces */
    size_t reading, writing; /* indices of the first pieces whose inputs or outputs are incomplete */
    int in_row, out_row;     /* next rows of the current pages */
    int out_pages;           /* number of complete output pages */
    struct image_info out;   /* current output page */
};

/* Returns the number of rows of a piece, from LEAST_ROWS to a slice: 1% of the image, or with a large
 * halo the whole share. It is the whole image if every row depends on all of the input. */
static int choose_unit(const struct page_tap *tap, int height)
{
    const struct plan *plan = tap->page->plan;
    double share = tap->verifier->share;
    if (plan->moved > 0 || plan_may_need_analysis(plan))
        return height;
    if (!plan->sliceable || share >= 1)
        return plan->slice;
    int unit = (int)ceil(height * (plan_has_large_halo(plan) ? share : fmin(share, 0.01)));
    unit = unit < LEAST_ROWS ? LEAST_ROWS : unit;
    return unit < plan->slice ? unit : plan->slice;
}

/* Draws the pieces by selection sampling (D. Knuth, TAOCP 2, 3.4.2, algorithm S): a given number out of
 * all, in order. */
static enum status choose_pieces(struct page_tap *tap, struct error *error)
{
    const struct plan *plan = tap->page->plan;
    int height = plan_output(plan)->height, unit = choose_unit(tap, height),
        remaining = (height - 1) / unit + 1;
    double units = ceil(tap->verifier->share * height / unit - 0.5);
    int to_draw = units < 1 ? 1 : units > remaining ? remaining : (int)units;
    tap->pieces = allocate_zeroed((size_t)to_draw, sizeof *tap->pieces, "pieces to verify", error);
    if (!tap->pieces)
        return STATUS_FAILED;
    for (int begin = 0; to_draw > 0; begin += unit, remaining--) {
        if (draw_random(tap->verifier, (uint64_t)remaining) >= (uint64_t)to_draw)
            continue;
        struct piece *piece = &tap->pieces[tap->count++];
        struct rows rows[MAX_CHAIN + 1] = {{0, 0}};
        piece->out = (struct rows){begin, begin + unit < height ? begin + unit : height};
        plan_rows(plan, piece->out, rows);
        piece->in = rows[0];
        to_draw--;
    }
    return STATUS_OK;
}

/* Adds an input page to a piece. */
static enum status add_input(struct piece *piece, const struct image_info *info, struct rows rows,
                             struct error *error)
{
    struct input_page *given = realloc(piece->inputs, (piece->input_count + 1) * sizeof *given);
    if (!given)
        return fail_memory(error, "out of memory for rows to verify");
    piece->inputs = given;
    return input_page_init(&given[piece->input_count++], info, rows, error);
}

/* Begins the next input page; of a pyramid each page is an input of the piece. */
static enum status begin_input(struct page_tap *tap, struct error *error)
{
    const struct image_info *info = reader_info(tap->page->reader);
    tap->in_row = 0;
    if (tap->page->plan->shapes[0].kind == KIND_IMAGE)
        return STATUS_OK;
    return add_input(&tap->pieces[0], info, rows_full((int)info->height), error);
}

/* Copies the rows of [in_row, in_row + count) that the piece needs. */
static enum status keep_input(const struct page_tap *tap, struct piece *piece, const unsigned char *rows,
                              size_t pitch, int count, struct error *error)
{
    const struct image_info *info = reader_info(tap->page->reader);
    enum status status = STATUS_OK;
    if (piece->input_count == 0)
        status = add_input(piece, info, piece->in, error);
    if (status != STATUS_OK)
        return status;
    const struct input_page *input = &piece->inputs[piece->input_count - 1];
    size_t size = row_size(info);
    for (int y = 0; y < count; y++) {
        int row = tap->in_row + y;
        if (row >= input->rows.begin && row < input->rows.end)
            memcpy(input->samples + (size_t)(row - input->rows.begin) * size, rows + (size_t)y * pitch, size);
    }
    return STATUS_OK;
}

static enum status tap_read(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct page_tap *tap = context;
    bool image = tap->page->plan->shapes[0].kind == KIND_IMAGE;
    enum status status = reader_read(tap->page->reader, rows, pitch, count, error);
    int end = tap->in_row + (int)count;
    for (size_t i = tap->reading; status == STATUS_OK && i < tap->count; i++) {
        if (image && tap->pieces[i].in.begin >= end)
            break;
        status = keep_input(tap, &tap->pieces[i], rows, pitch, (int)count, error);
    }
    tap->in_row = end;
    while (image && tap->reading < tap->count && tap->pieces[tap->reading].in.end <= end)
        tap->reading++;
    return status;
}

static enum status tap_next_page(void *context, struct image_info *info, bool *more, struct error *error)
{
    struct page_tap *tap = context;
    enum status status = reader_next_page(tap->page->reader, more, error);
    if (status != STATUS_OK || !*more)
        return status;
    *info = *reader_info(tap->page->reader);
    memset(&info->metadata, 0, sizeof info->metadata);
    return begin_input(tap, error);
}

static enum status tap_begin_page(void *context, const struct image_info *info, struct error *error)
{
    struct page_tap *tap = context;
    tap->out = *info;
    tap->out_row = 0;
    return writer_begin_page(tap->page->writer, info, error);
}

/* Rechecks a complete piece and frees it. */
static enum status verify_piece(struct page_tap *tap, struct piece *piece, struct error *error)
{
    double since = clock_seconds();
    enum status status = recheck(tap->verifier, tap->page, &tap->plan, piece, error);
    piece_clear(piece);
    timing_add_within(tap->page->timing, PART_VERIFY, PART_ENCODE, "verify", since);
    return status;
}

/* Copies the output rows of [out_row, out_row + count) that belong to the piece. */
static enum status keep_output(const struct page_tap *tap, struct piece *piece, const unsigned char *rows,
                               size_t pitch, int count, struct error *error)
{
    bool image = plan_output(tap->page->plan)->kind == KIND_IMAGE;
    enum status status = STATUS_OK;
    for (int y = 0; status == STATUS_OK && y < count; y++) {
        int row = tap->out_row + y;
        if (!image || (row >= piece->out.begin && row < piece->out.end))
            status = samples_add(&piece->output, tap->out.type, rows + (size_t)y * pitch,
                                 input_page_row(&tap->out), error);
    }
    return status;
}

/* Rechecks pieces that are complete now, and then writes the rows: rows found wrong are never written. */
static enum status tap_write(void *context, const void *rows, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct page_tap *tap = context;
    bool image = plan_output(tap->page->plan)->kind == KIND_IMAGE;
    int end = tap->out_row + (int)count;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && tap->writing < tap->count) {
        struct piece *piece = &tap->pieces[tap->writing];
        status = keep_output(tap, piece, rows, pitch, (int)count, error);
        if (!image || piece->out.end > end)
            break;
        if (status == STATUS_OK)
            status = verify_piece(tap, piece, error);
        tap->writing++;
    }
    tap->out_row = end;
    return status == STATUS_OK ? writer_write(tap->page->writer, rows, pitch, count, error) : status;
}

static enum status tap_end_page(void *context, struct error *error)
{
    struct page_tap *tap = context;
    const struct shape *shape = plan_output(tap->page->plan);
    enum status status = STATUS_OK;
    tap->out_pages++;
    if (shape->kind == KIND_PYRAMID && tap->out_pages == coefficients_page_count(shape))
        status = verify_piece(tap, &tap->pieces[0], error);
    return status == STATUS_OK ? writer_end_page(tap->page->writer, error) : status;
}

/* Runs the page with a reader and a writer that tap its data. */
static enum status flow_tapped(struct page_tap *tap, struct error *error)
{
    const struct memory_source source = {tap, tap_read, tap_next_page};
    const struct memory_sink sink = {tap, tap_begin_page, tap_write, tap_end_page};
    struct page page = *tap->page;
    const char *name = reader_name(page.reader);
    struct reader *reader = NULL;
    struct writer *writer = NULL;
    enum status status = memory_reader(name, reader_info(page.reader), &source, &reader, error);
    if (status == STATUS_OK)
        status = memory_writer(name, &sink, &writer, error);
    if (status == STATUS_OK)
        status = begin_input(tap, error);
    page.reader = reader;
    page.writer = writer;
    if (status == STATUS_OK)
        status = flow_page(&page, error);
    reader_close(reader);
    writer_close(writer);
    return status;
}

enum status verify_page(struct verifier *verifier, const struct page *page, struct error *error)
{
    struct page_tap tap = {.verifier = verifier, .page = page};
    verifier_choose_way(verifier, page->run, page->plan);
    const struct plan *plan = page->plan;
    enum status status =
        plan_make(&tap.plan,
                  &(struct plan_request){
                      .chain = plan->chain, .input = plan->shapes[0], .in = plan->in, .out = plan->out},
                  &verifier->run, error);
    if (status != STATUS_OK)
        return status;
    status = choose_pieces(&tap, error);
    if (status == STATUS_OK)
        status = flow_tapped(&tap, error);
    for (size_t i = 0; i < tap.count; i++)
        piece_clear(&tap.pieces[i]);
    free(tap.pieces);
    plan_free(&tap.plan);
    run_trim(&verifier->run);
    return status;
}
