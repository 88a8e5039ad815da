/* The first matches: all shifts of every rotation and scale, on the coarsest level, usually 64 x 64 pixels.
 *
 *     picture's detail ─▶ rotate, scale ─▶ FFT ─▶ times the reference's conjugate spectrum ─▶ inverse FFT
 *                                                                                                  │
 *                               matches ◀─ highest peaks ◀─ normalize each shift ◀─────────────────┘
 *
 * The picture's detail I is resampled to a canvas, the reference's grid with a margin. One pair of Fourier
 * transforms then correlates it with the reference's detail R for all shifts at once. The correlation of a
 * shift is
 *
 *     sum of R I / sqrt(sum of R^2 * sum of I^2)
 *
 * The sum of I^2 is over the part of the canvas under the shifted reference. It comes from a summed-area
 * table (F. Crow, "Summed-Area Tables for Texture Mapping", SIGGRAPH 1984). The highest peaks of each
 * rotation and scale become matches, which refine.c judges by blocks.
 *
 * Shifts of half of the reference cost no more than small ones. Rotations are divided among threads. */
#include "register/refine.h"

#include "base/exact.h"
#include "base/threads.h"
#include "register/fourier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of the rotation (3.75 degrees, in radians) and of the scale's logarithm. A step moves the corners of
 * 64 x 64 pixels by 3, so the nearest step is at most 1.5 pixels off: stripes of a few pixels still overlap.
 * Half of these steps were tried and found nothing more. */
static const double ROTATION_STEP = 3.75 * 0.017453292519943295, SCALE_STEP = 0.064;

/* Rotations and scales that are searched. 11 scales are 0.72 to 1.38. */
static const struct steps {
    int first_rotation; /* in steps */
    int rotations;      /* number of rotations */
    int scales;         /* number of scales, which are symmetrical about 1 */
} STEPS[] = {[ROTATIONS_SMALL] = {-8, 17, 11}, [ROTATIONS_LARGE] = {9, 79, 11}};

/* Number of peaks of a rotation and scale that become matches: for MODEL_SHIFT, and for other models. Several
 * are needed if a pattern is repeated. Peaks nearer than MIN_DISTANCE pixels count as one. */
enum { SHIFTS = 32, SHIFTS_ROTATED = 4, MIN_DISTANCE = 3 };
enum { MAX_ROTATIONS = 79, MAX_SCALES = 11 };
_Static_assert(MAX_ROTATIONS *MAX_SCALES *SHIFTS_ROTATED <= MAX_MATCHES, "room for all matches");

/* Least share of the reference that the picture must cover. */
static const double MIN_COVERED = 0.3;

/* Least share of the squares of the picture's detail that must be under the reference. A flat background has
 * less: its correlations are rounding errors divided by almost 0, and exceed all others. */
static const double MIN_SQUARES = 1e-9;

/* A shift with a high correlation. */
struct peak {
    int x, y; /* pixels of the coarsest level */
    double score;
};

/* The picture's detail, rotated and scaled, on the reference's grid with a margin:
 *
 *     ┌───────────────────────┐
 *     │        shift_y        │     sides are powers of two, at least twice the reference's
 *     │       ┌───────┐       │
 *     │shift_x│ refe- │       │
 *     │       │ rence │       │
 *     │       └───────┘       │
 *     └───────────────────────┘ */
struct canvas {
    struct gray_plane detail;
    double *weights, *squares; /* summed-area tables of weights and values^2: one row and column larger */
    struct peak peaks[SHIFTS]; /* the highest correlations, unsorted */
    int count, max_count;      /* number of peaks */
    double threshold;          /* only higher correlations are added */
};

/* The input and output of all threads. A thread writes only its rotation's part of matches and counts. */
struct search {
    const struct gray_plane *reference, *picture; /* detail of the coarsest levels */
    struct fourier fourier;                       /* tables for the canvas' size */
    float *spectrum;                              /* of the reference, conjugated; owned */
    double energy, weight;                        /* sums of the reference's squares and weights */
    double min_squares;                           /* MIN_SQUARES of the sum of the picture's squares */
    int shift_x, shift_y;                         /* largest shifts, in pixels */
    struct steps steps;
    int max_peaks;             /* for each rotation and scale */
    struct match *matches;     /* steps.scales * max_peaks for each rotation */
    int counts[MAX_ROTATIONS]; /* number of matches of each rotation */
};

/* Resamples the picture's detail onto the canvas and computes the summed-area tables. `affine` maps pixels of
 * the reference to the picture. */
