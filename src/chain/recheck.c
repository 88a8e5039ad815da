#include "chain/recheck.h"

#include "chain/coefficients.h"
#include "chain/flow.h"
#include "image/relay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What two ways of rounding may differ by, of full scale or of the sample where that is larger; samples of
 * integers by a count. */
static const double TOLERANCE = 1e-5, COUNT = 1.01;

/* Inputs are moved by this much, which is more than the roundings of a chain add up to: up and down by turns,
 * so that a threshold that is near is crossed. */
static const double MOVED = 1e-6;
enum { TRIALS = 16, AT_ONCE = 4096 /* samples that are likely to be equal */ };

enum status piece_add_sheet(struct piece *piece, const struct image_info *info, struct rows rows,
                            struct error *error)
{
    struct sheet *given = realloc(piece->given, (piece->given_count + 1) * sizeof *given);
    if (!given)
        return fail_memory(error, "out of memory for rows to verify");
    piece->given = given;
    struct sheet *sheet = &given[piece->given_count];
    *sheet = (struct sheet){.info = *info, .rows = rows};
    memset(&sheet->info.metadata, 0, sizeof sheet->info.metadata);
    sheet->samples = allocate(row_size(info) * (size_t)(rows.end - rows.begin), "rows to verify", error);
    piece->given_count += sheet->samples != NULL;
    return sheet->samples ? STATUS_OK : STATUS_FAILED;
}

static size_t parts_of(enum sample_type type)
{
    return type == SAMPLE_COMPLEX ? 2 : 1;
}

/* Bytes of a sample or of a part of one. */
static size_t part_size(enum sample_type type)
{
    return sample_size(type) / parts_of(type);
}

enum status piece_add(struct piece *piece, enum sample_type type, const void *samples, size_t count,
                      struct error *error)
{
    size_t size = count * part_size(type), wanted = piece->got_size + size;
    if (wanted > piece->got_room) {
        size_t room = wanted < 2 * piece->got_room ? 2 * piece->got_room : wanted;
        unsigned char *got = realloc(piece->got, room);
        if (!got)
            return fail_memory(error, "out of memory for rows to verify");
        piece->got = got;
        piece->got_room = room;
    }
    memcpy(piece->got + piece->got_size, samples, size);
    piece->type = type;
    piece->got_size = wanted;
    piece->got_count += count;
    return STATUS_OK;
}

void piece_clear(struct piece *piece)
{
    for (size_t i = 0; i < piece->given_count; i++)
        free(piece->given[i].samples);
    free(piece->given);
    free(piece->got);
    *piece = (struct piece){.in = piece->in, .out = piece->out};
}

/* The piece on its way through the chain again. */
struct rerun {
    const struct piece *piece;
    size_t sheet;
    int row;
    double move; /* what is added to inputs, with a sign that looks random; 0: they go in as they are */
    uint32_t seed;
    struct piece again; /* only what comes out */
    enum sample_type type;
    size_t row_samples; /* of the page that comes out */
    bool numbers;       /* all that went in is finite */
};

/* 1 or -1. */
static double sign_of(uint32_t seed, uint32_t number)
{
    uint32_t bits = (number ^ seed * 0x9e3779b9u) * 0x85ebca6bu;
    bits = (bits ^ bits >> 13) * 0xc2b2ae35u;
    return bits >> 31 ? 1 : -1;
}

static void write_row(const struct rerun *rerun, const struct sheet *sheet, int row, void *to)
{
    size_t size = row_size(&sheet->info), first = (size_t)(row - sheet->rows.begin);
    size_t count = (size_t)sheet->info.width * (size_t)sheet->info.channels * parts_of(sheet->info.type);
    const unsigned char *samples = sheet->samples + first * size;
    if (rerun->move == 0)
        memcpy(to, samples, size);
    for (size_t i = 0; rerun->move != 0 && i < count; i++) {
        double sign = sign_of(rerun->seed, (uint32_t)(first * count + i) + 7919 * (uint32_t)rerun->sheet);
        double value = sample_value(sheet->info.type, samples, i);
        ((float *)to)[i] = (float)(value + sign * rerun->move * fmax(1, fabs(value)));
    }
}

/* Rows that the piece does not need are passed over, and so are not there. */
static enum status give(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct rerun *rerun = context;
    const struct sheet *sheet = &rerun->piece->given[rerun->sheet];
    (void)error;
    for (uint32_t y = 0; y < count; y++, rerun->row++)
        if (rerun->row >= sheet->rows.begin && rerun->row < sheet->rows.end)
            write_row(rerun, sheet, rerun->row, (unsigned char *)rows + y * pitch);
    return STATUS_OK;
}

