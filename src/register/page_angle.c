/* The angle of the lines of a page, by projection profiles: 33 ms for a page of 1240x1754. Large pages are
 * first reduced to a gray picture: each pixel is the sum of factor x factor pixels of the page, and the
 * longer side has 1200 to 2400 pixels.
 *
 *     gray -> ink (darker than the surroundings) -> strips of columns -> profiles -> the sharpest one
 *
 * A profile p is the sum of ink along lines of one direction. Along text it alternates between lines and the
 * white between them, so the squares of its differences are large:
 *
 *     score(angle) = sum over s of (p(s + 1) - p(s))^2
 *
 * W. Postl, "Detection of linear oblique structures and skew scan in digitized documents", ICPR (1986);
 * D. Bloomberg, G. Kopec, L. Dasari, "Measuring document image skew and orientation", SPIE 2422 (1995).
 *
 * The page is divided into up to four bands side by side. Each band has its own profile, and the scores of
 * all bands are added. A single profile mixes the lines of two columns of text, which are at different
 * heights: on one such page its angle was wrong by 0.3 degrees, with bands by 0.01.
 *
 * For speed, STRIP neighbouring columns of pixels are summed once. For each angle the strips are shifted
 * vertically by fractions of a pixel with quadratic B-splines, which smooth equally for any fraction. Linear
 * interpolation does not smooth at 0 degrees: pages of less than 0.4 degrees seemed level.
 *
 * Sums are in float and double in a fixed order, on one thread: a page has the same angle on every system. */
#include "register/page_angle.h"

#include "base/exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIP = 4,            /* columns of a strip: over them a line at 15 degrees rises by one pixel */
    MAX_BANDS = 4,        /* bands side by side */
    MIN_BAND_WIDTH = 300, /* pixels: narrower bands make the peak too wide */
    BATCH = 8,            /* rows or columns that box_mean filters at once */
    BINS = 1024,          /* of the histogram of contrasts */
    MAX_ANGLES = 512,     /* of the coarse search */
    OUTER_STEPS = 50      /* coarse steps on each side of the range, where no score may exceed the best one */
};

/* Degrees between the angles of the coarse search and of the fine one. */
static const double COARSE_STEP = 0.2, FINE_STEP = 0.05;

/* Scores are computed for angles up to at least this number of degrees, even if a smaller range is searched:
 * the best score is compared with the median, and near the best angle all scores are high. */
static const double MIN_RANGE = 15;

/* A measured angle. */
struct skew {
    double degrees; /* angle of the lines; positive if they fall to the right (clockwise) */
    bool is_clear;  /* the angle can be trusted */
};

/* The ink, summed in strips. */
struct strips {
    float *sums;    /* sums[k * height + y]: strip k in row y; owned */
    float *profile; /* scratch of `length` values; owned */
    int count;      /* number of strips */
    int height;     /* rows of the page */
    int length;     /* values of a profile: the rows, and room for the largest shift */
    int bands;      /* number of bands */
};

static double tangent(double degrees)
{
    const double radians = degrees * (3.14159265358979323846 / 180);
    return exact_sin(radians) / exact_cos(radians);
}

/* Box filter of `lines` neighbouring rows or columns: replaces each value by the mean of the 2 radius + 1
 * values around it, fewer at the ends. A line has n values, `step` floats apart; lines are `next` floats
 * apart. Filtering several lines at once uses vectors, and for columns whole cache lines. `sums` is scratch
 * of (n + 1) * lines values. */
static void box_mean(float *values, int n, size_t step, int lines, size_t next, int radius, double *sums)
{
    for (int k = 0; k < lines; k++)
        sums[k] = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < lines; k++)
            sums[(i + 1) * lines + k] =
                sums[i * lines + k] + (double)values[(size_t)i * step + (size_t)k * next];
    for (int i = 0; i < n; i++) {
        const int begin = i > radius ? i - radius : 0, end = i + radius + 1 < n ? i + radius + 1 : n;
        for (int k = 0; k < lines; k++)
            values[(size_t)i * step + (size_t)k * next] =
                (float)((sums[end * lines + k] - sums[begin * lines + k]) / (end - begin));
    }
}

/* Replaces gray by ink. The contrast of a pixel is the mean of its surroundings minus the pixel, or the
 * reverse if the page has light text. Contrasts up to a quarter of the strong ones are noise and become 0;
 * from three quarters on they become 1. */
