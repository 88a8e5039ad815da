/* First guesses: all shifts of every rotation and scale on the coarsest level, whose sides are at most 64
 * pixels.
 *
 * For each rotation and scale the picture's detail is resampled onto the reference's grid, and one Fourier
 * transform correlates it with the reference's for all shifts. Sums over rectangles (F. Crow, SIGGRAPH 1984)
 * normalize each shift by what the picture has there. The highest correlations become matches, which refine.c
 * judges by blocks. */
#include "register/refine.h"

#include "base/exact.h"
#include "base/threads.h"
#include "register/fourier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of turns, in radians, and of sizes, as logarithms: between two steps corners move by about one
 * pixel of 64, so that stripes of a few pixels still overlap. Steps of half that length were tried after
 * these and found nothing more. */
static const double TURN = 3.75 * 0.017453292519943295, SIZE = 0.064;

static const struct steps {
    int first_turn, turns, sizes; /* the first turn in steps */
} STEPS[] = {[EXTENT_NEAR] = {-8, 17, 11}, [EXTENT_TURNED] = {9, 79, 11}};

/* Number of shifts per rotation and scale that become matches: if a pattern is repeated, several agree as
 * well. APART: distance below which two shifts are one. */
enum { SHIFTS = 32, SHIFTS_TURNED = 4, APART = 3 };
enum { MOST_TURNS = 79, MOST_SIZES = 11 };
_Static_assert(MOST_TURNS *MOST_SIZES *SHIFTS_TURNED <= MOST_MATCHES, "all that is found has room");

/* Least share of the reference that the picture must cover. */
static const double LEAST_COVERED = 0.3;

struct peak {
    int x, y;
    double score;
};

/* The picture's detail, rotated and scaled, on the reference's grid, extended by the largest shift on each
 * side; and sums of weights and squares over the rectangle from the top left. */
struct canvas {
    struct gray_plane detail;
    double *weights, *squares; /* one column and one row larger */
    struct peak peaks[SHIFTS]; /* the shifts where the correlation is highest, in no order */
    int count, most;           /* of peaks */
    double least;              /* correlation below which a peak is not added */
};

/* The reference, and what all rotations and scales share. */
struct search {
    const struct gray_plane *reference, *picture; /* detail of the coarsest level */
    struct fourier fourier;                       /* of canvases */
    float *spectrum;                              /* the reference's, conjugated */
    double energy, weight;                        /* the sums of its squares and of its weights */
    int shift_x, shift_y;                         /* the largest shifts */
    struct steps steps;
    int most;              /* matches per rotation and scale */
    struct match *matches; /* in the order of rotations, with room for all of each */
    int counts[MOST_TURNS];
};

static enum status canvas_make(struct canvas *canvas, const struct search *search, struct error *error)
{
    const int width = search->fourier.width, height = search->fourier.height;
    size_t sums = (size_t)(width + 1) * (size_t)(height + 1);
    *canvas = (struct canvas){.most = search->most};
    if (gray_plane_make(&canvas->detail, width, height, error) != STATUS_OK)
        return STATUS_FAILED;
    canvas->weights = allocate_zeroed(sums, 2 * sizeof *canvas->weights, "sums of brightness", error);
    if (!canvas->weights)
        return STATUS_FAILED;
    canvas->squares = canvas->weights + sums;
    return STATUS_OK;
}

static void canvas_free(struct canvas *canvas)
{
    gray_plane_free(&canvas->detail);
    free(canvas->weights);
}

/* Resamples the picture; `affine` maps the reference's places. */
static void canvas_draw(struct canvas *canvas, const struct search *search, struct affine affine)
{
    const struct gray_plane *detail = &canvas->detail;
    size_t width = (size_t)detail->width, pitch = width + 1;
    affine.x -= affine.xx * search->shift_x + affine.xy * search->shift_y;
    affine.y -= affine.yx * search->shift_x + affine.yy * search->shift_y;
    sample_rows(search->picture, &affine, rows_full(detail->height), &canvas->detail);
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

/* Returns the sum over a rectangle of the reference's size from column x and row y on. */
static double sum_within(const double *sums, const struct search *search, int x, int y)
{
    size_t pitch = (size_t)search->fourier.width + 1;
    const double *top = sums + (size_t)y * pitch + x;
    const double *bottom = top + (size_t)search->reference->height * pitch;
    return bottom[search->reference->width] - bottom[0] - top[search->reference->width] + top[0];
}

/* Returns the index for a new peak: a lower neighbour's, the next free one, or that of the lowest peak; -1 if
 * a neighbour is higher. */
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
    canvas->least = canvas->count < canvas->most ? 0 : peak.score;
    for (int i = 0; i < canvas->count; i++)
        canvas->least = fmin(canvas->least, canvas->peaks[i].score);
}

