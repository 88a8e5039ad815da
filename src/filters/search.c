#include "filters/refine.h"

#include "base/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of turns and sizes: between two of them corners are about a pixel of 64 off, so that stripes of few
 * pixels still lie on stripes. */
enum { TURNS = 8, SIZES = 5, MOST_SHIFT = 32, LANES = 16 };

/* Shifts of one turn and size that are handed on: of a picture whose pattern is repeated several agree as
 * well. What lies nearer than that is one. */
enum { SHIFTS = 32, SHIFTS_TURNED = 2, APART = 3 };

static const double TURN = 3.75 * 0.017453292519943295, SIZE = 0.064;

/* Below this share of the reference covered nothing is compared. */
static const float LEAST_COVERED = 0.3F;

/* Of the reference's detail only what is stronger than this many times its standard deviation is compared: a
 * quarter of the work, and no loss. */
static const double STRONG = 1.2;

/* The picture's detail, turned and sized, on the reference's places and those up to the largest shift beside
 * them, and sums over all above and before: of weights and of squares. */
struct canvas {
    struct grey detail;
    double *weights, *squares; /* of one column and one row more */
    double energy;             /* the sum of the reference's squares */
    int shift_x, shift_y;
    struct peak {
        int x, y;
        double score;
    } peaks[SHIFTS]; /* the shifts where the correlation is highest, in no order */
    int count, most; /* of peaks */
    double least;    /* what is lower is none */
};

static enum status canvas_make(struct canvas *canvas, const struct grey *reference, struct error *error)
{
    int shift_x = reference->width / 4, shift_y = reference->height / 4;
    *canvas = (struct canvas){.shift_x = shift_x < MOST_SHIFT ? shift_x : MOST_SHIFT,
                              .shift_y = shift_y < MOST_SHIFT ? shift_y : MOST_SHIFT};
    int width = reference->width + 2 * canvas->shift_x + LANES,
        height = reference->height + 2 * canvas->shift_y;
    size_t sums = (size_t)(width + 1) * (size_t)(height + 1);
    enum status status = grey_make(&canvas->detail, width, height, error);
    if (status == STATUS_OK)
        canvas->weights = allocate_zeroed(sums, 2 * sizeof *canvas->weights, "sums of brightness", error);
    if (!canvas->weights)
        return STATUS_FAILED;
    canvas->squares = canvas->weights + sums;
    return STATUS_OK;
}

static void canvas_free(struct canvas *canvas)
{
    grey_free(&canvas->detail);
    free(canvas->weights);
}

/* Puts the picture there: `affine` is of the reference's places. */
static void canvas_draw(struct canvas *canvas, const struct grey *picture, struct affine affine)
{
    const struct grey *detail = &canvas->detail;
    size_t width = (size_t)detail->width, pitch = width + 1;
    affine.x -= affine.xx * canvas->shift_x + affine.xy * canvas->shift_y;
    affine.y -= affine.yx * canvas->shift_x + affine.yy * canvas->shift_y;
    sample_rows(picture, &affine, rows_whole(detail->height), &canvas->detail);
    for (size_t y = 0; y < (size_t)detail->height; y++) {
        double weight = 0, square = 0;
        for (size_t x = 0; x < width; x++) {
            double value = (double)detail->values[y * width + x];
            weight += (double)detail->weights[y * width + x];
            square += value * value;
            canvas->weights[(y + 1) * pitch + x + 1] = canvas->weights[y * pitch + x + 1] + weight;
            canvas->squares[(y + 1) * pitch + x + 1] = canvas->squares[y * pitch + x + 1] + square;
        }
    }
}

/* Over the reference's size from column x and row y on. */
static double sum_within(const double *sums, const struct canvas *canvas, const struct grey *reference, int x,
                         int y)
{
    size_t pitch = (size_t)canvas->detail.width + 1;
    const double *top = sums + (size_t)y * pitch + x, *bottom = top + (size_t)reference->height * pitch;
    return bottom[reference->width] - bottom[0] - top[reference->width] + top[0];
}

