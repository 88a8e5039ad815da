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

/* xorshift64 (G. Marsaglia, J. Stat. Soft. 8, 2003). */
static uint64_t draw(struct verifier *verifier, uint64_t below)
{
    uint64_t x = verifier->chance;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    verifier->chance = x;
    return (x >> 11) % below;
}

enum status verifier_open(struct verifier *verifier, const struct run *run, const struct device *opened,
                          const struct verify_option *verify, bool force, struct error *error)
{
    *verifier = (struct verifier){.share = verify->share, .elsewhere = verify->device != NULL};
    enum status status = verifier->elsewhere ? device_find(verify->device, opened->environment, force,
                                                           &verifier->device, error)
                                             : device_share(opened, &verifier->device, error);
    if (status != STATUS_OK) {
        device_close(&verifier->device);
        return status;
    }
    if (verifier->elsewhere && !(device_is_exact(opened) && device_is_exact(&verifier->device))) {
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
    if (getrandom(&verifier->chance, sizeof verifier->chance, 0) < 0 || verifier->chance == 0)
        verifier->chance = (uint64_t)(1e9 * clock_seconds()) | 1;
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

/* Images go with kernels for GPUs wherever they are. */
void verifier_choose_way(struct verifier *verifier, const struct run *first, const struct plan *plan)
{
    struct run *run = &verifier->run;
    bool fits = verifier->device.has_images && first->device->class == DEVICE_GPU;
    for (size_t i = 0; i <= plan->chain->count; i++)
        fits = fits && (size_t)plan->shapes[i].width <= verifier->device.image_width;
    if (verifier->elsewhere)
        return;
    verifier->device.class = first->device->class;
    run->memory = first->memory == MEMORY_BUFFER && fits ? MEMORY_IMAGE : MEMORY_BUFFER;
    if (first->memory == MEMORY_BUFFER && !fits)
        verifier->device.class = first->device->class == DEVICE_CPU ? DEVICE_GPU : DEVICE_CPU;
}

/* The least that is computed again at once; rows beside them are needed, too. */
enum { LEAST_ROWS = 16 };

/* A page that is being watched on its way from its reader to its writer. The reader's thread keeps what goes
 * in, the writer's what comes out; of a piece the first is over before the second begins. */
struct watch {
    struct verifier *verifier;
    const struct page *page;
    struct plan plan; /* of the other way */
    struct piece *pieces;
    size_t count;
    size_t reading, writing; /* the first pieces that are not complete */
    int in_row, out_row;     /* of the page under way */
    int out_pages;           /* that are complete */
    struct image_info out;   /* the page that is being written */
};

/* Rows of each piece: as few as give the share a choice, but of deep chains, where each needs hundreds of
 * rows beside its own, all in one place. Where all of the input is needed, there is one. */
static int choose_unit(const struct watch *watch, int height)
{
    const struct plan *plan = watch->page->plan;
    double share = watch->verifier->share;
    if (plan->moved > 0 || plan_may_need_analysis(plan))
        return height;
    if (!plan->sliceable || share >= 1)
        return plan->slice;
    int unit = (int)ceil(height * (plan_has_large_halo(plan) ? share : fmin(share, 0.01)));
    unit = unit < LEAST_ROWS ? LEAST_ROWS : unit;
    return unit < plan->slice ? unit : plan->slice;
}

/* Selection sampling (D. Knuth, TAOCP 2, 3.4.2, algorithm S): so many units out of all, in order. */
static enum status choose_pieces(struct watch *watch, struct error *error)
{
    const struct plan *plan = watch->page->plan;
    int height = plan_output(plan)->height, unit = choose_unit(watch, height), left = (height - 1) / unit + 1;
    double wanted = ceil(watch->verifier->share * height / unit - 0.5);
    int missing = wanted < 1 ? 1 : wanted > left ? left : (int)wanted;
    watch->pieces = allocate_zeroed((size_t)missing, sizeof *watch->pieces, "pieces to verify", error);
    if (!watch->pieces)
        return STATUS_FAILED;
    for (int begin = 0; missing > 0; begin += unit, left--) {
        if (draw(watch->verifier, (uint64_t)left) >= (uint64_t)missing)
            continue;
        struct piece *piece = &watch->pieces[watch->count++];
        struct rows rows[MAX_CHAIN + 1] = {{0, 0}};
        piece->out = (struct rows){begin, begin + unit < height ? begin + unit : height};
        plan_rows(plan, piece->out, rows);
        piece->in = rows[0];
        missing--;
    }
    return STATUS_OK;
}

static enum status add_sheet(struct piece *piece, const struct image_info *info, struct rows rows,
                             struct error *error)
{
    struct input_page *given = realloc(piece->given, (piece->given_count + 1) * sizeof *given);
    if (!given)
        return fail_memory(error, "out of memory for rows to verify");
    piece->given = given;
    return input_page_init(&given[piece->given_count++], info, rows, error);
}

/* The page that is being read is another one. */
static enum status begin_sheet(struct watch *watch, struct error *error)
{
    const struct image_info *info = reader_info(watch->page->reader);
    watch->in_row = 0;
    if (watch->page->plan->shapes[0].kind == KIND_IMAGE)
        return STATUS_OK;
    return add_sheet(&watch->pieces[0], info, rows_full((int)info->height), error);
}

/* Keeps what a piece needs of the rows [in_row, in_row + count). */
static enum status keep(const struct watch *watch, struct piece *piece, const unsigned char *rows,
                        size_t pitch, int count, struct error *error)
{
    const struct image_info *info = reader_info(watch->page->reader);
    enum status status = STATUS_OK;
    if (piece->given_count == 0)
        status = add_sheet(piece, info, piece->in, error);
    if (status != STATUS_OK)
        return status;
    const struct input_page *sheet = &piece->given[piece->given_count - 1];
    size_t size = row_size(info);
    for (int y = 0; y < count; y++) {
        int row = watch->in_row + y;
        if (row >= sheet->rows.begin && row < sheet->rows.end)
            memcpy(sheet->samples + (size_t)(row - sheet->rows.begin) * size, rows + (size_t)y * pitch, size);
    }
    return STATUS_OK;
}

static enum status watch_read(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct watch *watch = context;
    bool image = watch->page->plan->shapes[0].kind == KIND_IMAGE;
    enum status status = reader_read(watch->page->reader, rows, pitch, count, error);
    int end = watch->in_row + (int)count;
    for (size_t i = watch->reading; status == STATUS_OK && i < watch->count; i++) {
        if (image && watch->pieces[i].in.begin >= end)
            break;
        status = keep(watch, &watch->pieces[i], rows, pitch, (int)count, error);
    }
    watch->in_row = end;
    while (image && watch->reading < watch->count && watch->pieces[watch->reading].in.end <= end)
        watch->reading++;
    return status;
}

static enum status watch_next_page(void *context, struct image_info *info, bool *more, struct error *error)
{
    struct watch *watch = context;
    enum status status = reader_next_page(watch->page->reader, more, error);
    if (status != STATUS_OK || !*more)
        return status;
    *info = *reader_info(watch->page->reader);
    memset(&info->metadata, 0, sizeof info->metadata);
    return begin_sheet(watch, error);
}

static enum status watch_begin_page(void *context, const struct image_info *info, struct error *error)
{
    struct watch *watch = context;
    watch->out = *info;
    watch->out_row = 0;
    return writer_begin_page(watch->page->writer, info, error);
}

/* The piece is complete. */
static enum status verify_piece(struct watch *watch, struct piece *piece, struct error *error)
{
    double since = clock_seconds();
    enum status status = recheck(watch->verifier, watch->page, &watch->plan, piece, error);
    piece_clear(piece);
    timing_add_within(watch->page->timing, PART_VERIFY, PART_ENCODE, "verify", since);
    return status;
}

/* Takes what the piece needs of the rows [out_row, out_row + count). */
static enum status verify_note(const struct watch *watch, struct piece *piece, const unsigned char *rows,
                               size_t pitch, int count, struct error *error)
{
    bool image = plan_output(watch->page->plan)->kind == KIND_IMAGE;
    enum status status = STATUS_OK;
    for (int y = 0; status == STATUS_OK && y < count; y++) {
        int row = watch->out_row + y;
        if (!image || (row >= piece->out.begin && row < piece->out.end))
            status = samples_add(&piece->got, watch->out.type, rows + (size_t)y * pitch,
                                 input_page_row(&watch->out), error);
    }
    return status;
}

/* Nothing is written that was found to be wrong. */
static enum status watch_write(void *context, const void *rows, size_t pitch, uint32_t count,
                               struct error *error)
{
    struct watch *watch = context;
    bool image = plan_output(watch->page->plan)->kind == KIND_IMAGE;
    int end = watch->out_row + (int)count;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && watch->writing < watch->count) {
        struct piece *piece = &watch->pieces[watch->writing];
        status = verify_note(watch, piece, rows, pitch, (int)count, error);
        if (!image || piece->out.end > end)
            break;
        if (status == STATUS_OK)
            status = verify_piece(watch, piece, error);
        watch->writing++;
    }
    watch->out_row = end;
    return status == STATUS_OK ? writer_write(watch->page->writer, rows, pitch, count, error) : status;
}

static enum status watch_end_page(void *context, struct error *error)
{
    struct watch *watch = context;
    const struct shape *shape = plan_output(watch->page->plan);
    enum status status = STATUS_OK;
    watch->out_pages++;
    if (shape->kind == KIND_PYRAMID && watch->out_pages == coefficients_page_count(shape))
        status = verify_piece(watch, &watch->pieces[0], error);
    return status == STATUS_OK ? writer_end_page(watch->page->writer, error) : status;
}

static enum status flow_watched(struct watch *watch, struct error *error)
{
    const struct memory_source source = {watch, watch_read, watch_next_page};
    const struct memory_sink sink = {watch, watch_begin_page, watch_write, watch_end_page};
    struct page page = *watch->page;
    const char *name = reader_name(page.reader);
    struct reader *reader = NULL;
    struct writer *writer = NULL;
    enum status status = memory_reader(name, reader_info(page.reader), &source, &reader, error);
    if (status == STATUS_OK)
        status = memory_writer(name, &sink, &writer, error);
    if (status == STATUS_OK)
        status = begin_sheet(watch, error);
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
    struct watch watch = {.verifier = verifier, .page = page};
    verifier_choose_way(verifier, page->run, page->plan);
    const struct plan *plan = page->plan;
    enum status status =
        plan_make(&watch.plan,
                  &(struct plan_request){
                      .chain = plan->chain, .input = plan->shapes[0], .in = plan->in, .out = plan->out},
                  &verifier->run, error);
    if (status != STATUS_OK)
        return status;
    status = choose_pieces(&watch, error);
    if (status == STATUS_OK)
        status = flow_watched(&watch, error);
    for (size_t i = 0; i < watch.count; i++)
        piece_clear(&watch.pieces[i]);
    free(watch.pieces);
    plan_free(&watch.plan);
    run_trim(&verifier->run);
    return status;
}