/* `products` holds the sum of products of the reference and the picture for each shift. Parts that the
 * picture does not cover count as not alike: else a narrow strip agrees by chance. */
static void find_peaks(struct canvas *canvas, const struct search *search, const float *products)
{
    const double least = LEAST_COVERED * search->weight;
    canvas->count = 0;
    canvas->least = 0;
    for (int y = 0; y <= 2 * search->shift_y; y++)
        for (int x = 0; x <= 2 * search->shift_x; x++) {
            double product = (double)products[(size_t)y * (size_t)search->fourier.width + (size_t)x];
            if (!(product > 0) || sum_within(canvas->weights, search, x, y) < least)
                continue;
            double squares = sum_within(canvas->squares, search, x, y);
            const struct peak peak = {x - search->shift_x, y - search->shift_y,
                                      product / sqrt(squares * search->energy)};
            if (peak.score > canvas->least)
                add_peak(canvas, peak);
        }
}

/* Correlates two canvases at once, as the real and the imaginary part of one plane: they are multiplied by
 * the spectrum of a real plane, so the parts do not mix. */
static void correlate_both(const struct search *search, const struct canvas *pair, float *plane,
                           float *spectrum)
{
    const size_t count = (size_t)search->fourier.width * (size_t)search->fourier.height;
    for (size_t i = 0; i < 2; i++)
        memcpy(plane + i * count, pair[i].detail.values, count * sizeof *plane);
    fourier_forward(&search->fourier, plane, spectrum);
    for (size_t i = 0; i < count; i++) {
        const float real = spectrum[i], imaginary = spectrum[count + i];
        spectrum[i] = real * search->spectrum[i] - imaginary * search->spectrum[count + i];
        spectrum[count + i] = real * search->spectrum[count + i] + imaginary * search->spectrum[i];
    }
    fourier_back(&search->fourier, spectrum, plane);
}

/* Returns the map that rotates by `turn` steps and scales by `size` steps, and maps centre to centre. */
static struct affine centred(const struct gray_plane *reference, const struct gray_plane *picture, int turn,
                             int size)
{
    const double x = (reference->width - 1) / 2.0, y = (reference->height - 1) / 2.0;
    const double factor = exact_exp(size * SIZE);
    const double cosine = factor * exact_cos(turn * TURN), sine = factor * exact_sin(turn * TURN);
    struct affine affine = {cosine, -sine, 0, sine, cosine, 0};
    affine.x = (picture->width - 1) / 2.0 - affine.xx * x - affine.xy * y;
    affine.y = (picture->height - 1) / 2.0 - affine.yx * x - affine.yy * y;
    return affine;
}

int compare_matches(const void *a, const void *b)
{
    const struct match *first = a, *second = b;
    const double firsts[] = {second->score, first->affine.xx, first->affine.xy, first->affine.x,
                             first->affine.y},
                 seconds[] = {first->score, second->affine.xx, second->affine.xy, second->affine.x,
                              second->affine.y};
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++)
        if (firsts[i] != seconds[i])
            return firsts[i] < seconds[i] ? -1 : 1;
    return 0;
}

static struct match *matches_of_turn(const struct search *search, int index)
{
    return search->matches + (size_t)index * (size_t)search->steps.sizes * (size_t)search->most;
}

static void add_matches(const struct canvas *canvas, const struct affine *centred, struct match *matches,
                        int *count)
{
    for (int i = 0; i < canvas->count; i++) {
        const struct peak *peak = &canvas->peaks[i];
        struct affine affine = *centred;
        affine.x += affine.xx * peak->x + affine.xy * peak->y;
        affine.y += affine.yx * peak->x + affine.yy * peak->y;
        matches[(*count)++] = (struct match){.affine = affine, .score = peak->score};
    }
}

