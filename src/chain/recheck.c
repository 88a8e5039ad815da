/* A piece of an output that is computed again and compared. */
#include "chain/coefficients.h"
#include "chain/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What two ways of rounding may differ by, of full scale or of the sample where that is larger; samples of
 * integers by a count. */
static const double TOLERANCE = 1e-5, COUNT = 1.01;

/* Inputs are moved by this much, alternately up and down, so that they cross thresholds nearby. It is more
 * than the sum of a chain's roundings. */
static const double MOVED = 1e-6;
enum { TRIALS = 16, AT_ONCE = 4096 /* samples that are likely to be equal */ };

void piece_clear(struct piece *piece)
{
    for (size_t i = 0; i < piece->given_count; i++)
        sheet_free(&piece->given[i]);
    free(piece->given);
    numbers_free(&piece->got);
    piece->given = NULL;
    piece->given_count = 0;
}

/* The piece and what comes of it the other way. */
struct check {
    struct verifier *verifier;
    const struct page *page; /* as it flows for the verifier */
    const struct piece *piece;
    enum sample_type type; /* of what comes out */
    size_t row;            /* numbers in a row of an image that comes out; of a pyramid all */
    struct numbers again;
    bool *unsure; /* output rows that need an input that is not finite; NULL: not looked for yet */
};

static enum status run_again(const struct check *check, const struct page *page, const struct sheet *sheets,
                             struct numbers *numbers, struct error *error)
{
    enum status status = rehearse("--verify", page, sheets, check->piece->given_count, numbers, error);
    if (status == STATUS_OK && numbers->count != check->piece->got.count)
        status = fail(error, STATUS_FAILED, "--verify: other sizes came out");
    return status;
}

/* ---------------------------------------------------------------- comparing */

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

/* `unsure`: an input is not finite. How far that spreads differs from way to way: one may multiply it by a
 * weight of 0, which the other leaves out. */
static bool differs(enum sample_type type, bool unsure, double got, double again, double moved)
{
    if (isnan(got) || isnan(again))
        return !unsure && isnan(got) != isnan(again);
    return got != again && !(fabs(got - again) <= tolerance(type, got, again) + 2 * moved);
}

/* The first number that differs; the count where none does. `moved` (NULL: nothing) is how far numbers moved.
 */
static size_t find_difference(const struct check *check, const float *moved)
{
    const struct numbers *one = &check->piece->got, *other = &check->again;
    const size_t size = sample_size(one->type);
    for (size_t begin = 0, end; begin < one->count; begin = end) {
        end = begin + AT_ONCE < one->count ? begin + AT_ONCE : one->count;
        if (memcmp(one->bytes + begin * size, other->bytes + begin * size, (end - begin) * size) == 0)
            continue;
        for (size_t i = begin; i < end; i++)
            if (differs(check->type, check->unsure && check->unsure[i / check->row], numbers_value(one, i),
                        numbers_value(other, i), moved ? (double)moved[i] : 0))
                return i;
    }
    return one->count;
}

/* ---------------------------------------------------------------- inputs that are not finite */

static bool row_is_finite(const struct sheet *sheet, int row)
{
    const unsigned char *samples =
        sheet->samples + row_size(&sheet->info) * (size_t)(row - sheet->rows.begin);
    for (size_t i = 0; i < sheet_row(&sheet->info); i++)
        if (!isfinite(sample_value(sheet->info.type, samples, i)))
            return false;
    return true;
}

/* Whether one of these rows of an image, or any row of a pyramid, has a sample that is not finite. */
static bool has_hole(const struct piece *piece, struct rows rows)
{
    for (size_t k = 0; k < piece->given_count; k++) {
        const struct sheet *sheet = &piece->given[k];
        struct rows of = piece->given_count > 1 ? sheet->rows : rows;
        for (int y = of.begin; y < of.end; y++)
            if (y >= sheet->rows.begin && y < sheet->rows.end && !row_is_finite(sheet, y))
                return true;
    }
    return false;
}

static enum status find_unsure(struct check *check, struct error *error)
{
    const struct plan *plan = check->page->plan;
    const size_t count = check->piece->got.count / check->row;
    check->unsure = allocate_zeroed(count, sizeof *check->unsure, "rows to verify", error);
    if (!check->unsure)
        return STATUS_FAILED;
    for (size_t y = 0; y < count; y++) {
        struct rows rows[MAX_CHAIN + 1] = {{0, 0}}, out = check->piece->out;
        if (plan_output(plan)->kind == KIND_IMAGE)
            out = (struct rows){out.begin + (int)y, out.begin + (int)y + 1};
        plan_rows(plan, out, rows);
        check->unsure[y] = has_hole(check->piece, rows[0]);
    }
    return STATUS_OK;
}

/* ---------------------------------------------------------------- inputs that are moved */

/* 1 or -1, which looks random. */
static double sign_of(uint32_t seed, uint32_t number)
{
    uint32_t bits = (number ^ seed * 0x9e3779b9u) * 0x85ebca6bu;
    bits = (bits ^ bits >> 13) * 0xc2b2ae35u;
    return bits >> 31 ? 1 : -1;
}

