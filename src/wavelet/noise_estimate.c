/* The noise estimate: from the quantiles of an image's energies to its noise.
 *
 *     quantiles of each level ─▶ features ─▶ model ─▶ sigma of each plane and level ─▶ white or not, tones
 *
 * The device counts integers. The rest is arithmetic in double, of correctly rounded operations in a fixed
 * order. So the noise has the same bits on every device, in slices and in groups.
 *
 * noise.h defines live and dead pixels, levels and tones. Tried and lost:
 * - In find_features, the limit of coarse levels also if few positions are dead (0.1 to 0.35 dB); a constant
 *   rise from level to level, or ignoring levels that have few live positions (up to 0.6 dB in pictures with
 *   little texture).
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
    NOISE_WEIGHTS =
        2 * QUANTILES * NOISE_LEVELS + 1 /* of a model: the plane's quantiles, other colours', a constant */
};

#include "wavelet/noise_model.h"

/* Shares of the quantiles: smooth areas, the median, and areas with texture. Without the last one, texture
 * that is the same everywhere looks like coarse noise. As in kernels/noise.cl. */
static const double QUANTILE_SHARES[QUANTILES] = {0.05, 0.5, 0.85};
enum { LOW, MEDIAN, HIGH }; /* index of a quantile */

/* Index into noise_models. */
enum { BRIGHTNESS_MODEL, DIFFERENCE_MODEL, PLANE_MODEL };

/* Energy of noise of a tenth of an 8-bit count (noise of standard deviation s has the energy s^2 / 4).
 * Smaller energies are raised to it. */
static const double MIN_ENERGY = 0.1 * 0.1 / (4 * 255 * 255);

/* White noise after the transform, nearly the same on all levels: the logarithm of mean energy / median, and
 * of median / 5% quantile. */
static const double WHITE_MEDIAN = 0.015, WHITE_SPREAD = 0.32;

/* Rise of the 5% quantile's logarithm from level 1 to 2 that makes white noise unlikely. */
static const double WHITE_RISE = 0.2;

/* Largest spread (logarithm of median / 5% quantile) of level 1 if the upper class has too few positions, and
 * both classes are used. A plane with a larger spread is a drawing: its energies are edges, not noise. Noise
 * and texture between spots of one colour have at most 1.3, text at least 2. */
static const double MAX_SPREAD = 1.5;

/* If a smaller share of the positions of level 1 is in the upper class, dead pixels are scattered over the
 * picture. Their edges then add energy to coarse levels, whose filters reach over them. */
static const double MOSTLY_LIVE = 0.8;

/* Typical rise of the logarithms of the quantiles from a level to the next coarser one, for a spread of
 * WHITE_SPREAD + e:
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

/* Number of positions of a tone at which its quantile has the same weight as the prior, a factor of 1. */
static const double TONE_PRIOR = 100;
static const double MIN_TONE_POSITIONS = 8;         /* smallest number of positions of a tone */
static const double MIN_TONE = 0.4, MAX_TONE = 2.5; /* bounds of a tone's energy relative to the mean */

/* White noise is recognised by logarithms of the energies of the colour differences: by their rises from
 * level 1 to 2 and from 2 to 3, and by the difference between the two. If the root of the sum of their
 * squares is WHITE_COLOUR, the probability of white noise is 1/e. Simulated white noise has at most 0.4 in
 * each, mostly 0; cameras have a root of at least 0.9. */
static const double WHITE_COLOUR = 0.4;

/* If brightness has more energy than colour by this logarithm, its correction (apply_whiteness) is multiplied
 * by 1/e. */
static const double WHITE_DISTANCE = 1.5;

int counted_planes(const struct shape *shape)
{
    return shape_is_colour(shape) ? 6 : shape->channels - shape->alpha;
}

int counted_levels(const struct shape *shape)
{
    return shape->levels < NOISE_LEVELS ? shape->levels : NOISE_LEVELS;
}

int noise_positions(int n)
{
    return n < NOISE_POSITIONS ? n : NOISE_POSITIONS;
}