static struct image_info sheet_info(const struct rerun *rerun)
{
    struct image_info info = rerun->piece->given[rerun->sheet].info;
    if (rerun->move != 0 && info.type != SAMPLE_COMPLEX)
        info.type = SAMPLE_FLOAT;
    return info;
}

static enum status give_next(void *context, struct image_info *info, bool *more, struct error *error)
{
    struct rerun *rerun = context;
    (void)error;
    *more = rerun->sheet + 1 < rerun->piece->given_count;
    rerun->sheet += *more;
    rerun->row = 0;
    *info = sheet_info(rerun);
    return STATUS_OK;
}

static enum status take_page(void *context, const struct image_info *info, struct error *error)
{
    struct rerun *rerun = context;
    (void)error;
    rerun->type = info->type;
    rerun->row_samples = (size_t)info->width * (size_t)info->channels * parts_of(info->type);
    return STATUS_OK;
}

static enum status take(void *context, const void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct rerun *rerun = context;
    enum status status = STATUS_OK;
    for (uint32_t y = 0; status == STATUS_OK && y < count; y++)
        status = piece_add(&rerun->again, rerun->type, (const unsigned char *)rows + y * pitch,
                           rerun->row_samples, error);
    return status;
}

static enum status end_page(void *context, struct error *error)
{
    (void)context;
    (void)error;
    return STATUS_OK;
}

static enum status run_again(struct verifier *verifier, const struct page *page, const struct plan *plan,
                             struct rerun *rerun, struct error *error)
{
    const struct relay_source source = {rerun, give, give_next};
    const struct relay_sink sink = {rerun, take_page, take, end_page};
    const struct image_info first = sheet_info(rerun);
    struct page again = *page;
    again.run = &verifier->run;
    again.plan = plan;
    again.reader = NULL;
    again.writer = NULL;
    again.timing = &verifier->timing;
    again.clipping = NULL;
    again.watch = NULL; /* who is told how far the page is, by another thread */
    again.to.counted = false;
    if (rerun->move != 0)
        again.from.type = SAMPLE_FLOAT;
    enum status status = relay_reader("--verify", &first, &source, &again.reader, error);
    if (status == STATUS_OK)
        status = relay_writer("--verify", &sink, &again.writer, error);
    if (status == STATUS_OK)
        status = flow_page(&again, error);
    if (status != STATUS_OK)
        profile_discard(&verifier->profile);
    if (status == STATUS_OK && rerun->again.got_count != rerun->piece->got_count)
        status = fail(error, STATUS_FAILED, "--verify: other sizes came out");
    reader_close(again.reader);
    writer_close(again.writer);
    return status;
}

/* How far the samples of two ways may be apart. */
static double tolerance(enum sample_type type, double got, double again)
{
    double smaller = fmin(fabs(got), fabs(again));
    if (type == SAMPLE_HALF)
        return 0x1p-10 * fmax(0x1p-4, smaller);
    if (type == SAMPLE_FLOAT || type == SAMPLE_COMPLEX)
        return TOLERANCE * fmax(1, smaller);
    return fmax(TOLERANCE, COUNT / sample_full_scale(type));
}

/* Where inputs are no numbers, how far that spreads is left to each way: a weight of 0 may be among those of
 * one and not of the other. */
static bool differs(enum sample_type type, bool numbers, double got, double again, double moved)
{
    if (isnan(got) || isnan(again))
        return numbers && isnan(got) != isnan(again);
    return got != again && !(fabs(got - again) <= tolerance(type, got, again) + 2 * moved);
}

static double got_value(const struct piece *piece, size_t place)
{
    return sample_value(piece->type, piece->got, place);
}

/* The first sample that differs; count where none does. `moved` (NULL: nothing) is how far samples moved. */
static size_t find_difference(const struct rerun *base, const float *moved)
{
    const struct piece *one = base->piece, *other = &base->again;
    const size_t size = part_size(one->type);
    for (size_t begin = 0, end; begin < one->got_count; begin = end) {
        end = begin + AT_ONCE < one->got_count ? begin + AT_ONCE : one->got_count;
        if (memcmp(one->got + begin * size, other->got + begin * size, (end - begin) * size) == 0)
            continue;
        for (size_t i = begin; i < end; i++)
            if (differs(one->type, base->numbers, got_value(one, i), got_value(other, i),
                        moved ? (double)moved[i] : 0))
                return i;
    }
    return one->got_count;
}