static enum status find_ink(float *gray, int width, int height, struct error *error)
{
    const size_t size = (size_t)width * (size_t)height;
    const int longer = width > height ? width : height, radius = longer / 64 + 4;
    float *mean = allocate(size * sizeof *mean, "a page", error);
    double *sums = allocate(((size_t)longer + 1) * BATCH * sizeof *sums, "a page", error);
    unsigned counts[BINS] = {0};
    if (!mean || !sums) {
        free(mean);
        free(sums);
        return STATUS_FAILED;
    }
    memcpy(mean, gray, size * sizeof *mean);
    for (int y = 0; y < height; y += BATCH)
        box_mean(mean + (size_t)y * (size_t)width, width, 1, height - y < BATCH ? height - y : BATCH,
                 (size_t)width, radius, sums);
    for (int x = 0; x < width; x += BATCH)
        box_mean(mean + x, height, (size_t)width, width - x < BATCH ? width - x : BATCH, 1, radius, sums);
    double cubes = 0, largest = 0;
    for (size_t i = 0; i < size; i++) {
        const double contrast = (double)mean[i] - (double)gray[i];
        gray[i] = (float)contrast;
        cubes += contrast * contrast * contrast;
        largest = fabs(contrast) > largest ? fabs(contrast) : largest;
    }
    /* `strong` is the 96th percentile of contrasts. Text is light if the sum of their cubes is negative. */
    for (size_t i = 0; i < size && largest > 0; i++)
        counts[(int)(fabs((double)gray[i]) / largest * (BINS - 1))]++;
    int bin = BINS - 1;
    for (size_t above = counts[bin]; bin > 0 && above < size / 25; above += counts[bin])
        bin--;
    const float strong = (float)((bin + 0.5) / BINS * largest), sign = cubes < 0 ? -1 : 1;
    for (size_t i = 0; i < size; i++) {
        const float ink = strong > 0 ? 2 * sign * gray[i] / strong - 0.5F : 0;
        gray[i] = ink < 0 ? 0 : ink > 1 ? 1 : ink;
    }
    free(mean);
    free(sums);
    return STATUS_OK;
}

/* Returns the score of an angle, which is the sum over the bands. */
static double score_angle(const struct strips *strips, double degrees)
{
    const double slope = tangent(degrees);
    const int margin = (strips->length - strips->height) / 2; /* room for shifts at either end */
    double score = 0;
    for (int band = 0; band < strips->bands; band++) {
        memset(strips->profile, 0, (size_t)strips->length * sizeof *strips->profile);
        for (int k = band * strips->count / strips->bands; k < (band + 1) * strips->count / strips->bands;
             k++) {
            const double shift = margin - (k - (strips->count - 1) / 2.0) * STRIP * slope;
            const int whole = (int)(shift + 0.5); /* rounds, as shift is positive */
            const float f = (float)(shift - whole), before = (0.5F + f) * (0.5F + f) / 2, at = 0.75F - f * f,
                        after = (0.5F - f) * (0.5F - f) / 2,
                        *sums = strips->sums + (size_t)k * (size_t)strips->height;
            float *to = strips->profile + whole;
            for (int y = 1; y + 1 < strips->height; y++)
                to[y] += before * sums[y - 1] + at * sums[y] + after * sums[y + 1];
        }
        for (int i = 0; i + 1 < strips->length; i++) {
            const double step = (double)strips->profile[i + 1] - (double)strips->profile[i];
            score += step * step;
        }
    }
    return score;
}