/* Returns the lower end of a bin: the float whose upper bits are its number. */
static double bin_begin(cl_uint bin)
{
    const uint32_t bits = (uint32_t)(FIRST_BIN + bin) << SHIFT;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns quantile number i, an energy, interpolated within its bin. */
static double find_quantile(const struct energy_quantiles *quantiles, int i)
{
    const double low = bin_begin(quantiles->quantile[i].bin),
                 high = bin_begin(quantiles->quantile[i].bin + 1);
    const double own = quantiles->quantile[i].own > 0 ? quantiles->quantile[i].own : 1;
    return low + (high - low) * (QUANTILE_SHARES[i] * quantiles->total - quantiles->quantile[i].below) / own;
}

bool noise_is_off_scale(const struct shape *shape, const struct energy_quantiles *counts)
{
    const double least = 0.01; /* coarse energies of usual pictures are above this */
    const int step = shape->images * counted_planes(shape) * CLASSES;
    const struct energy_quantiles *fine = counts + BOTH_CLASSES,
                                  *coarse = fine + (counted_levels(shape) - 1) * step;
    const bool has_float_scale = shape->full == 1;
    return has_float_scale && fine->total > 0 && coarse->total > 0 &&
           (coarse->quantile[HIGH].bin == BINS - 1 ||
            (find_quantile(coarse, HIGH) < least && find_quantile(fine, MEDIAN) < MIN_ENERGY));
}

/* The features of a plane. */
struct features {
    double logs[NOISE_LEVELS][QUANTILES]; /* logarithms of the quantiles */
    bool is_found;                        /* false: the plane has too few live positions, or is a drawing */
};

/* Computes the features of a plane. `every` is 2 if only every second position along an axis was counted,
 * else 1.
 *
 * Levels beyond the pyramid and levels with too few live positions get the features of the finer level. If
 * dead pixels are scattered over the picture (small highlights), the rise from level to level is limited to
 * the typical one, which levels with too few positions get, too. Without this limit the model took the energy
 * of the highlights' edges for texture, and found 0.7 to 0.9 of the noise, which cost up to 2 dB. */
static struct features find_features(const struct shape *shape, const struct energy_quantiles *counts,
                                     int every)
{
    const double least = exact_log(MIN_ENERGY), *shift = BIORT_CORRECTIONS[shape->biort];
    const int step = shape->images * counted_planes(shape) * CLASSES;
    struct features features = {.is_found = false};
    bool is_scattered = false;
    for (int level = 0; level < NOISE_LEVELS; level++) {
        /* Use the upper class if it has enough positions, else both classes. Enough: 1% of all, and at least
         * 12 or half of all, whichever is less. `total` and `wanted` count each subband. */
        double *to = features.logs[level], bound[QUANTILES];
        const bool is_counted = level < counted_levels(shape);
        const struct energy_quantiles *quantiles = counts + (is_counted ? level * step : 0);
        const int columns = ceil_div(noise_positions(dtcwt_lowpass_size(shape->width, level + 1) / 2), every),
                  rows = ceil_div(noise_positions(dtcwt_lowpass_size(shape->height, level + 1) / 2), every),
                  positions = columns * rows;
        const int at_least = (positions + 1) / 2 < 12 ? (positions + 1) / 2 : 12,
                  wanted = ORIENTATIONS * (positions / 100 > at_least ? positions / 100 : at_least);
        const int class = (int)quantiles[UPPER_CLASS].total >= wanted ? UPPER_CLASS : BOTH_CLASSES;
        const bool enough = is_counted && (int)quantiles[class].total >= wanted;
        for (int i = 0; i < QUANTILES; i++) {
            const double value = enough ? find_quantile(&quantiles[class], i) : 0;
            to[i] = value > MIN_ENERGY ? exact_log(value) : least;
        }
        if (level == 0) {
            features.is_found = enough && (class == UPPER_CLASS || to[MEDIAN] - to[LOW] < MAX_SPREAD);
            is_scattered = quantiles[UPPER_CLASS].total < MOSTLY_LIVE * ORIENTATIONS * positions;
            for (int i = 0; i < QUANTILES; i++)
                to[i] += shift[i];
            continue;
        }
        /* The bound: the finer level's features, plus the typical rise. */
        for (int i = 0; i < QUANTILES; i++)
            bound[i] = features.logs[level - 1][i] - (level == 1 ? shift[i] : 0);
        const double excess = bound[MEDIAN] - bound[LOW] - WHITE_SPREAD;
        if (is_counted && is_scattered && excess > 0) {
            bound[LOW] += RISE_LOW * fmin(excess, RISE_LOW_EXCESS);
            bound[MEDIAN] += RISE_MEDIAN * (1 - exact_exp(-excess / RISE_MEDIAN_EXCESS));
            bound[HIGH] += RISE_HIGH * (1 - exact_exp(-excess / RISE_HIGH_EXCESS));
        }
        for (int i = 0; i < QUANTILES; i++)
            if (!enough || (is_scattered && to[i] > bound[i]))
                to[i] = bound[i];
    }
    return features;
}

/* Computes the noise (standard deviation, full scale is 1) of a plane on each level, from its features and
 * the mean features of two other colours:
 *
 *     log energy = base + weights . (features - base) + constant,   base = mean of all features
 *
 * so that the model uses only ratios. On a level without texture the median replaces the model; with little
 * texture the result is a mixture of both. If smooth areas have no more energy on level 2 than on level 1,
 * the noise of a colour picture is white, and no level gets less than level 1. Cameras have at least exp(0.5)
 * times as much on level 2. */
static void apply_model(int model, const struct features *own, const struct features *others[2], int levels,
                        float sigma[MAX_LEVELS][4], int channel)
{
    double f[2 * NOISE_LEVELS * QUANTILES], base = 0;
    const int count = NOISE_LEVELS * QUANTILES;
    for (int i = 0; i < count; i++) {
        f[i] = own->logs[i / QUANTILES][i % QUANTILES];
        f[count + i] = 0.5 * (others[0]->logs[i / QUANTILES][i % QUANTILES] +
                              others[1]->logs[i / QUANTILES][i % QUANTILES]);
        base += (f[i] + f[count + i]) / (2 * count);
    }
    const double rise = fmax(own->logs[1][LOW] - own->logs[0][LOW], 0) / WHITE_RISE,
                 white_share = model == PLANE_MODEL ? 0 : exact_exp(-rise * rise),
                 white_level1 = own->logs[0][LOW] + WHITE_SPREAD + WHITE_MEDIAN;
    for (int level = 0; level < levels; level++) {
        const int at = level < NOISE_LEVELS ? level : NOISE_LEVELS - 1;
        const float *weights = noise_models[model][at];
        const double low = own->logs[at][LOW], median = own->logs[at][MEDIAN];
        double sum = base + (double)weights[NOISE_WEIGHTS - 1];
        for (int i = 0; i < 2 * count; i++)
            sum += (double)weights[i] * (f[i] - base);
        /* The share of the median: 1 if energies spread as for white noise, 1/e if by 0.1 more. */
        const double excess = median - low > WHITE_SPREAD ? (median - low - WHITE_SPREAD) / 0.1 : 0;
        sum += exact_exp(-excess * excess) * (median + WHITE_MEDIAN - sum);
        sum += white_share * fmax(white_level1 - sum, 0);
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

/* Corrects the noise of brightness towards the noise of the colour differences if the noise is white. The
 * estimate for brightness may contain texture, of which colour differences have little.
 *
 * Returns the probability that the noise is white: 1 if both colour differences have the same noise, equal on
 * levels 1 to 3. The correction is this probability, times a factor that is 1 if brightness and colour have
 * the same noise (WHITE_DISTANCE). */
static double apply_whiteness(struct image_noise *noise, int levels)
{
    double differences[3] = {0, 0, 0}, logs[3], distance = 0;
    for (int c = 1; c < 3; c++) {
        logs[c] = 2 * exact_log(find_strength(noise, levels, c));
        for (int level = 0; level < 2; level++)
            differences[level] +=
                exact_log((double)noise->sigma[level + 1][c]) - exact_log((double)noise->sigma[level][c]);
    }
    differences[2] = logs[1] - logs[2];
    for (int i = 0; i < 3; i++)
        distance += differences[i] * differences[i] / (WHITE_COLOUR * WHITE_COLOUR);
    const double white = exact_exp(-distance), colour = 0.5 * (logs[1] + logs[2]),
                 offset = (2 * exact_log(fmax((double)noise->sigma[0][0], MIN_STRENGTH)) - colour) /
                          WHITE_DISTANCE,
                 share = white * exact_exp(-offset * offset);
    for (int level = 0; level < levels; level++)
        noise->sigma[level][0] =
            (float)exact_exp((1 - share) * exact_log((double)noise->sigma[level][0]) + share * 0.5 * colour);
    return white;
}

/* Computes the factors of the noise by brightness, raised to the power `share`. `counts` points to the
 * image's first tone. A tone's energy is its 5% quantile, relative to the mean of all tones; the fewer
 * positions it has, the closer to 1 its factor is. */
static void find_tone_factors(const struct energy_quantiles *counts, double share, float tones[NOISE_TONES])
{
    double energies[NOISE_TONES], sum = 0, total = 0;
    for (int k = 0; k < NOISE_TONES; k++) {
        const struct energy_quantiles *quantiles = &counts[k * CLASSES];
        if (quantiles->total < ORIENTATIONS * MIN_TONE_POSITIONS)
            continue;
        energies[k] = fmax(find_quantile(quantiles, LOW), MIN_ENERGY);
        sum += quantiles->total * energies[k];
        total += quantiles->total;
    }
    for (int k = 0; k < NOISE_TONES; k++) {
        const double positions = (double)counts[k * CLASSES].total / ORIENTATIONS;
        const bool is_known = positions >= MIN_TONE_POSITIONS;
        double ratio =
            is_known ? exact_log(energies[k] * total / sum) * positions / (positions + TONE_PRIOR) : 0;
        ratio = fmin(fmax(ratio, exact_log(MIN_TONE)), exact_log(MAX_TONE));
        tones[k] = (float)exact_exp(0.5 * share * ratio);
    }
}

struct image_noise noise_estimate(const struct shape *shape, const struct energy_quantiles *counts,
                                  const struct energy_quantiles *tones)
{
    const int planes = counted_planes(shape), levels = shape->levels,
              colours = shape->channels - shape->alpha;
    struct image_noise noise = {.is_found = false}, separate = {.is_separate = true};
    struct features features[6];
    for (int p = 0; p < planes; p++) {
        features[p] = find_features(shape, counts + p * CLASSES, p < 3 ? 1 : 2);
        noise.is_found = noise.is_found || features[p].is_found;
    }
    separate.is_found = noise.is_found;
    if (planes == colours) { /* gray, or two channels: each plane alone */
        for (int c = 0; c < colours; c++)
            apply_model(PLANE_MODEL, &features[c], (const struct features *[]){&features[c], &features[c]},
                        levels, noise.sigma, c);
        return noise;
    }
    /* Red, green and blue, each alone. */
    double weakest = HUGE_VAL, strongest = 0;
    int constant = 0; /* number of constant colours */
    for (int c = 0; c < 3; c++) {
        const struct features *own = &features[3 + c];
        apply_model(PLANE_MODEL, own, (const struct features *[]){own, own}, levels, separate.sigma, c);
        const double strength = find_strength(&separate, levels, c);
        weakest = fmin(strength, weakest);
        strongest = fmax(strength, strongest);
        constant += !own->is_found || own->logs[0][MEDIAN] <= exact_log(MIN_ENERGY) + 0.5;
    }
    if (constant == 1 || constant == 2 || strongest > MAX_NOISE_RATIO * weakest)
        return separate;
    /* Opponent colours, each with the other two. */
    for (int c = 0; c < 3; c++) {
        const struct features *others[2] = {&features[c > 0 ? 0 : 1], &features[c > 0 ? 0 : 2]};
        apply_model(c == 0 ? BRIGHTNESS_MODEL : DIFFERENCE_MODEL, &features[c], others, levels, noise.sigma,
                    c);
    }
    /* Noise that is not white comes from a camera, and depends on brightness. */
    if (levels >= 3 && features[0].is_found && features[1].is_found && features[2].is_found)
        find_tone_factors(tones, 1 - apply_whiteness(&noise, levels), noise.tones);
    return noise;
}
