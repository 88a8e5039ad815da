/* The noise estimate: from the quantiles of an image's energies to its noise.
 *
 *     quantiles of each level ─▶ features ─▶ model ─▶ sigma of each plane and level ─▶ white or not, tones
 *
 * The device counts integers. The rest is arithmetic in double, of correctly rounded operations in a fixed
 * order. So the noise has the same bits on every device, in slices and in groups.
 *
 * Tried and lost:
 * - Bounds on coarse levels also if few positions are dead (0.1 to 0.35 dB).
 * - A constant rise from level to level, or ignoring partly live levels (up to 0.6 dB in pictures with little
 *   texture).
 * - Tones: the mean with both neighbours (0.4 dB in pictures that the camera has denoised), level 2 in
 *   addition to level 1 (0.02 to 0.06 dB), a curve of each plane's own (0.06 dB even if it is the true one).
 */
#include "wavelet/noise_estimate.h"

#include "base/exact.h"
#include "wavelet/dtcwt_design.h"

#include <math.h>
#include <string.h>

enum {
    FIRST_BIN = (127 - 32) << 3, /* begins at 2^-32: exponent and three bits of the mantissa of a float */
    SHIFT = 20,                  /* of the bits of a float to its bin */
    NOISE_FEATURES =
        2 * QUANTILES * NOISE_LEVELS + 1 /* weights of a model: own quantiles, others', a constant */
};

#include "wavelet/noise_model.h"

/* Factor of the measured noise of colour pictures, for the highest PSNR (docs/denoising.md): the noise of a
 * camera is stronger in some places than on average. */
static const float COLOUR_FACTOR = 1.03F;

/* Shares of the quantiles: flat places, the median, and places with texture. Without the last one, texture
 * that is the same everywhere looks like coarse noise. As in kernels/noise.cl. */
static const double QUANTILE_SHARES[QUANTILES] = {0.05, 0.5, 0.85};

/* Energy of noise of a tenth of an 8-bit count; less is ignored. */
static const double MIN_ENERGY = 0.1 * 0.1 / (4 * 255 * 255);

/* White noise after the transform, nearly the same on all levels: the logarithm of mean energy / median, and
 * of median / 5% quantile. */
static const double WHITE_MEDIAN = 0.015, WHITE_SPREAD = 0.32;

/* Rise of the 5% quantile's logarithm from level 1 to 2 that makes white noise unlikely. */
static const double WHITE_RISE = 0.2;

/* Largest spread (logarithm of median / 5% quantile) of level 1 in class 1: above, the positions are edges of
 * a drawing, not noise. Noise and texture between spots of one colour have at most 1.3, text at least 2. */
static const double MAX_SPREAD = 1.5;

/* If a smaller share of the positions of level 1 is in class 0, dead pixels are scattered over the picture.
 * Their edges then add energy to coarse levels, whose filters reach over them. */
static const double MOSTLY_LIVE = 0.8;

/* Typical rise of the logarithms of the quantiles from a level to the next coarser one, where e is the spread
 * less WHITE_SPREAD:
 *
 *     5% quantile: 1.4 min(e, 2),   median: 1.7 (1 - exp(-e / 0.6)),   85%: 1.6 (1 - exp(-e / 0.15))
 *
 * From photographs of PyWavelets and scikit-image with noise. Rises that differ by 15% cost up to 0.1 dB. */
static const double RISE_LOW = 1.4, RISE_LOW_EXCESS = 2, RISE_MEDIAN = 1.7, RISE_MEDIAN_EXCESS = 0.6,
                    RISE_HIGH = 1.6, RISE_HIGH_EXCESS = 0.15;

/* Colours whose noise differs by more than this factor are denoised separately. Noise below half an 8-bit
 * count counts as half. */
static const double MAX_NOISE_RATIO = 4;
static const double MIN_STRENGTH = 0.5 / 255;

/* Added to the features of level 1, by level-1 filter: the models were fitted with near_sym_a. From 8
 * simulations of 1024 x 1024 samples, exact to 0.004. */
static const double BIORT_CORRECTIONS[][QUANTILES] = {
    {0, 0, 0}, {0.032, 0.009, -0.004}, {0.498, 0.063, -0.012}, {0.037, 0.012, -0.001}};