/* Moves the inputs until every sample that differs is explained, or they were moved often enough. *place is
 * one that is not. */
static enum status explain(struct verifier *verifier, const struct page *page, const struct plan *plan,
                           const struct rerun *base, size_t *place, struct error *error)
{
    size_t count = base->piece->got_count;
    float *moved = allocate_zeroed(count, sizeof *moved, "rows to verify", error);
    enum status status = moved ? STATUS_OK : STATUS_FAILED;
    for (int trial = 0; status == STATUS_OK && trial < TRIALS && *place < count; trial++) {
        struct rerun rerun = {.piece = base->piece, .seed = (uint32_t)trial / 2};
        rerun.move = trial % 2 ? -MOVED : MOVED;
        status = run_again(verifier, page, plan, &rerun, error);
        for (size_t i = 0; status == STATUS_OK && i < count; i++) {
            double by = fabs(got_value(&rerun.again, i) - got_value(&base->again, i));
            moved[i] = fmaxf(moved[i], (float)by);
        }
        piece_clear(&rerun.again);
        if (status == STATUS_OK && trial % 2)
            *place = find_difference(base, moved);
    }
    free(moved);
    return status;
}

static const char *way_of(const struct run *run)
{
    bool wide = run->device->class == DEVICE_WIDE, images = run->memory == MEMORY_IMAGE;
    return images ? "images" : wide ? "buffers, kernels for CPUs" : "buffers, kernels for GPUs";
}

/* Where it is: "row 3, column 4, channel 0", of a pyramid on which page. */
static enum status tell(const struct verifier *verifier, const struct page *page, const struct rerun *base,
                        size_t place, struct error *error)
{
    const struct shape *shape = plan_output(page->plan);
    int width = shape->width, height = shape->height, index = 0;
    size_t at = place, channels = (size_t)shape->channels, parts = 1;
    char where[80] = "";
    for (; shape->kind == KIND_PYRAMID; index++) {
        char name[PAGE_NAME_SIZE];
        parts = index > 0 ? 2 : 1;
        coefficients_page(shape, index, &width, &height, name);
        snprintf(where, sizeof where, "%s, ", name);
        if (at < (size_t)width * (size_t)height * channels * parts)
            break;
        at -= (size_t)width * (size_t)height * channels * parts;
    }
    size_t row = (size_t)width * channels * parts;
    size_t y = at / row + (shape->kind == KIND_IMAGE ? (size_t)base->piece->out.begin : 0);
    double scale = sample_full_scale(base->piece->type);
    return fail(error, STATUS_FAILED,
                "--verify: %srow %zu, column %zu, channel %zu is %.9g (%s, %s), and %.9g when it is computed "
                "again (%s, %s); one of them is wrong: see climg --selftest",
                where, y, at % row / channels / parts, at / parts % channels,
                got_value(base->piece, place) * scale, page->run->device->name, way_of(page->run),
                got_value(&base->again, place) * scale, verifier->device.name, way_of(&verifier->run));
}

static bool all_numbers(const struct piece *piece)
{
    for (size_t k = 0; k < piece->given_count; k++) {
        const struct sheet *sheet = &piece->given[k];
        size_t row = (size_t)sheet->info.width * (size_t)sheet->info.channels * parts_of(sheet->info.type);
        for (size_t i = 0; i < row * (size_t)(sheet->rows.end - sheet->rows.begin); i++)
            if (!isfinite(sample_value(sheet->info.type, sheet->samples, i)))
                return false;
    }
    return true;
}

enum status recheck(struct verifier *verifier, const struct page *page, const struct plan *plan,
                    const struct piece *piece, struct error *error)
{
    struct plan part = *plan;
    struct rerun base = {.piece = piece, .numbers = true};
    plan_set_part(&part, piece->out);
    enum status status = run_again(verifier, page, &part, &base, error);
    if (status == STATUS_OK) {
        size_t place = find_difference(&base, NULL);
        base.numbers = place == piece->got_count || all_numbers(piece);
        if (place < piece->got_count)
            status = explain(verifier, page, &part, &base, &place, error);
        if (status == STATUS_OK && place < piece->got_count)
            status = tell(verifier, page, &base, place, error);
    }
    piece_clear(&base.again);
    return status;
}