static int compare_doubles(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Searches the angles from -max_angle to max_angle, then more finely around the best one. Compares its score
 * with the scores of all angles from -range to `range` to decide if the angle is clear. */
static void search_angles(const struct strips *strips, double max_angle, double range, struct skew *skew)
{
    /* The score of a clear angle over the median of all scores, at least; noise reaches 1.4. At 0 degrees
     * more is required, as the 8x8 blocks of a noisy JPEG form level lines; level pages have at least 9. */
    static const double MIN_CLARITY = 2.5, MIN_CLARITY_LEVEL = 5;
    /* The score of the second peak over the score of the best one, both minus the median, at most. */
    static const double MAX_RIVAL = 0.7;
    /* Degrees between the two peaks, at least. */
    static const double MIN_DISTANCE = 1.5;
    double scores[MAX_ANGLES] = {0}, sorted[MAX_ANGLES] = {0}, rival = 0;
    const int half = (int)ceil(range / COARSE_STEP), count = 2 * half + 1; /* scores[half]: 0 degrees */
    const int begin = half - (int)ceil(max_angle / COARSE_STEP), end = count - begin; /* searched angles */
    int best = begin;
    for (int i = 0; i < count; i++) {
        scores[i] = sorted[i] = score_angle(strips, (i - half) * COARSE_STEP);
        if (i >= begin && i < end && scores[i] > scores[best])
            best = i;
    }
    /* The best angle may be a side lobe, if the page is rotated by more than the range: then scores outside
     * are higher. */
    bool is_highest = true;
    for (int i = half + 2; is_highest && i <= half + OUTER_STEPS; i += 2)
        is_highest = score_angle(strips, i * COARSE_STEP) <= scores[best] &&
                     score_angle(strips, -i * COARSE_STEP) <= scores[best];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    const double median = sorted[count / 2];
    /* Find the second peak, outside [first, last]: the best peak down to the minima on both sides. */
    int first = best, last = best;
    while (first > 0 && (scores[first - 1] <= scores[first] || (best - first) * COARSE_STEP < MIN_DISTANCE))
        first--;
    while (last + 1 < count &&
           (scores[last + 1] <= scores[last] || (last - best) * COARSE_STEP < MIN_DISTANCE))
        last++;
    for (int i = 0; i < count; i++)
        if ((i < first || i > last) && scores[i] > rival)
            rival = scores[i];
    /* Search more finely, a little more than one coarse step to either side. */
    enum { FINE_STEPS = 5 };
    double fine[2 * FINE_STEPS + 1] = {0};
    int peak = FINE_STEPS;
    for (int i = 0; i <= 2 * FINE_STEPS; i++) {
        fine[i] = score_angle(strips, (best - half) * COARSE_STEP + (i - FINE_STEPS) * FINE_STEP);
        peak = fine[i] > fine[peak] ? i : peak;
    }
    const bool is_inside = peak > 0 && peak < 2 * FINE_STEPS;
    /* The maximum of the parabola through three points, as an offset from the middle one, -0.5 to 0.5. */
    const double before = is_inside ? fine[peak - 1] : 0, after = is_inside ? fine[peak + 1] : 0;
    const double bend = before - 2 * fine[peak] + after;
    const double offset = is_inside && bend < 0 ? 0.5 * (before - after) / bend : 0;
    skew->degrees = (best - half) * COARSE_STEP + (peak - FINE_STEPS + offset) * FINE_STEP;
    const double clarity = fabs(skew->degrees) < FINE_STEP ? MIN_CLARITY_LEVEL : MIN_CLARITY;
    skew->is_clear = is_inside && is_highest && best > begin && best + 1 < end && median > 0 &&
                     fine[peak] > clarity * median && rival - median < MAX_RIVAL * (fine[peak] - median);
}

/* Finds the angle, from -max_angle to max_angle degrees. `gray` has rows of `width` finite values without
 * padding, of any scale, and is overwritten. Text may be dark or light. Fails only if out of memory. */
static enum status skew_find(float *gray, int width, int height, double max_angle, struct skew *skew,
                             struct error *error)
{
    *skew = (struct skew){.degrees = 0};
    const double range = max_angle > MIN_RANGE ? max_angle : MIN_RANGE;
    const int shifts = (int)(width * tangent(range + OUTER_STEPS * COARSE_STEP + 1)) + 4;
    const int fitting = width > MIN_BAND_WIDTH ? width / MIN_BAND_WIDTH : 1;
    const int bands = fitting < MAX_BANDS ? fitting : MAX_BANDS;
    struct strips strips = {
        .count = width / STRIP, .height = height, .length = height + shifts, .bands = bands};
    if (strips.count < 8 || height < 32) /* too small for text */
        return STATUS_OK;
    strips.sums = allocate((size_t)strips.count * (size_t)height * sizeof *strips.sums, "a page", error);
    strips.profile = allocate((size_t)strips.length * sizeof *strips.profile, "a page", error);
    enum status status = strips.sums && strips.profile ? STATUS_OK : STATUS_FAILED;
    if (status == STATUS_OK)
        status = find_ink(gray, width, height, error);
    if (status == STATUS_OK) {
        /* Sum the ink of each strip and smooth it along y with weights 1 4 6 4 1. */
        for (int k = 0; k < strips.count; k++) {
            float *sums = strips.sums + (size_t)k * (size_t)strips.height, *raw = strips.profile;
            for (int y = 0; y < strips.height; y++) {
                const float *row = gray + (size_t)y * (size_t)width + (size_t)k * STRIP;
                raw[y] = 0;
                for (int i = 0; i < STRIP; i++)
                    raw[y] += row[i];
                sums[y] = 0;
            }
            /* Fade out towards the top and bottom border, which would be a sharp line at 0 degrees. */
            for (int y = 2; y + 2 < strips.height; y++) {
                const int border = y < strips.height - 1 - y ? y : strips.height - 1 - y,
                          ramp = strips.height / 12 + 1;
                const float weight = (float)(border < ramp ? border : ramp) / (float)(16 * ramp);
                sums[y] = weight * (raw[y - 2] + raw[y + 2] + 4 * (raw[y - 1] + raw[y + 1]) + 6 * raw[y]);
            }
        }
        search_angles(&strips, max_angle, range, skew);
    }
    free(strips.sums);
    free(strips.profile);
    return status;
}

/* ---------------------------------------------------------------- the measurement */

enum status page_angle_begin(void *context, const void *params, const struct shape *shape,
                             const struct image_info *info, struct error *error)
{
    struct page_angle *state = context;
    const uint32_t longer = info->width > info->height ? info->width : info->height;
    (void)params;
    (void)shape;
    state->info = *info;
    state->factor = longer / PAGE_ANGLE_SIDE > 1 ? (int)(longer / PAGE_ANGLE_SIDE) : 1;
    state->width = (int)info->width / state->factor;
    state->height = (int)info->height / state->factor;
    const size_t size = (size_t)state->width * (size_t)state->height;
    state->gray = allocate((size + 1) * sizeof *state->gray, "a page", error);
    state->values =
        allocate((size_t)info->width * (size_t)info->channels * sizeof *state->values, "a row", error);
    return state->gray && state->values ? STATUS_OK : STATUS_FAILED;
}

/* Composites rows on white and adds them to the pixels of `gray`. NaN and huge values count as 0. A row of
 * `gray` is zeroed just before its first pixels are added. Memory from calloc is slower: the first read of
 * each page maps the shared zero page, and the first write faults again and interrupts all cores (30 ms for a
 * page). */
void page_angle_add(void *context, const void *rows, size_t pitch, uint32_t count)
{
    struct page_angle *state = context;
    const size_t channels = (size_t)state->info.channels, colours = channels - state->info.alpha;
    for (uint32_t i = 0; i < count; i++, state->row++) {
        const int y = (int)state->row / state->factor;
        if (y >= state->height)
            return;
        float *to = state->gray + (size_t)y * (size_t)state->width;
        if ((int)state->row % state->factor == 0)
            memset(to, 0, (size_t)state->width * sizeof *to);
        sample_values(state->info.type, (const unsigned char *)rows + i * pitch, 0,
                      (size_t)state->width * (size_t)state->factor * channels, state->values);
        const double *value = state->values;
        for (int x = 0; x < state->width; x++) {
            double sum = 0;
            for (int k = 0; k < state->factor; k++, value += channels) {
                const double alpha = colours < channels ? value[colours] : 1;
                for (size_t c = 0; c < colours; c++)
                    sum += alpha * value[c] + (1 - alpha);
            }
            to[x] += fabs(sum) < 1e20 ? (float)sum : 0;
        }
    }
}

enum status page_angle_find(const struct page_angle *state, double max_angle, double *degrees,
                            struct replacement *replacement, struct error *error)
{
    /* Smallest angle in degrees that is worth an interpolation: one pixel in 1100. */
    static const double MIN_ANGLE = 0.05;
    struct skew skew;
    if (skew_find(state->gray, state->width, state->height, max_angle, &skew, error) != STATUS_OK)
        return STATUS_FAILED;
    *degrees = skew.is_clear && fabs(skew.degrees) >= MIN_ANGLE ? -skew.degrees : 0;
    if (skew.is_clear)
        snprintf(replacement->found, sizeof replacement->found, "turned by %.3f degrees", *degrees + 0.0);
    else
        snprintf(replacement->warning, sizeof replacement->warning,
                 "has no lines with a clear angle of at most %.3g degrees, and is not turned", max_angle);
    replacement->stage = "rotate";
    return STATUS_OK;
}

void page_angle_release(void *context)
{
    struct page_angle *state = context;
    free(state->gray);
    free(state->values);
}