/* The sheet as floats, each of them moved. */
static enum status move_sheet(const struct sheet *sheet, double by, uint32_t seed, struct sheet *moved,
                              struct error *error)
{
    struct image_info info = sheet->info;
    if (info.type != SAMPLE_COMPLEX)
        info.type = SAMPLE_FLOAT;
    if (sheet_make(moved, &info, sheet->rows, error) != STATUS_OK)
        return STATUS_FAILED;
    const size_t count = sheet_row(&info) * (size_t)(sheet->rows.end - sheet->rows.begin);
    for (size_t i = 0; i < count; i++) {
        double value = sample_value(sheet->info.type, sheet->samples, i);
        ((float *)(void *)moved->samples)[i] =
            (float)(value + sign_of(seed, (uint32_t)i) * by * fmax(1, fabs(value)));
    }
    return STATUS_OK;
}

/* Computes the piece again from inputs that are moved. */
static enum status run_moved(const struct check *check, double by, uint32_t seed, struct numbers *numbers,
                             struct error *error)
{
    const struct piece *piece = check->piece;
    struct sheet *sheets = allocate_zeroed(piece->given_count, sizeof *sheets, "rows to verify", error);
    struct page page = *check->page;
    enum status status = sheets ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; status == STATUS_OK && i < piece->given_count; i++)
        status = move_sheet(&piece->given[i], by, seed + 7919 * (uint32_t)i, &sheets[i], error);
    page.from.type = SAMPLE_FLOAT;
    if (status == STATUS_OK)
        status = run_again(check, &page, sheets, numbers, error);
    for (size_t i = 0; sheets && i < piece->given_count; i++)
        sheet_free(&sheets[i]);
    free(sheets);
    return status;
}

/* Moves the inputs until every difference is explained, or they were moved often enough. *place is one that
 * is not explained. */
static enum status explain(const struct check *check, size_t *place, struct error *error)
{
    const size_t count = check->again.count;
    float *moved = allocate_zeroed(count, sizeof *moved, "rows to verify", error);
    enum status status = moved ? STATUS_OK : STATUS_FAILED;
    for (int trial = 0; status == STATUS_OK && trial < TRIALS && *place < count; trial++) {
        struct numbers numbers = {.count = 0};
        status = run_moved(check, trial % 2 ? -MOVED : MOVED, (uint32_t)trial / 2, &numbers, error);
        for (size_t i = 0; status == STATUS_OK && i < count; i++) {
            double by = fabs(numbers_value(&numbers, i) - numbers_value(&check->again, i));
            moved[i] = fmaxf(moved[i], (float)by);
        }
        numbers_free(&numbers);
        if (status == STATUS_OK && trial % 2)
            *place = find_difference(check, moved);
    }
    free(moved);
    return status;
}

/* ---------------------------------------------------------------- telling */

static const char *way_of(const struct run *run)
{
    bool wide = run->device->class == DEVICE_WIDE, images = run->memory == MEMORY_IMAGE;
    return images ? "images" : wide ? "buffers, kernels for CPUs" : "buffers, kernels for GPUs";
}

/* Says where the difference is: "row 3, column 4, channel 0", of a pyramid on which page. */
static enum status tell(const struct check *check, const struct run *first, size_t place, struct error *error)
{
    const struct shape *shape = plan_output(check->page->plan);
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
    size_t y = at / row + (shape->kind == KIND_IMAGE ? (size_t)check->piece->out.begin : 0);
    double scale = sample_full_scale(check->type);
    return fail(error, STATUS_FAILED,
                "--verify: %srow %zu, column %zu, channel %zu is %.9g (%s, %s), and %.9g when it is computed "
                "again (%s, %s); one of them is wrong: see climg --selftest",
                where, y, at % row / channels / parts, at / parts % channels,
                numbers_value(&check->piece->got, place) * scale, first->device->name, way_of(first),
                numbers_value(&check->again, place) * scale, check->verifier->device.name,
                way_of(&check->verifier->run));
}

enum status recheck(struct verifier *verifier, const struct page *page, const struct plan *plan,
                    const struct piece *piece, struct error *error)
{
    const struct shape *out = plan_output(plan);
    struct plan part = *plan;
    struct page again = *page;
    struct check check = {.verifier = verifier, .page = &again, .piece = piece, .type = piece->got.type};
    check.row = out->kind == KIND_IMAGE ? (size_t)out->width * (size_t)out->channels : piece->got.count;
    plan_set_part(&part, piece->out);
    again.run = &verifier->run;
    again.plan = &part;
    again.timing = &verifier->timing;
    again.to.counted = false;
    enum status status = run_again(&check, &again, piece->given, &check.again, error);
    size_t place = status == STATUS_OK ? find_difference(&check, NULL) : piece->got.count;
    if (place < piece->got.count) {
        status = find_unsure(&check, error);
        if (status == STATUS_OK)
            status = explain(&check, &place, error);
        if (status == STATUS_OK && place < piece->got.count)
            status = tell(&check, page->run, place, error);
    }
    numbers_free(&check.again);
    free(check.unsure);
    return status;
}