/* Tries all scales of a rotation in pairs. If their number is odd the last one is alone. */
static void try_sizes(struct search *search, int index, struct canvas *pair, float *plane, float *spectrum)
{
    const size_t count = (size_t)search->fourier.width * (size_t)search->fourier.height;
    const int turn = search->steps.first_turn + index;
    struct affine affine[2];
    for (int size = 0; size < search->steps.sizes; size += 2) {
        const int most = size + 1 < search->steps.sizes ? 2 : 1;
        for (int i = 0; i < most; i++) {
            affine[i] = centred(search->reference, search->picture, turn, size + i - search->steps.sizes / 2);
            canvas_draw(&pair[i], search, affine[i]);
        }
        correlate_both(search, pair, plane, spectrum);
        for (int i = 0; i < most; i++) {
            find_peaks(&pair[i], search, plane + (size_t)i * count);
            add_matches(&pair[i], &affine[i], matches_of_turn(search, index), &search->counts[index]);
        }
    }
}

static enum status try_turn(void *context, int index, struct error *error)
{
    struct search *search = context;
    const size_t count = (size_t)search->fourier.width * (size_t)search->fourier.height;
    struct canvas pair[2] = {{.count = 0}};
    float *plane = allocate(4 * count * sizeof *plane, "spectra of brightness", error);
    enum status status = plane ? STATUS_OK : STATUS_FAILED;
    for (int i = 0; status == STATUS_OK && i < 2; i++)
        status = canvas_make(&pair[i], search, error);
    search->counts[index] = 0;
    if (status == STATUS_OK)
        try_sizes(search, index, pair, plane, plane + 2 * count);
    for (int i = 0; i < 2; i++)
        canvas_free(&pair[i]);
    free(plane);
    return status;
}

/* Returns a power of two of at least twice the side, so that half of the reference may be uncovered. */
static int canvas_side(int side)
{
    int power = 2;
    while (power < 2 * side)
        power *= 2;
    return power;
}

/* Transforms the reference on a canvas, divided by the number of pixels. */
static enum status find_spectrum(struct search *search, struct error *error)
{
    const struct gray_plane *reference = search->reference;
    const size_t width = (size_t)search->fourier.width, count = width * (size_t)search->fourier.height;
    float *plane = allocate_zeroed(count, 2 * sizeof *plane, "spectra of brightness", error);
    if (!plane)
        return STATUS_FAILED;
    for (size_t y = 0; y < (size_t)reference->height; y++)
        for (size_t x = 0; x < (size_t)reference->width; x++) {
            const float value = reference->values[y * (size_t)reference->width + x];
            plane[y * width + x] = value / (float)count;
            search->energy += (double)value * (double)value;
            search->weight += (double)reference->weights[y * (size_t)reference->width + x];
        }
    fourier_forward(&search->fourier, plane, search->spectrum);
    for (size_t i = count; i < 2 * count; i++)
        search->spectrum[i] = -search->spectrum[i];
    free(plane);
    return STATUS_OK;
}

static enum status search_make(struct search *search, struct error *error)
{
    const int width = canvas_side(search->reference->width), height = canvas_side(search->reference->height);
    search->shift_x = (width - search->reference->width) / 2;
    search->shift_y = (height - search->reference->height) / 2;
    if (fourier_make(&search->fourier, width, height, error) != STATUS_OK)
        return STATUS_FAILED;
    search->spectrum = allocate((size_t)width * (size_t)height * 2 * sizeof *search->spectrum,
                                "spectra of brightness", error);
    return search->spectrum ? find_spectrum(search, error) : STATUS_FAILED;
}

enum status search_matches(struct workers *workers, enum model model, enum extent extent,
                           const struct levels *reference, const struct levels *picture,
                           struct match *matches, int *count, struct error *error)
{
    struct search search = {.reference = &reference->detail,
                            .picture = &picture->detail,
                            .steps = STEPS[extent],
                            .most = model >= MODEL_RIGID ? SHIFTS_TURNED : SHIFTS,
                            .matches = matches};
    if (model == MODEL_SHIFT)
        search.steps = (struct steps){0, 1, 1};
    else if (model == MODEL_RIGID)
        search.steps.sizes = 1;
    enum status status = search_make(&search, error);
    *count = 0;
    if (status == STATUS_OK)
        status = workers_each(workers, search.steps.turns, try_turn, &search, error);
    /* Each rotation has room for all its matches: close the gaps, and map matches to whole pictures. */
    for (int turn = 0; status == STATUS_OK && turn < search.steps.turns; turn++)
        for (int i = 0; i < search.counts[turn]; i++) {
            struct match match = matches_of_turn(&search, turn)[i];
            match.affine = level_to_whole(&reference->level[reference->count - 1], match.affine);
            matches[(*count)++] = match;
        }
    free(search.spectrum);
    fourier_free(&search.fourier);
    qsort(matches, (size_t)*count, sizeof *matches, compare_matches);
    return status;
}