/* The products of the reference and what lies LANES shifts from column x and row y on. */
static void multiply(const struct canvas *canvas, const struct grey *reference, int x, int y,
                     float sums[LANES])
{
    size_t width = (size_t)reference->width, pitch = (size_t)canvas->detail.width;
    memset(sums, 0, LANES * sizeof *sums);
    for (size_t row = 0; row < (size_t)reference->height; row++) {
        const float *values = reference->values + row * width;
        const float *beside = canvas->detail.values + ((size_t)y + row) * pitch + x;
        for (size_t column = 0; column < width; column++) {
            if (values[column] == 0)
                continue;
            for (int lane = 0; lane < LANES; lane++)
                sums[lane] += values[column] * beside[column + (size_t)lane];
        }
    }
}

/* Where it goes: over a lower one beside it, behind the last or over the lowest; -1: it is none. */
static int find_room(const struct canvas *canvas, const struct peak *peak)
{
    int lowest = 0;
    for (int i = 0; i < canvas->count; i++) {
        const struct peak *other = &canvas->peaks[i];
        if (abs(other->x - peak->x) < APART && abs(other->y - peak->y) < APART)
            return peak->score > other->score ? i : -1;
        lowest = other->score < canvas->peaks[lowest].score ? i : lowest;
    }
    return canvas->count < canvas->most ? canvas->count : lowest;
}

static void add_peak(struct canvas *canvas, struct peak peak)
{
    int room = find_room(canvas, &peak);
    if (room < 0)
        return;
    canvas->peaks[room] = peak;
    canvas->count += room == canvas->count;
    canvas->least = canvas->count < canvas->most ? -1 : peak.score;
    for (int i = 0; i < canvas->count; i++)
        canvas->least = fmin(canvas->least, canvas->peaks[i].score);
}

/* What the picture does not cover counts as not alike. */
static void find_peaks(struct canvas *canvas, const struct grey *reference)
{
    double least = (double)LEAST_COVERED * reference->width * reference->height;
    canvas->count = 0;
    canvas->least = -1;
    for (int y = 0; y <= 2 * canvas->shift_y; y++)
        for (int x = 0; x <= 2 * canvas->shift_x; x += LANES) {
            float sums[LANES];
            multiply(canvas, reference, x, y, sums);
            for (int lane = 0; lane < LANES && x + lane <= 2 * canvas->shift_x; lane++) {
                double squares = sum_within(canvas->squares, canvas, reference, x + lane, y);
                const struct peak peak = {x + lane - canvas->shift_x, y - canvas->shift_y,
                                          (double)sums[lane] / sqrt(squares * canvas->energy)};
                if (peak.score > canvas->least &&
                    sum_within(canvas->weights, canvas, reference, x + lane, y) >= least)
                    add_peak(canvas, peak);
            }
        }
}

/* Turned and sized about the centres, which lie on each other. */
static struct affine centred(const struct grey *reference, const struct grey *picture, double turn,
                             double size)
{
    double x = (reference->width - 1) / 2.0, y = (reference->height - 1) / 2.0;
    struct affine affine = {size * cos(turn), -size * sin(turn), 0, size * sin(turn), size * cos(turn), 0};
    affine.x = (picture->width - 1) / 2.0 - affine.xx * x - affine.xy * y;
    affine.y = (picture->height - 1) / 2.0 - affine.yx * x - affine.yy * y;
    return affine;
}

int compare_matches(const void *a, const void *b)
{
    double first = ((const struct match *)a)->score, second = ((const struct match *)b)->score;
    return first > second ? -1 : first < second;
}

