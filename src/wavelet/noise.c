/* The noise estimate: histograms on the device, the model on the host.
 *
 * The device returns twenty integers for each plane and level, the quantiles. The rest is arithmetic in
 * double, of correctly rounded operations in a fixed order. So the noise has the same bits on every device,
 * in slices and in groups.
 *
 * Layout of the counters, for all images, planes and levels:
 *
 *     histograms   [level][image][plane][class][bin]     BINS counters each, 8 bins an octave
 *                  [image][tone][class][bin]             of colour pictures: brightness on level 1
 *     quantiles    of each of these histograms           struct counted, written by noise_quantiles
 *
 * Three colours are counted as six planes: brightness, two differences, red, green, blue. Class 0 has the
 * positions whose 7x7 coefficients are nearly all live, class 1 the others with at least half of them live.
 *
 * A tone is a range of brightness. Tones have only class 0.
 *
 * Tried and lost:
 * - Leaving out only coefficients that are 0. That finds black bars and blown skies, but not noise that is
 *   half clipped (2 dB at sigma 20 in dark pictures), nor areas between small spots.
 * - The mean of the colours' masks instead of the mask of pixels in which all colours are dead (0.4 dB).
 * - Bounds on coarse levels also if few positions are dead (0.1 to 0.35 dB).
 * - A constant rise from level to level, or ignoring partly live levels (up to 0.6 dB in pictures with little
 *   texture).
 * - Tones: the mean with both neighbours (0.4 dB in pictures that the camera has denoised), level 2 in
 * addition to level 1 (0.02 to 0.06 dB), a curve of each plane's own (0.06 dB even if it is the true one). */
#include "wavelet/noise.h"

#include "base/exact.h"
#include "wavelet/dtcwt_design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* The same in kernels/noise.cl and live.cl. */
    CLASSES = 2,                 /* of positions, see above */
    BINS = 512,                  /* of a histogram */
    FIRST_BIN = (127 - 32) << 3, /* begins at 2^-32: exponent and three bits of the mantissa of a float */
    SHIFT = 20,                  /* of the bits of a float to its bin */
    RADIUS = 3,                  /* of the neighbours in an energy: NEAR in kernels/places.h */
    SUBBANDS = 6,
    CELLS_NEAR = RADIUS + 1, /* neighbours in the liveness of an energy */
    QUANTILES = 3,

    NOISE_FEATURES =
        2 * QUANTILES * NOISE_LEVELS + 1, /* weights of a model: own quantiles, others', a constant */
    TEXEL_CHANNELS = 4,
    COSINES = 8 /* frequencies of a block along an axis: SIDE in kernels/cosines.cl */
};

#include "wavelet/noise_model.h"

/* Quantiles of a plane and level, of class 0 alone or of both classes; written by noise_quantiles. */
struct counted {
    cl_uint total; /* number of energies */
    struct {
        cl_uint bin;   /* of the quantile */
        cl_uint below; /* number of energies in lower bins */
        cl_uint own;   /* in this bin */
    } quantile[QUANTILES];
};

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

/* Share of the noise's variance that quality=high removes: the pilot lacks some of the signal. */
static const float COSINE_FACTOR = 0.8F;

/* Standard deviation on each level of white noise of 1, by level-1 filter: the root of the mean energy of the
 * six subbands, from the sums of squares of the combined filters along both axes. The q-shift filters change
 * it by less than 0.003. On coarser levels it is 1. */
static const float WHITE_NOISE[][NOISE_LEVELS] = {{1.007288F, 0.977969F, 0.98309F, 0.993732F, 0.998236F, 1},
                                                  {1.003828F, 0.985722F, 1.001456F, 1.002659F, 1.000839F, 1},
                                                  {0.951972F, 1.525281F, 1.166303F, 1.039249F, 1.009656F, 1},
                                                  {1.001931F, 1.067556F, 0.946288F, 0.973491F, 0.992156F, 1}};

/* ---------------------------------------------------------------- on the device */