static void canvas_draw(struct canvas *canvas, const struct search *search, struct affine affine)
{
    const struct gray_plane *detail = &canvas->detail;
    size_t width = (size_t)detail->width, pitch = width + 1;
    /* The reference's top left pixel is at (shift_x, shift_y) of the canvas. */
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

/* Returns the sum over a rectangle of the reference's size whose top left pixel is (x, y) of the canvas. */
static double rectangle_sum(const double *sums, const struct search *search, int x, int y)
{
    size_t pitch = (size_t)search->fourier.width + 1;
    const double *top = sums + (size_t)y * pitch + x;
    const double *bottom = top + (size_t)search->reference->height * pitch;
    return bottom[search->reference->width] - bottom[0] - top[search->reference->width] + top[0];
}

/* Adds a peak, unless a neighbour is as high. It replaces a lower neighbour. Without a neighbour it is
 * appended, or replaces the lowest peak of a full list. */
static void add_peak(struct canvas *canvas, struct peak peak)
{
    int lowest = 0, neighbour = -1;
    for (int i = 0; i < canvas->count && neighbour < 0; i++) {
        const struct peak *other = &canvas->peaks[i];
        if (abs(other->x - peak.x) < MIN_DISTANCE && abs(other->y - peak.y) < MIN_DISTANCE)
            neighbour = i;
        lowest = other->score < canvas->peaks[lowest].score ? i : lowest;
    }
    if (neighbour >= 0 && !(peak.score > canvas->peaks[neighbour].score))
        return;
    const int at = neighbour >= 0 ? neighbour : canvas->count < canvas->max_count ? canvas->count : lowest;
    canvas->peaks[at] = peak;
    canvas->count += at == canvas->count;
    /* A full list accepts only peaks above its lowest one. */
    canvas->threshold = canvas->count < canvas->max_count ? 0 : peak.score;
    for (int i = 0; i < canvas->count; i++)
        canvas->threshold = fmin(canvas->threshold, canvas->peaks[i].score);
}

/* Finds the highest correlations of a canvas. `products` has the sum of R I for each shift. The sum of R^2
 * includes pixels that the picture does not cover: without them narrow strips would agree by chance. */
static void find_peaks(struct canvas *canvas, const struct search *search, const float *products)
{
    const double min_weight = MIN_COVERED * search->weight;
    canvas->count = 0;
    canvas->threshold = 0;
    for (int y = 0; y <= 2 * search->shift_y; y++)
        for (int x = 0; x <= 2 * search->shift_x; x++) {
            double product = (double)products[(size_t)y * (size_t)search->fourier.width + (size_t)x];
            if (!(product > 0) || rectangle_sum(canvas->weights, search, x, y) < min_weight)
                continue;
            double squares = rectangle_sum(canvas->squares, search, x, y);
            if (!(squares > search->min_squares))
                continue;
            const struct peak peak = {x - search->shift_x, y - search->shift_y,
                                      product / sqrt(squares * search->energy)};
            if (peak.score > canvas->threshold)
                add_peak(canvas, peak);
        }
}

/* Returns the map from reference to picture that rotates by `rotation` steps, scales by `scale` steps, and
 * maps the centre to the centre. */
static struct affine centred_map(const struct gray_plane *reference, const struct gray_plane *picture,
                                 int rotation, int scale)
{
    const double x = (reference->width - 1) / 2.0, y = (reference->height - 1) / 2.0;
    const double factor = exact_exp(scale * SCALE_STEP), angle = rotation * ROTATION_STEP;
    const double cosine = factor * exact_cos(angle), sine = factor * exact_sin(angle);
    struct affine affine = {cosine, -sine, 0, sine, cosine, 0};
    affine.x = (picture->width - 1) / 2.0 - affine.xx * x - affine.xy * y;
    affine.y = (picture->height - 1) / 2.0 - affine.yx * x - affine.yy * y;
    return affine;
}

int compare_matches(const void *a, const void *b)
{
    /* Scores are exchanged below, as the highest comes first. */
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

/* Returns the first match of rotation `index`. */
static struct match *matches_of_rotation(const struct search *search, int index)
{
    return search->matches + (size_t)index * (size_t)search->steps.scales * (size_t)search->max_peaks;
}

/* Searches all scales of a rotation, two at a time. If their number is odd, the second canvas keeps its old
 * content in the last round, and its result is ignored. */
static void search_scales(struct search *search, int index, struct canvas *pair, float *plane,
                          float *spectrum)
{
    const size_t pixels = (size_t)search->fourier.width * (size_t)search->fourier.height;
    const int scales = search->steps.scales, rotation = search->steps.first_rotation + index;
    struct match *matches = matches_of_rotation(search, index);
    struct affine affine[2];
    for (int scale = 0; scale < scales; scale += 2) {
        const int used = scale + 1 < scales ? 2 : 1;
        for (int i = 0; i < used; i++) {
            affine[i] = centred_map(search->reference, search->picture, rotation, scale + i - scales / 2);
            canvas_draw(&pair[i], search, affine[i]);
        }
        /* Correlate both with the reference at once, as the real and the imaginary part of one plane. As the
         * reference is real, the parts stay separate. */
        for (size_t i = 0; i < 2; i++)
            memcpy(plane + i * pixels, pair[i].detail.values, pixels * sizeof *plane);
        fourier_forward(&search->fourier, plane, spectrum);
        for (size_t i = 0; i < pixels; i++) {
            const float real = spectrum[i], imaginary = spectrum[pixels + i];
            spectrum[i] = real * search->spectrum[i] - imaginary * search->spectrum[pixels + i];
            spectrum[pixels + i] = real * search->spectrum[pixels + i] + imaginary * search->spectrum[i];
        }
        fourier_inverse(&search->fourier, spectrum, plane);
        /* Each peak becomes a match: the centred map after the shift. */
        for (int i = 0; i < used; i++) {
            find_peaks(&pair[i], search, plane + (size_t)i * pixels);
            for (int k = 0; k < pair[i].count; k++) {
                const struct peak *peak = &pair[i].peaks[k];
                struct affine shifted = affine[i];
                shifted.x += shifted.xx * peak->x + shifted.xy * peak->y;
                shifted.y += shifted.yx * peak->x + shifted.yy * peak->y;
                matches[search->counts[index]++] = (struct match){.affine = shifted, .score = peak->score};
            }
        }
    }
}

/* Searches one rotation (for thread_pool_each), with canvases of its own. */
static enum status search_rotation(void *context, int index, struct error *error)
{
    struct search *search = context;
    const size_t width = (size_t)search->fourier.width, height = (size_t)search->fourier.height;
    const size_t count = width * height, sums = (width + 1) * (height + 1);
    struct canvas pair[2] = {{.count = 0}};
    float *plane = allocate(4 * count * sizeof *plane, "spectra of brightness", error);
    enum status status = plane ? STATUS_OK : STATUS_FAILED;
    for (int i = 0; status == STATUS_OK && i < 2; i++) {
        struct canvas *canvas = &pair[i];
        *canvas = (struct canvas){.max_count = search->max_peaks};
        status = gray_plane_make(&canvas->detail, search->fourier.width, search->fourier.height, error);
        canvas->weights = allocate_zeroed(sums, 2 * sizeof *canvas->weights, "sums of brightness", error);
        if (canvas->weights)
            canvas->squares = canvas->weights + sums;
        else
            status = STATUS_FAILED;
    }
    search->counts[index] = 0;
    if (status == STATUS_OK)
        search_scales(search, index, pair, plane, plane + 2 * count);
    for (int i = 0; i < 2; i++) {
        gray_plane_free(&pair[i].detail);
        free(pair[i].weights);
    }
    free(plane);
    return status;
}

/* Returns the smallest power of two that is at least twice the side: a margin of half of the reference. */
static int canvas_side(int side)
{
    int power = 2;
    while (power < 2 * side)
        power *= 2;
    return power;
}

/* Initialises a search: sizes, tables and the reference's spectrum. The caller frees it, also on failure. */
static enum status search_make(struct search *search, struct error *error)
{
    const struct gray_plane *reference = search->reference, *picture = search->picture;
    const int canvas_width = canvas_side(reference->width), canvas_height = canvas_side(reference->height);
    const size_t width = (size_t)canvas_width, count = width * (size_t)canvas_height;
    search->shift_x = (canvas_width - reference->width) / 2;
    search->shift_y = (canvas_height - reference->height) / 2;
    if (fourier_make(&search->fourier, canvas_width, canvas_height, error) != STATUS_OK)
        return STATUS_FAILED;
    search->spectrum = allocate(count * 2 * sizeof *search->spectrum, "spectra of brightness", error);
    if (!search->spectrum)
        return STATUS_FAILED;
    /* Put the reference at the canvas' top left. Divide it by the number of pixels: that is the factor of a
     * forward and an inverse transform. */
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
    for (size_t i = 0; i < (size_t)picture->width * (size_t)picture->height; i++)
        search->min_squares += MIN_SQUARES * (double)picture->values[i] * (double)picture->values[i];
    /* A correlation is a product with the conjugate spectrum. */
    fourier_forward(&search->fourier, plane, search->spectrum);
    for (size_t i = count; i < 2 * count; i++)
        search->spectrum[i] = -search->spectrum[i];
    free(plane);
    return STATUS_OK;
}

enum status search_matches(struct thread_pool *workers, enum model model, enum rotation_range range,
                           const struct levels *reference, const struct levels *picture,
                           struct match *matches, int *count, struct error *error)
{
    struct search search = {.reference = &reference->detail,
                            .picture = &picture->detail,
                            .steps = STEPS[range],
                            .max_peaks = model >= MODEL_RIGID ? SHIFTS_ROTATED : SHIFTS,
                            .matches = matches};
    if (model == MODEL_SHIFT)
        search.steps = (struct steps){0, 1, 1};
    else if (model == MODEL_RIGID)
        search.steps.scales = 1;
    enum status status = search_make(&search, error);
    *count = 0;
    if (status == STATUS_OK)
        status = thread_pool_each(workers, search.steps.rotations, search_rotation, &search, error);
    /* Close the gaps between the rotations' matches, and convert the maps to whole pictures. */
    for (int k = 0; status == STATUS_OK && k < search.steps.rotations; k++)
        for (int i = 0; i < search.counts[k]; i++) {
            struct match match = matches_of_rotation(&search, k)[i];
            match.affine = level_to_whole(&reference->level[reference->count - 1], match.affine);
            matches[(*count)++] = match;
        }
    free(search.spectrum);
    fourier_free(&search.fourier);
    qsort(matches, (size_t)*count, sizeof *matches, compare_matches);
    return status;
}