/* *energy is the sum of its squares. */
static enum status find_strong(const struct grey *detail, struct grey *strong, double *energy,
                               struct error *error)
{
    size_t count = (size_t)detail->width * (size_t)detail->height;
    double squares = 0;
    if (grey_make(strong, detail->width, detail->height, error) != STATUS_OK)
        return STATUS_FAILED;
    for (size_t i = 0; i < count; i++)
        squares += (double)detail->values[i] * (double)detail->values[i];
    float least = (float)(STRONG * sqrt(squares / (double)count));
    *energy = 0;
    for (size_t i = 0; i < count; i++)
        if (fabsf(detail->values[i]) > least) {
            strong->values[i] = detail->values[i];
            *energy += (double)detail->values[i] * (double)detail->values[i];
        }
    return STATUS_OK;
}

/* What is tried: each turn, of each so many sizes, finds up to `most` matches for a size. */
struct search {
    const struct grey *strong, *picture; /* detail of the coarsest level */
    double energy;
    int turns, sizes, fineness, most;
    struct match *matches; /* those of a turn behind those of the one before */
    int counts[4 * TURNS + 1];
};

static struct match *matches_of_turn(const struct search *search, int index)
{
    return search->matches + (size_t)index * (size_t)(2 * search->sizes + 1) * (size_t)search->most;
}

/* For one turn and size. */
static void add_matches(struct canvas *canvas, const struct search *search, struct affine centred,
                        struct match *matches, int *count)
{
    canvas_draw(canvas, search->picture, centred);
    find_peaks(canvas, search->strong);
    for (int i = 0; i < canvas->count; i++) {
        const struct peak *peak = &canvas->peaks[i];
        struct affine affine = centred;
        affine.x += affine.xx * peak->x + affine.xy * peak->y;
        affine.y += affine.yx * peak->x + affine.yy * peak->y;
        matches[(*count)++] = (struct match){.affine = affine, .gain = 1, .score = peak->score};
    }
}

static enum status try_turn(void *context, int index, struct error *error)
{
    struct search *search = context;
    const double turn = (index - search->turns) * TURN / search->fineness;
    struct canvas canvas;
    enum status status = canvas_make(&canvas, search->strong, error);
    canvas.energy = search->energy;
    canvas.most = search->most;
    search->counts[index] = 0;
    for (int size = -search->sizes; status == STATUS_OK && size <= search->sizes; size++)
        add_matches(&canvas, search,
                    centred(search->strong, search->picture, turn, exp(size * SIZE / search->fineness)),
                    matches_of_turn(search, index), &search->counts[index]);
    canvas_free(&canvas);
    return status;
}

/* Leaves no room between the turns' matches, which become those of whole pictures. */
static int close_up(const struct search *search, const struct level *level)
{
    int count = 0;
    for (int turn = 0; turn <= 2 * search->turns; turn++)
        for (int i = 0; i < search->counts[turn]; i++) {
            struct match match = matches_of_turn(search, turn)[i];
            match.affine = level_to_whole(level, match.affine);
            search->matches[count++] = match;
        }
    return count;
}

enum status search_matches(struct workers *workers, enum model model, int fineness,
                           const struct levels *reference, const struct levels *picture,
                           struct match *matches, int *count, struct error *error)
{
    struct grey strong;
    struct search search = {.strong = &strong,
                            .picture = &picture->detail,
                            .turns = model >= MODEL_RIGID ? fineness * TURNS : 0,
                            .sizes = model >= MODEL_SIMILARITY ? fineness * SIZES : 0,
                            .fineness = fineness,
                            .most = model >= MODEL_RIGID ? SHIFTS_TURNED : SHIFTS,
                            .matches = matches};
    enum status status = find_strong(&reference->detail, &strong, &search.energy, error);
    *count = 0;
    if (status == STATUS_OK)
        status = workers_each(workers, 2 * search.turns + 1, try_turn, &search, error);
    if (status == STATUS_OK)
        *count = close_up(&search, &reference->level[reference->count - 1]);
    grey_free(&strong);
    qsort(matches, (size_t)*count, sizeof *matches, compare_matches);
    return status;
}