cl_int noise_index(const struct noise *noise, int level)
{
    return (level - 1) * noise->pitch;
}

/* Returns the number of channels without alpha. */
static int noise_colours(const struct shape *shape)
{
    return shape->channels - shape->alpha;
}

/* Returns the noise of a plane at frequency k of a block of 8 x 8 cosines. White noise takes the level of the
 * frequency's octave. Measured noise is interpolated between levels, whose middle is at the root of 2 times
 * their lowest frequency, as it can be four times as strong on the next level: 0.08 dB on real pictures. If
 * it falls towards coarse levels, the octave's level has more, and counts: up to 0.4 dB in pictures that the
 * camera has denoised. */
static float frequency_noise(const struct shape *shape, const struct image_noise *image, int channel, int k)
{
    static const double LEVEL[COSINES] = {3.5, 3.5, 2.5, 1.915, 1.5, 1.178, 1, 1};
    static const int OCTAVE[COSINES] = {3, 3, 2, 2, 1, 1, 1, 1};
    const int levels = shape->levels;
    const float octave = image->sigma[(OCTAVE[k] < levels ? OCTAVE[k] : levels) - 1][channel];
    const double at = fmin(LEVEL[k], levels), share = at - floor(at);
    const float *fine = &image->sigma[(int)at - 1][channel], *coarse = fine + 4;
    if (image->is_white || share == 0 || *fine <= 0 || *coarse <= 0)
        return octave;
    const float between =
        (float)exact_exp((1 - share) * exact_log((double)*fine) + share * exact_log((double)*coarse));
    return between > octave ? between : octave;
}

/* Copies the curves of all images to the device: factors of 1 for an image without one. */
static enum status set_tones(struct run *run, const struct shape *shape, const struct image_noise *images,
                             struct noise *noise, struct error *error)
{
    const size_t all = NOISE_TONES * (size_t)shape->images;
    float *values = allocate_zeroed(all, sizeof *values, "the noise", error);
    if (!values)
        return STATUS_FAILED;
    for (int i = 0; i < shape->images; i++) {
        const float *tones = images[i].tones;
        values[i * NOISE_TONES] = tones[0] > 0 ? tones[0] : 1;
        for (int k = 1; k < NOISE_TONES; k++)
            values[i * NOISE_TONES + k] = tones[k] - tones[k - 1];
    }
    enum status status = run_constants(run, values, all, &noise->tones, error);
    free(values);
    return status;
}

enum status noise_set(struct run *run, const struct shape *shape, const struct image_noise *images,
                      double strength, struct noise *noise, struct error *error)
{
    const int planes = shape_planes(shape), pitch = planes > TEXEL_CHANNELS ? planes : TEXEL_CHANNELS;
    const size_t all = (size_t)pitch * (size_t)shape->levels;
    float *values = allocate_zeroed(all + (size_t)pitch * COSINES, sizeof *values, "the noise", error);
    if (!values)
        return STATUS_FAILED;
    for (int level = 0; level < shape->levels; level++)
        for (int i = 0; i < shape->images; i++)
            for (int c = 0; c < noise_colours(shape); c++)
                values[level * pitch + i * shape->channels + c] =
                    (float)(strength * (images[i].factor > 0 ? (double)images[i].factor : 1) *
                            (double)images[i].sigma[level][c]);
    *noise = (struct noise){.pitch = pitch, .parent_offset = images->is_white ? 0 : pitch};
    for (int i = 0; i < shape->images; i++)
        if (images[i].tones[0] > 0)
            noise->tone_channels = shape->channels;
    enum status status = run_constants(run, values, all, &noise->sigma, error);
    memset(values, 0, (size_t)pitch * COSINES * sizeof *values);
    for (int i = 0; i < shape->images; i++)
        for (int c = 0; c < noise_colours(shape); c++)
            for (int k = 0; k < COSINES; k++) {
                const float sigma = (float)(strength * (images[i].factor > 0 ? (double)images[i].factor : 1) *
                                            (double)frequency_noise(shape, &images[i], c, k));
                values[(i * shape->channels + c) * COSINES + k] = COSINE_FACTOR * sigma * sigma;
            }
    if (status == STATUS_OK)
        status = run_constants(run, values, (size_t)pitch * COSINES, &noise->variances, error);
    free(values);
    return status == STATUS_OK ? set_tones(run, shape, images, noise, error) : status;
}

