/* The angle of the lines of a page, by projection profiles: 33 ms for a page of 1240x1754. The rows of a page
 * are reduced to a gray picture while they are added, by a whole factor: the longer side of a large page
 * becomes 1200 to 2400 pixels.
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
 * The page is divided into up to four bands side by side. Each has a profile, and their scores are added.
 * One profile joins lines of two columns of text that are at different heights: a page whose angle is found
 * to 0.01 degrees with bands was 0.3 degrees off.
 *
 * Columns of pixels are first summed in strips of a few columns. For each angle the strips are shifted by
 * fractions of a pixel, with quadratic B-splines, which smooth by the same amount for any fraction. Linear
 * interpolation does not smooth at 0 degrees, so pages of less than 0.4 degrees seemed level.
 *
 * Sums are in float and double in a fixed order, on one thread: a page has the same angle on every system. */
#include "register/page_angle.h"

#include "base/exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIP = 4,            /* columns of a strip: at 15 degrees it rises by a pixel */
    MAX_BANDS = 4,        /* bands side by side */
    MIN_BAND_WIDTH = 300, /* pixels: narrower bands make the peak too wide */
    LINES = 8,            /* lines whose means are computed at once */
    BINS = 1024,          /* of the histogram of contrasts */
    MAX_ANGLES = 512,     /* of the coarse search */
    BEYOND = 50           /* coarse steps beyond the range in which no score may exceed the best one */
};

/* Degrees between the angles of the coarse search and of the fine one. */
static const double COARSE = 0.2, FINE = 0.05;

/* Scores are computed from minus to plus this number of degrees at least, also if fewer are searched: near
 * the best angle all scores are high, and their median says nothing. */
static const double MIN_RANGE = 15;

/* A measured angle. */
struct skew {
    double degrees; /* angle of the lines; positive if they fall to the right (clockwise) */
    bool is_clear;  /* the angle can be trusted */
};