/* Places of a tone whose quantile counts as much as the prior, which is a factor of 1; fewest places; and the
 * bounds of its energy. */
static const double TONE_PRIOR = 100, MIN_TONE_PLACES = 8, MIN_TONE = 0.4, MAX_TONE = 2.5;

/* Differences of the logarithms of energies of colour noise, between levels or colours, that make white noise
 * unlikely: each is at most 0.4 for simulated white noise, mostly 0; the root of their squares' sum is at
 * least 0.9 for cameras. Difference between brightness and colour up to which the former is moved. */
static const double WHITE_COLOUR = 0.4, WHITE_NEAR = 1.5;

int counted_planes(const struct shape *shape)
{
    return shape_is_colour(shape) ? 6 : shape->channels - shape->alpha;
}

int counted_levels(const struct shape *shape)
{
    return shape->levels < NOISE_LEVELS ? shape->levels : NOISE_LEVELS;
}

int noise_places(int n)
{
    return n < NOISE_PLACES ? n : NOISE_PLACES;
}

/* Returns the lower end of a bin: the float whose upper bits are its number. */
static double bin_begin(cl_uint bin)
{
    const uint32_t bits = (uint32_t)(FIRST_BIN + bin) << SHIFT;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns a quantile, interpolated within its bin. */
static double find_quantile(const struct counted *counted, int i)
{
    const double low = bin_begin(counted->quantile[i].bin), high = bin_begin(counted->quantile[i].bin + 1);
    const double own = counted->quantile[i].own > 0 ? counted->quantile[i].own : 1;
    return low + (high - low) * (QUANTILE_SHARES[i] * counted->total - counted->quantile[i].below) / own;
}

/* The features of a plane. */
struct features {
    double of[NOISE_LEVELS][QUANTILES]; /* logarithms of the quantiles */
    bool is_found;                      /* false: the plane has too few live positions, or is a drawing */
};

/* Computes the features of a plane. `every` is 2 if every second position along an axis was counted, else 1.
 *
 * Levels beyond the pyramid and levels with too few live positions get the features of the finer level. If
 * dead pixels are scattered over the picture (small highlights), features rise from level to level at most as
 * is typical. Without this bound the model took the energy of the highlights' edges for texture, and
 * estimated 0.7 to 0.9 of the noise, which cost up to 2 dB. */
static struct features find_features(const struct shape *shape, const struct counted *counts, int every)
{
    const double least = exact_log(MIN_ENERGY), *shift = BIORT_CORRECTIONS[shape->biort];
    const int step = shape->images * counted_planes(shape) * CLASSES;
    struct features features = {.is_found = false};
    bool is_scattered = false;
    for (int level = 0; level < NOISE_LEVELS; level++) {
        /* Class 0 if it has enough positions, else both classes. Enough is 1%, and 12 or half of all. */
        double *to = features.of[level], bound[QUANTILES];
        const bool is_counted = level < counted_levels(shape);
        const struct counted *counted = counts + (is_counted ? level * step : 0);
        const int columns = ceil_div(noise_places(dtcwt_lowpass_size(shape->width, level + 1) / 2), every),
                  rows = ceil_div(noise_places(dtcwt_lowpass_size(shape->height, level + 1) / 2), every),
                  places = columns * rows;
        const int few = (places + 1) / 2 < 12 ? (places + 1) / 2 : 12,
                  wanted = ORIENTATIONS * (places / 100 > few ? places / 100 : few);
        const int class = (int)counted[0].total >= wanted ? 0 : 1;
        const bool enough = is_counted && (int)counted[class].total >= wanted;
        for (int i = 0; i < QUANTILES; i++) {
            const double value = enough ? find_quantile(&counted[class], i) : 0;
            to[i] = value > MIN_ENERGY ? exact_log(value) : least;
        }
        if (level == 0) {
            features.is_found = enough && (class == 0 || to[1] - to[0] < MAX_SPREAD);
            is_scattered = counted[0].total < MOSTLY_LIVE * ORIENTATIONS * places;
            for (int i = 0; i < QUANTILES; i++)
                to[i] += shift[i];
            continue;
        }
        /* The bound: the finer level's features, plus the typical rise. */
        for (int i = 0; i < QUANTILES; i++)
            bound[i] = features.of[level - 1][i] - (level == 1 ? shift[i] : 0);
        const double excess = bound[1] - bound[0] - WHITE_SPREAD;
        if (is_counted && is_scattered && excess > 0) {
            bound[0] += RISE_LOW * fmin(excess, RISE_LOW_EXCESS);
            bound[1] += RISE_MEDIAN * (1 - exact_exp(-excess / RISE_MEDIAN_EXCESS));
            bound[2] += RISE_HIGH * (1 - exact_exp(-excess / RISE_HIGH_EXCESS));
        }
        for (int i = 0; i < QUANTILES; i++)
            if (!enough || (is_scattered && to[i] > bound[i]))
                to[i] = bound[i];
    }
    return features;
}

/* Computes the noise of a plane on each level, from its features and the mean features of two other colours:
 *
 *     log energy = base + weights . (features - base) + constant,   base = mean of all features
 *
 * so that the model uses only ratios. Without texture the median is used instead, and in between a mixture.
 * If flat places have no more energy on level 2 than on level 1, the noise of a colour picture is white: no
 * level has less than level 1. Of cameras level 2 has at least exp(0.5) times as much. */
static void apply_model(int model, const struct features *own, const struct features *others[2], int levels,
                        float sigma[MAX_LEVELS][4], int channel)
{
    double f[2 * NOISE_LEVELS * QUANTILES], base = 0;
    const int count = NOISE_LEVELS * QUANTILES;
    for (int i = 0; i < count; i++) {
        f[i] = own->of[i / QUANTILES][i % QUANTILES];
        f[count + i] =
            0.5 * (others[0]->of[i / QUANTILES][i % QUANTILES] + others[1]->of[i / QUANTILES][i % QUANTILES]);
        base += (f[i] + f[count + i]) / (2 * count);
    }
    const double rise = fmax(own->of[1][0] - own->of[0][0], 0) / WHITE_RISE,
                 white = model < 2 ? exact_exp(-rise * rise) : 0,
                 flat = own->of[0][0] + WHITE_SPREAD + WHITE_MEDIAN;
    for (int level = 0; level < levels; level++) {
        const int at = level < NOISE_LEVELS ? level : NOISE_LEVELS - 1;
        const float *weights = noise_models[model][at];
        const double *low = own->of[at], *middle = low + 1;
        double sum = base + (double)weights[NOISE_FEATURES - 1];
        for (int i = 0; i < 2 * count; i++)
            sum += (double)weights[i] * (f[i] - base);
        /* The share of the median: 1 if energies spread as for white noise, 1/e if by 0.1 more. */
        const double more = *middle - *low > WHITE_SPREAD ? (*middle - *low - WHITE_SPREAD) / 0.1 : 0,
                     alone = exact_exp(-more * more);
        sum += alone * (*middle + WHITE_MEDIAN - sum);
        sum += white * fmax(flat - sum, 0);
        sigma[level][channel] = own->is_found ? (float)(2 * exact_exp(0.5 * sum)) : 0;
    }
}

/* Returns the geometric mean of a channel's noise on the three finest levels, each at least MIN_STRENGTH. */
static double find_strength(const struct image_noise *noise, int levels, int channel)
{
    const int count = levels < 3 ? levels : 3;
    double sum = 0;
    for (int level = 0; level < count; level++)
        sum += exact_log((double)noise->sigma[level][channel] > MIN_STRENGTH
                             ? (double)noise->sigma[level][channel]
                             : MIN_STRENGTH) /
               count;
    return exact_exp(sum);
}

/* Returns the probability that the noise of a colour picture is white: 1 if colour differences, which have
 * little texture, have the same noise on levels 1 to 3, and both as much. Then all three planes have as much,
 * and brightness, in which texture may pass for noise, is moved to it if it is near. */
static double apply_whiteness(struct image_noise *noise, int levels)
{
    double away[3] = {0, 0, 0}, logs[3], distance = 0;
    for (int c = 1; c < 3; c++) {
        logs[c] = 2 * exact_log(find_strength(noise, levels, c));
        for (int level = 0; level < 2; level++)
            away[level] +=
                exact_log((double)noise->sigma[level + 1][c]) - exact_log((double)noise->sigma[level][c]);
    }
    away[2] = logs[1] - logs[2];
    for (int i = 0; i < 3; i++)
        distance += away[i] * away[i] / (WHITE_COLOUR * WHITE_COLOUR);
    const double white = exact_exp(-distance), colour = 0.5 * (logs[1] + logs[2]),
                 off = (2 * exact_log(fmax((double)noise->sigma[0][0], MIN_STRENGTH)) - colour) / WHITE_NEAR,
                 share = white * exact_exp(-off * off);
    for (int level = 0; level < levels; level++)
        noise->sigma[level][0] =
            (float)exact_exp((1 - share) * exact_log((double)noise->sigma[level][0]) + share * 0.5 * colour);
    return white;
}

/* Computes the curve of the noise by brightness, `share` of it: 0 is a factor of 1. `counts` points to the
 * image's first tone. A tone's energy is its 5% quantile over the mean of all tones', pulled to 1 if few
 * places have the tone. */
static void find_tones(const struct counted *counts, double share, float tones[NOISE_TONES])
{
    double energies[NOISE_TONES], sum = 0, total = 0;
    for (int k = 0; k < NOISE_TONES; k++) {
        const struct counted *counted = &counts[k * CLASSES];
        if (counted->total < ORIENTATIONS * MIN_TONE_PLACES)
            continue;
        energies[k] = fmax(find_quantile(counted, 0), MIN_ENERGY);
        sum += counted->total * energies[k];
        total += counted->total;
    }
    for (int k = 0; k < NOISE_TONES; k++) {
        const double places = (double)counts[k * CLASSES].total / ORIENTATIONS;
        const bool is_known = places >= MIN_TONE_PLACES;
        double ratio = is_known ? exact_log(energies[k] * total / sum) * places / (places + TONE_PRIOR) : 0;
        ratio = fmin(fmax(ratio, exact_log(MIN_TONE)), exact_log(MAX_TONE));
        tones[k] = (float)exact_exp(0.5 * share * ratio);
    }
}

struct image_noise noise_estimate(const struct shape *shape, const struct counted *counts,
                                  const struct counted *tones)
{
    const int planes = counted_planes(shape), levels = shape->levels,
              colours = shape->channels - shape->alpha;
    struct image_noise noise = {.factor = 1}, separate = {.factor = 1, .is_separate = true};
    struct features features[6];
    for (int p = 0; p < planes; p++) {
        features[p] = find_features(shape, counts + p * CLASSES, p < 3 ? 1 : 2);
        noise.is_found = noise.is_found || features[p].is_found;
    }
    separate.is_found = noise.is_found;
    if (planes == colours) { /* gray, or two channels: each plane alone */
        for (int c = 0; c < colours; c++)
            apply_model(2, &features[c], (const struct features *[]){&features[c], &features[c]}, levels,
                        noise.sigma, c);
        return noise;
    }
    /* Red, green and blue, each alone. */
    double least = HUGE_VAL, most = 0;
    int empty = 0; /* number of constant colours */
    for (int c = 0; c < 3; c++) {
        const struct features *own = &features[3 + c];
        apply_model(2, own, (const struct features *[]){own, own}, levels, separate.sigma, c);
        const double strength = find_strength(&separate, levels, c);
        least = strength < least ? strength : least;
        most = strength > most ? strength : most;
        empty += !own->is_found || own->of[0][1] <= exact_log(MIN_ENERGY) + 0.5;
    }
    if (empty == 1 || empty == 2 || most > MAX_NOISE_RATIO * least)
        return separate;
    /* Opponent colours, each with the other two. */
    noise.factor = COLOUR_FACTOR;
    for (int c = 0; c < 3; c++) {
        const struct features *others[2] = {&features[c > 0 ? 0 : 1], &features[c > 0 ? 0 : 2]};
        apply_model(c > 0, &features[c], others, levels, noise.sigma, c);
    }
    /* Noise that is not white comes from a camera, and depends on brightness. */
    if (levels >= 3 && features[0].is_found && features[1].is_found && features[2].is_found)
        find_tones(tones, 1 - apply_whiteness(&noise, levels), noise.tones);
    return noise;
}