void noise_white(const struct shape *shape, double sigma, struct image_noise *images)
{
    for (int i = 0; i < shape->images; i++) {
        images[i] = (struct image_noise){.is_white = true};
        for (int level = 0; level < shape->levels; level++)
            for (int c = 0; c < noise_colours(shape); c++)
                images[i].sigma[level][c] =
                    (level < NOISE_LEVELS ? WHITE_NOISE[shape->biort][level] : 1) * (float)sigma;
    }
}

/* ---------------------------------------------------------------- counting */

/* Returns the number of counted planes of an image: three colours are counted twice, see above. */
static int counted_planes(const struct shape *shape)
{
    return shape_is_colour(shape) ? 6 : noise_colours(shape);
}

static int counted_levels(const struct shape *shape)
{
    return shape->levels < NOISE_LEVELS ? shape->levels : NOISE_LEVELS;
}

/* Returns the number of counted planes of all images and levels, without tones. */
static int counted_all(const struct shape *shape)
{
    return shape->images * counted_planes(shape) * counted_levels(shape);
}

/* Returns the number of pairs of histograms: of planes, then of tones. */
static int histograms_all(const struct shape *shape)
{
    return counted_all(shape) + (shape_is_colour(shape) ? shape->images * NOISE_TONES : 0);
}

size_t noise_counters(const struct shape *shape)
{
    return (size_t)histograms_all(shape) *
           (CLASSES * BINS + CLASSES * sizeof(struct counted) / sizeof(cl_uint));
}

struct rows noise_neighbours(int height, struct rows own)
{
    return rows_clip((struct rows){own.begin - RADIUS, own.end + RADIUS}, height);
}

struct rows noise_live_rows(int height, struct rows own)
{
    return rows_clip((struct rows){own.begin - CELLS_NEAR, own.end + CELLS_NEAR}, height);
}