/* The ink, summed in strips. */
struct strips {
    float *sums;    /* of strip k in row y, at k * height + y; owned */
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

/* Replaces the values of `lines` neighbouring lines by the means of windows of 2 radius + 1 values, fewer at
 * the ends. A line has n values at distances of `step`; the next line begins at a distance of `next`. Several
 * lines at once fill vectors, and if they are columns, cache lines. `sums` is scratch of (n + 1) * lines. */
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

/* Replaces gray by ink, 0 to 1: how much darker a pixel is than the mean of its surroundings; how much
 * lighter, if the page has light text. Less than a quarter of the strong contrasts is 0, as it is noise; from
 * three quarters on it is 1. */
static enum status find_ink(float *gray, int width, int height, struct error *error)
{
    const size_t size = (size_t)width * (size_t)height;
    const int longer = width > height ? width : height, radius = longer / 64 + 4;
    float *mean = allocate(size * sizeof *mean, "a page", error);
    double *sums = allocate(((size_t)longer + 1) * LINES * sizeof *sums, "a page", error);
    unsigned counts[BINS] = {0};
    if (!mean || !sums) {
        free(mean);
        free(sums);
        return STATUS_FAILED;
    }
    memcpy(mean, gray, size * sizeof *mean);
    for (int y = 0; y < height; y += LINES)
        box_mean(mean + (size_t)y * (size_t)width, width, 1, height - y < LINES ? height - y : LINES,
                 (size_t)width, radius, sums);
    for (int x = 0; x < width; x += LINES)
        box_mean(mean + x, height, (size_t)width, width - x < LINES ? width - x : LINES, 1, radius, sums);
    double cubes = 0, largest = 0;
    for (size_t i = 0; i < size; i++) {
        const double contrast = (double)mean[i] - (double)gray[i];
        gray[i] = (float)contrast;
        cubes += contrast * contrast * contrast;
        largest = fabs(contrast) > largest ? fabs(contrast) : largest;
    }
    /* The strong contrasts: the largest 4%. */
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

/* Sums the ink of each strip and smooths it along y by 1 4 6 4 1. */
static void fill_strips(struct strips *strips, const float *ink, int width)
{
    for (int k = 0; k < strips->count; k++) {
        float *sums = strips->sums + (size_t)k * (size_t)strips->height, *raw = strips->profile;
        for (int y = 0; y < strips->height; y++) {
            const float *row = ink + (size_t)y * (size_t)width + (size_t)k * STRIP;
            raw[y] = 0;
            for (int i = 0; i < STRIP; i++)
                raw[y] += row[i];
            sums[y] = 0;
        }
        /* Weights rise from 0 at the border to 1 at a twelfth of the height, as the border would be a sharp
         * line at 0 degrees. */
        for (int y = 2; y + 2 < strips->height; y++) {
            const int border = y < strips->height - 1 - y ? y : strips->height - 1 - y,
                      ramp = strips->height / 12 + 1;
            const float weight = (float)(border < ramp ? border : ramp) / (float)(16 * ramp);
            sums[y] = weight * (raw[y - 2] + raw[y + 2] + 4 * (raw[y - 1] + raw[y + 1]) + 6 * raw[y]);
        }
    }
}

/* Returns the score of an angle, which is the sum over the bands. */
static double score_angle(const struct strips *strips, double degrees)
{
    const double slope = tangent(degrees);
    const int middle = (strips->length - strips->height) / 2;
    double score = 0;
    for (int band = 0; band < strips->bands; band++) {
        memset(strips->profile, 0, (size_t)strips->length * sizeof *strips->profile);
        for (int k = band * strips->count / strips->bands; k < (band + 1) * strips->count / strips->bands;
             k++) {
            const double shift = middle - (k - (strips->count - 1) / 2.0) * STRIP * slope;
            const int whole = (int)(shift + 0.5); /* positive */
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

/* Returns the maximum of the parabola through three points, as an offset from the middle one, -0.5 to 0.5. */
static double vertex(double before, double at, double after)
{
    const double bend = before - 2 * at + after;
    return bend < 0 ? 0.5 * (before - after) / bend : 0;
}

/* Searches the angles from -most to `most`, then more finely around the best one. Judges it by the scores of
 * all angles from -range to `range`. */
static void search_angles(const struct strips *strips, double most, double range, struct skew *skew)
{
    /* Least quotient of the score of a clear angle and the median of all scores; noise reaches 1.4. At 0
     * degrees the rows of a noisy JPEG's blocks are lines, too, so more is required; level pages have at
     * least 9. */
    static const double MIN_CLARITY = 2.5, MIN_CLARITY_LEVEL = 5;
    /* Largest score of a rival over the best score, after the median was subtracted from both. */
    static const double MAX_RIVAL = 0.7;
    /* Smallest distance of a rival from the best angle, in degrees. */
    static const double MIN_DISTANCE = 1.5;
    double scores[MAX_ANGLES] = {0}, sorted[MAX_ANGLES] = {0}, rival = 0;
    const int half = (int)ceil(range / COARSE), count = 2 * half + 1;
    const int begin = half - (int)ceil(most / COARSE), end = count - begin; /* of the angles searched */
    int best = begin;
    for (int i = 0; i < count; i++) {
        scores[i] = sorted[i] = score_angle(strips, (i - half) * COARSE);
        if (i >= begin && i < end && scores[i] > scores[best])
            best = i;
    }
    /* A page that is turned by more than the range has side lobes within it. */
    bool is_highest = true;
    for (int i = half + 2; is_highest && i <= half + BEYOND; i += 2)
        is_highest = score_angle(strips, i * COARSE) <= scores[best] &&
                     score_angle(strips, -i * COARSE) <= scores[best];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    const double median = sorted[count / 2];
    /* Find the highest rival, outside the peak and its slopes, [first, last]. */
    int first = best, last = best;
    while (first > 0 && (scores[first - 1] <= scores[first] || (best - first) * COARSE < MIN_DISTANCE))
        first--;
    while (last + 1 < count && (scores[last + 1] <= scores[last] || (last - best) * COARSE < MIN_DISTANCE))
        last++;
    for (int i = 0; i < count; i++)
        if ((i < first || i > last) && scores[i] > rival)
            rival = scores[i];
    /* Search finely, one coarse step to both sides. */
    enum { REACH = 5 };
    double fine[2 * REACH + 1] = {0};
    int peak = REACH;
    for (int i = 0; i <= 2 * REACH; i++) {
        fine[i] = score_angle(strips, (best - half) * COARSE + (i - REACH) * FINE);
        peak = fine[i] > fine[peak] ? i : peak;
    }
    const bool is_inside = peak > 0 && peak < 2 * REACH;
    const double offset = is_inside ? vertex(fine[peak - 1], fine[peak], fine[peak + 1]) : 0;
    skew->degrees = (best - half) * COARSE + (peak - REACH + offset) * FINE;
    const double clarity = fabs(skew->degrees) < FINE ? MIN_CLARITY_LEVEL : MIN_CLARITY;
    skew->is_clear = is_inside && is_highest && best > begin && best + 1 < end && median > 0 &&
                     fine[peak] > clarity * median && rival - median < MAX_RIVAL * (fine[peak] - median);
}

/* Finds the angle, from -most to `most` degrees. `gray` has rows of `width` finite values without padding, of
 * any scale, and is overwritten. Text may be dark or light. Fails only if out of memory. */
static enum status skew_find(float *gray, int width, int height, double most, struct skew *skew,
                             struct error *error)
{
    *skew = (struct skew){.degrees = 0};
    const double range = most > MIN_RANGE ? most : MIN_RANGE;
    const int reach = (int)(width * tangent(range + BEYOND * COARSE + 1)) + 4;
    const int fitting = width > MIN_BAND_WIDTH ? width / MIN_BAND_WIDTH : 1;
    const int bands = fitting < MAX_BANDS ? fitting : MAX_BANDS;
    struct strips strips = {
        .count = width / STRIP, .height = height, .length = height + reach, .bands = bands};
    if (strips.count < 8 || height < 32) /* too little to say anything */
        return STATUS_OK;
    strips.sums = allocate((size_t)strips.count * (size_t)height * sizeof *strips.sums, "a page", error);
    strips.profile = allocate((size_t)strips.length * sizeof *strips.profile, "a page", error);
    enum status status = strips.sums && strips.profile ? STATUS_OK : STATUS_FAILED;
    if (status == STATUS_OK)
        status = find_ink(gray, width, height, error);
    if (status == STATUS_OK) {
        fill_strips(&strips, gray, width);
        search_angles(&strips, most, range, skew);
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

/* Adds colours, on white paper if they are transparent, to the pixels of `gray`. Missing and huge values
 * count as 0. A row is zeroed when its first pixels come: memory that is zero when it is allocated, and read
 * before it is written, faults twice, and the second fault interrupts all cores (30 ms for a page). */
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

enum status page_angle_find(const struct page_angle *state, double most, double *degrees,
                            struct replacement *replacement, struct error *error)
{
    /* Smallest angle in degrees that is worth an interpolation: a pixel in 1100. */
    static const double MIN_ANGLE = 0.05;
    struct skew skew;
    if (skew_find(state->gray, state->width, state->height, most, &skew, error) != STATUS_OK)
        return STATUS_FAILED;
    *degrees = skew.is_clear && fabs(skew.degrees) >= MIN_ANGLE ? -skew.degrees : 0;
    if (skew.is_clear)
        snprintf(replacement->found, sizeof replacement->found, "turned by %.3f degrees", *degrees + 0.0);
    else
        snprintf(replacement->warning, sizeof replacement->warning,
                 "has no lines with a clear angle of at most %.3g degrees, and is not turned", most);
    replacement->stage = "rotate";
    return STATUS_OK;
}

void page_angle_release(void *context)
{
    struct page_angle *state = context;
    free(state->gray);
    free(state->values);
}