enum status noise_live(struct run *run, const struct value *image, const struct planes *finer, int level,
                       struct rows rows, struct planes *live, struct error *error)
{
    const struct shape *shape = &image->shape;
    const cl_int channels = shape->channels, colours = noise_colours(shape),
                 opponent = shape_is_colour(shape) && image->opponent;
    const cl_int2 range = {{rows.begin, rows.end}};
    if (live->width == 0) {
        *live = (struct planes){.memory = MEMORY_BUFFER,
                                .width = dtcwt_lowpass_size(shape->width, level) / 2,
                                .height = dtcwt_lowpass_size(shape->height, level) / 2,
                                .first_row = rows.begin,
                                .rows = rows.end - rows.begin,
                                .layers = 1,
                                .channels = shape->images};
        if (planes_acquire(&run->pool, live, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    const struct geometry at = planes_geometry(live);
    struct work work = run_work(run, "live", level == 1 ? "live_cells" : "live_halve", live);
    work.memory = run->memory;
    work.vector_width = VECTOR_WINDOW;
    work.height = level == 1 ? (rows.end + 1) / 2 - rows.begin / 2 : rows.end - rows.begin;
    work.depth = shape->images;
    work.outlined = true;
    if (run_is_cpu(run))
        work.width = 2 * live->width; /* a work-item has eight cells */
    if (level > 1) {
        const struct geometry finer_at = planes_geometry(finer);
        return LAUNCH(run->device, &work, error, ARG_MEMORY(finer->object), ARG(finer_at),
                      ARG_MEMORY(live->object), ARG(at), ARG(range));
    }
    return LAUNCH(run->device, &work, error, ARG_PLANES(&image->planes[0]), ARG_MEMORY(live->object), ARG(at),
                  ARG(range), ARG(channels), ARG(colours), ARG(opponent));
}

/* Returns the number of positions along an axis of n coefficients. */
static int noise_places(int n)
{
    return n < NOISE_PLACES ? n : NOISE_PLACES;
}

enum status noise_count(struct run *run, const struct shape *shape, cl_mem counters, int level,
                        const struct planes *subbands, bool opponent, const struct planes *live,
                        const struct planes *image, struct rows own, struct error *error)
{
    const cl_int is_opponent = opponent;
    const bool by_tone = image && level == 1 && opponent && shape_is_colour(shape);
    const cl_int tones_at = by_tone ? counted_all(shape) * CLASSES * BINS : -1;
    const cl_int columns = noise_places(subbands->width), rows = noise_places(subbands->height),
                 masked = live != NULL, channels = shape->channels, colours = noise_colours(shape);
    const cl_int2 range = {{own.begin, own.end}};
    const cl_int at = (level - 1) * shape->images * counted_planes(shape) * CLASSES * BINS;
    struct geometry live_at = {.width = 0};
    if (level > NOISE_LEVELS)
        return STATUS_OK;
    if (masked)
        live_at = planes_geometry(live);
    cl_mem cells = masked ? live->object : counters; /* any memory; the kernel does not read it */
    image = by_tone ? image : subbands;              /* any planes */
    struct work work = run_work(run, "noise", "noise_energies", subbands);
    work.vector_width = VECTOR_SCALAR;
    work.width = columns;
    work.height = rows;
    work.depth = shape->images;
    return LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_MEMORY(cells), ARG(live_at),
                  ARG(masked), ARG(columns), ARG(rows), ARG(range), ARG(channels), ARG(colours),
                  ARG(is_opponent), ARG_PLANES(image), ARG_MEMORY(counters), ARG(at), ARG(tones_at));
}

/* ---------------------------------------------------------------- from counts to noise */

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
                  wanted = SUBBANDS * (places / 100 > few ? places / 100 : few);
        const int class = (int)counted[0].total >= wanted ? 0 : 1;
        const bool enough = is_counted && (int)counted[class].total >= wanted;
        for (int i = 0; i < QUANTILES; i++) {
            const double value = enough ? find_quantile(&counted[class], i) : 0;
            to[i] = value > MIN_ENERGY ? exact_log(value) : least;
        }
        if (level == 0) {
            features.is_found = enough && (class == 0 || to[1] - to[0] < MAX_SPREAD);
            is_scattered = counted[0].total < MOSTLY_LIVE * SUBBANDS * places;
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
        if (counted->total < SUBBANDS * MIN_TONE_PLACES)
            continue;
        energies[k] = fmax(find_quantile(counted, 0), MIN_ENERGY);
        sum += counted->total * energies[k];
        total += counted->total;
    }
    for (int k = 0; k < NOISE_TONES; k++) {
        const double places = (double)counts[k * CLASSES].total / SUBBANDS;
        const bool is_known = places >= MIN_TONE_PLACES;
        double ratio = is_known ? exact_log(energies[k] * total / sum) * places / (places + TONE_PRIOR) : 0;
        ratio = fmin(fmax(ratio, exact_log(MIN_TONE)), exact_log(MAX_TONE));
        tones[k] = (float)exact_exp(0.5 * share * ratio);
    }
}

/* Computes the noise of one image: of its planes, of opponent colours, or of red, green and blue if these
 * differ too much or one is constant. `counts` points to the image's first plane on level 1, `tones` to its
 * first tone. */
static struct image_noise find_image_noise(const struct shape *shape, const struct counted *counts,
                                           const struct counted *tones)
{
    const int planes = counted_planes(shape), levels = shape->levels, colours = noise_colours(shape);
    struct image_noise noise = {.is_found = false}, separate = {.is_separate = true};
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
    for (int c = 0; c < 3; c++) {
        const struct features *others[2] = {&features[c > 0 ? 0 : 1], &features[c > 0 ? 0 : 2]};
        apply_model(c > 0, &features[c], others, levels, noise.sigma, c);
    }
    /* Noise that is not white comes from a camera, and depends on brightness. */
    if (levels >= 3 && features[0].is_found && features[1].is_found && features[2].is_found)
        find_tones(tones, 1 - apply_whiteness(&noise, levels), noise.tones);
    return noise;
}

enum status noise_find(struct run *run, const struct shape *shape, cl_mem counters,
                       struct image_noise *images, struct error *error)
{
    const cl_int all = histograms_all(shape), found_at = all * CLASSES * BINS;
    const struct planes any = {.memory = run->memory};
    struct counted *counts = allocate_zeroed((size_t)all * CLASSES, sizeof *counts, "the noise", error);
    if (!counts)
        return STATUS_FAILED;
    struct work work = run_work(run, "noise", "noise_quantiles", &any);
    work.vector_width = VECTOR_SCALAR;
    work.width = all;
    work.height = work.depth = 1;
    enum status status = LAUNCH(run->device, &work, error, ARG_MEMORY(counters), ARG(all),
                                ARG_MEMORY(counters), ARG(found_at));
    if (status == STATUS_OK)
        status = words_read(run->device, counters, (size_t)found_at,
                            (size_t)all * CLASSES * sizeof *counts / sizeof(cl_uint), counts, true, error);
    for (int i = 0; status == STATUS_OK && i < shape->images; i++) {
        /* Counts of level 1 are in the order of images; a level follows after all of them. */
        images[i] = find_image_noise(shape, counts + i * counted_planes(shape) * CLASSES,
                                     counts + (counted_all(shape) + i * NOISE_TONES) * CLASSES);
        images[i].factor = shape_is_colour(shape) && !images[i].is_separate ? COLOUR_FACTOR : 1;
    }
    if (status == STATUS_OK)
        run_report_noise(run, shape, images);
    free(counts);
    return status;
}

enum status noise_count_constant(struct run *run, const struct shape *shape, cl_mem counters,
                                 const struct planes *planes, bool opponent, struct rows own,
                                 struct error *error)
{
    const cl_int columns = noise_places(planes->width), rows = noise_places(planes->height),
                 channels = shape->channels, is_opponent = opponent;
    const cl_int2 range = {{own.begin, own.end}};
    struct work work = run_work(run, run_is_cpu(run) ? "dtcwt_cpu" : "constant", "noise_constant", planes);
    work.vector_width = run_is_cpu(run) ? VECTOR_FULL : VECTOR_SCALAR;
    work.outlined = run_is_cpu(run);
    work.width = columns * launch_lanes(run->device, run->memory, work.vector_width);
    work.height = rows;
    work.depth = shape->images;
    return LAUNCH(run->device, &work, error, ARG_PLANES(planes), ARG(columns), ARG(rows), ARG(range),
                  ARG(channels), ARG(is_opponent), ARG_MEMORY(counters));
}

/* Colours that are constant at a larger share of positions are left as they are. */
static const double CONSTANT_SHARE = 0.9;

enum status noise_find_constant(struct run *run, const struct shape *shape, cl_mem counters, int width,
                                int height, double sigma, struct image_noise *images, struct error *error)
{
    const size_t all = 3 * (size_t)shape->images;
    const double many = CONSTANT_SHARE * noise_places(width) * noise_places(height);
    cl_uint *counts = allocate_zeroed(all, sizeof *counts, "the noise", error);
    enum status status =
        counts ? words_read(run->device, counters, 0, all, counts, true, error) : STATUS_FAILED;
    noise_white(shape, sigma, images);
    for (int i = 0; status == STATUS_OK && i < shape->images; i++) {
        const cl_uint *own = counts + (size_t)i * 3;
        const int constant = (own[0] > many) + (own[1] > many) + (own[2] > many);
        images[i].is_separate = constant == 1 || constant == 2;
        for (int c = 0; images[i].is_separate && c < 3; c++)
            for (int level = 0; own[c] > many && level < shape->levels; level++)
                images[i].sigma[level][c] = 0;
    }
    free(counts);
    return status;
}
