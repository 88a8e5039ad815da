/* The noise on the device: live cells, histograms of energies, and the estimate as arguments of the
 * shrinkage. noise_estimate.c computes the estimate from quantiles of the histograms.
 *
 * Layout of the counters, for all images, planes and levels:
 *
 *     histograms   [level][image][plane][class][bin]     BINS counters each, 8 bins an octave
 *                  [image][tone][class][bin]             of colour pictures: brightness on level 1
 *     quantiles    [level][image][plane][2]              struct energy_quantiles, written by noise_quantiles:
 *                  [image][tone][2]                      UPPER_CLASS, BOTH_CLASSES
 *
 * Three colours are counted as six planes: brightness, two differences, red, green, blue. The upper class has
 * the positions with at least 47 live coefficients of 7x7, the lower class the others with at least 24.
 *
 * A tone is an eighth of the range of brightness. Tones have counts of the upper class only.
 *
 * Tried and lost:
 * - Ignoring only coefficients that are 0. This finds black bars and blown skies, but not noise that is half
 *   clipped (2 dB at sigma 20 in dark pictures), nor areas between small spots.
 * - The mean of masks of each colour, instead of a mask of pixels whose colours are all dead (0.4 dB). */
#include "wavelet/noise.h"

#include "base/exact.h"

#include <math.h>
#include <stdlib.h>

enum {
    RADIUS = 3,              /* of the 7x7 coefficients of an energy: NEAR in kernels/sampling_positions.h */
    CELLS_NEAR = RADIUS + 1, /* radius of the cells that are read: a coefficient is live by 3x3 cells */
    TEXEL_CHANNELS = 4,
    COSINES = 8 /* frequencies of a block along an axis: SIDE in kernels/cosines.cl */
};

/* Rows of a level in struct noise's `levels`, as in kernels/shrink.h. */
enum {
    ROW_SIGMA,    /* standard deviation of white noise that is as strong there; full scale is 1 / unit */
    ROW_SHARE,    /* factor of the parents' energy: 1, or less if their noise is stronger */
    ROW_SUBTRACT, /* 1 / unit^2: subtract the noise from the neighbours' energy; 0: do not subtract */
    ROW_GUIDE,    /* factor of the energy of brightness, which is added to a colour difference's */
    ROW_MEAN,     /* factor of the sum of the 25 neighbours' energies, in unit^4 */
    NOISE_ROWS
};

/* The shrinkage of colour pictures whose noise was measured. A camera's noise differs from area to area, and
 * its estimate is off by a factor of up to 1.5. If the noise were subtracted from the neighbours' energy,
 * areas with more noise would keep it. So the noise is multiplied by a factor instead. Detail of a colour
 * difference is mostly also in brightness, so the energy of brightness, in units of its noise, is added with
 * a small weight. */
static const double BRIGHTNESS_FACTOR = 1.28, COLOUR_FACTOR = 1.42;
static const float GUIDE_WEIGHT = 0.04F;

/* Noise above HUGE_NOISE is in units of HUGE_UNIT in the rows of a level (kernels/shrink.h). */
static const double HUGE_NOISE = 1 << 20, HUGE_UNIT = 1 << 24;

/* Factor of the noise variance for quality=high, below 1 because the pilot lacks some of the signal. */
static const float COSINE_FACTOR = 0.8F;

/* Gain of white noise by level-1 filter (in the order of `biorts`) and level: its standard deviation on the
 * level if it is 1 in the image. Computed as the root of the mean energy of the six subbands, from the sums
 * of squares of the combined filters along both axes. The q-shift filters change it by less than 0.003. On
 * levels above NOISE_LEVELS it is 1. */
static const float WHITE_NOISE[][NOISE_LEVELS] = {{1.007288F, 0.977969F, 0.98309F, 0.993732F, 0.998236F, 1},
                                                  {1.003828F, 0.985722F, 1.001456F, 1.002659F, 1.000839F, 1},
                                                  {0.951972F, 1.525281F, 1.166303F, 1.039249F, 1.009656F, 1},
                                                  {1.001931F, 1.067556F, 0.946288F, 0.973491F, 0.992156F, 1}};

/* ---------------------------------------------------------------- on the device */

cl_int noise_level_offset(const struct noise *noise, int level)
{
    return (level - 1) * NOISE_ROWS * noise->pitch;
}

/* Returns the noise (standard deviation) of a channel at frequency k of a block of 8 x 8 cosines, which is
 * k / 16 cycles per sample.
 *
 * OCTAVE: the level that contains the frequency; level l contains the frequencies from 2^-(l+1) to
 * 2^-l. White noise is the noise of this level.
 *
 * LEVEL: estimated noise can be four times as strong on the next level. So it is interpolated between the
 * middles of the levels, 2^(0.5 - (l+1)): frequency k is at level 3.5 - log2(k), at least 1. This gains 0.08
 * dB on real pictures. The noise of the level OCTAVE is the lower limit, for noise that falls towards coarse
 * levels. This gains up to 0.4 dB in pictures that the camera has denoised. */
static float frequency_noise(const struct shape *shape, const struct image_noise *image, int channel, int k)
{
    static const double LEVEL[COSINES] = {3.5, 3.5, 2.5, 1.915, 1.5, 1.178, 1, 1};
    static const int OCTAVE[COSINES] = {3, 3, 2, 2, 1, 1, 1, 1};
    const int levels = shape->levels;
    const float octave = image->sigma[(OCTAVE[k] < levels ? OCTAVE[k] : levels) - 1][channel];
    const double level = fmin(LEVEL[k], levels), share = level - floor(level);
    const float *fine = &image->sigma[(int)level - 1][channel], *coarse = fine + 4; /* the next level */
    if (image->is_white || share == 0 || *fine <= 0 || *coarse <= 0)
        return octave;
    const float between =
        (float)exact_exp((1 - share) * exact_log((double)*fine) + share * exact_log((double)*coarse));
    return between > octave ? between : octave;
}

/* Sets the rows of a level for a channel of an image. `values` points to the channel in the level's first
 * row. `factor` multiplies the noise. `measured`: the noise was estimated, from a colour picture. */
static void set_level(const struct shape *shape, const struct image_noise *image, int level, int channel,
                      double factor, bool measured, float *values, int pitch)
{
    const float own = image->sigma[level][channel], first = image->sigma[level][0];
    const float parent = !image->is_white && level + 1 < shape->levels ? image->sigma[level + 1][channel] : 0;
    const float ratio = parent > own ? own / parent : 1;
    const bool is_difference = measured && !image->is_separate && channel > 0;
    const float colour_ratio = is_difference && first > 0 ? own / first : 0;
    const double unit = factor * (double)own > HUGE_NOISE ? HUGE_UNIT : 1, squared = unit * unit;
    values[ROW_SIGMA * pitch] = (float)(factor * (double)own / unit);
    values[ROW_SHARE * pitch] = ratio * ratio;
    values[ROW_SUBTRACT * pitch] = measured ? 0 : (float)(1 / squared);
    values[ROW_GUIDE * pitch] = GUIDE_WEIGHT * colour_ratio * colour_ratio;
    values[ROW_MEAN * pitch] = 1.0F / 25 / (float)(squared * squared);
}

enum status noise_set(struct run *run, const struct shape *shape, const struct image_noise *images,
                      double strength, struct noise *noise, struct error *error)
{
    const int planes = shape_planes(shape), pitch = planes > TEXEL_CHANNELS ? planes : TEXEL_CHANNELS;
    const size_t rows = (size_t)pitch * NOISE_ROWS * (size_t)shape->levels,
                 frequencies = (size_t)pitch * COSINES, tones = NOISE_TONES * (size_t)shape->images;
    float *values = allocate_zeroed(rows + frequencies + tones, sizeof *values, "the noise", error);
    if (!values)
        return STATUS_FAILED;
    float *variances = values + rows, *curves = variances + frequencies;
    *noise = (struct noise){.channels = shape->channels, .pitch = pitch};
    for (int i = 0; i < shape->images; i++) {
        const struct image_noise *image = &images[i];
        const bool measured = shape_is_colour(shape) && !image->is_white;
        /* Set the noise of each channel and level, and the variance of each channel and frequency. */
        for (int c = 0; c < shape->channels - shape->alpha; c++) {
            const int plane = i * shape->channels + c;
            const double factor = strength * (!measured                      ? 1
                                              : c > 0 && !image->is_separate ? COLOUR_FACTOR
                                                                             : BRIGHTNESS_FACTOR);
            for (int level = 0; level < shape->levels; level++)
                set_level(shape, image, level, c, factor, measured,
                          &values[level * NOISE_ROWS * pitch + plane], pitch);
            for (int k = 0; k < COSINES; k++) {
                const float sigma = (float)(factor * (double)frequency_noise(shape, image, c, k));
                variances[plane * COSINES + k] = COSINE_FACTOR * sigma * sigma;
            }
        }
        /* Set the curve. The tones of an image without one are all 0: a factor of 1, and no differences. */
        float *curve = curves + i * NOISE_TONES;
        curve[0] = image->tones[0] > 0 ? image->tones[0] : 1;
        for (int k = 1; k < NOISE_TONES; k++)
            curve[k] = image->tones[k] - image->tones[k - 1];
        if (image->tones[0] > 0)
            noise->by_tone = 1;
    }
    enum status status = run_constants(run, values, rows, &noise->levels, error);
    if (status == STATUS_OK)
        status = run_constants(run, variances, frequencies, &noise->variances, error);
    if (status == STATUS_OK)
        status = run_constants(run, curves, tones, &noise->tones, error);
    free(values);
    return status;
}

void noise_white(const struct shape *shape, double sigma, struct image_noise *images)
{
    for (int i = 0; i < shape->images; i++) {
        images[i] = (struct image_noise){.is_white = true};
        for (int level = 0; level < shape->levels; level++)
            for (int c = 0; c < shape->channels - shape->alpha; c++)
                images[i].sigma[level][c] =
                    (level < NOISE_LEVELS ? WHITE_NOISE[shape->biort][level] : 1) * (float)sigma;
    }
}

/* ---------------------------------------------------------------- counting */

/* Returns the number of pairs of histograms (upper and lower class) of planes, without tones. */
static int count_plane_levels(const struct shape *shape)
{
    return shape->images * counted_planes(shape) * counted_levels(shape);
}

/* Returns the number of pairs of histograms of planes and tones. */
static int count_histograms(const struct shape *shape)
{
    return count_plane_levels(shape) + (shape_is_colour(shape) ? shape->images * NOISE_TONES : 0);
}

size_t noise_counters(const struct shape *shape)
{
    return (size_t)count_histograms(shape) *
           (CLASSES * BINS + CLASSES * sizeof(struct energy_quantiles) / sizeof(cl_uint));
}

struct dtcwt_rows noise_part_rows(const struct shape *pyramid, struct interval part, bool counts)
{
    struct dtcwt_rows needed = {.positions = counts ? NOISE_POSITIONS : 0};
    int size = 0;
    for (int level = 1; level <= pyramid->levels; level++) {
        size = dtcwt_lowpass_size(pyramid->height, level);
        const struct interval own = dtcwt_part_rows(part, pyramid->height, size / 2),
                              first = {own.begin, own.begin + 1},
                              with_halo = {own.begin - RADIUS, own.end + RADIUS};
        needed.subbands[level] = interval_clip(counts ? with_halo : first, size / 2);
    }
    needed.lowpass[pyramid->levels] = interval_align(dtcwt_part_rows(part, pyramid->height, size), 2);
    dtcwt_forward_rows(pyramid, &needed);
    return needed;
}

struct interval noise_live_rows(int height, struct interval own)
{
    return interval_clip(interval_widen(own, CELLS_NEAR), height);
}

enum status noise_live(struct run *run, const struct value *image, const struct planes *finer, int level,
                       struct interval rows, struct planes *live, struct error *error)
{
    const struct shape *shape = &image->shape;
    const cl_int channels = shape->channels, colours = shape->channels - shape->alpha,
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
    const struct geometry live_geometry = planes_geometry(live);
    struct kernel_launch work = run_work(run, "live", level == 1 ? "live_cells" : "live_halve", live);
    work.memory = run->memory;
    work.vector_width = VECTOR_WINDOW;
    work.height = level == 1 ? (rows.end + 1) / 2 - rows.begin / 2 : rows.end - rows.begin;
    work.depth = shape->images;
    work.calls_noinline = true;
    if (run_is_cpu(run))
        work.width = 2 * live->width; /* CPU_LANES per work-item, which computes only half as many cells */
    if (level > 1) {
        const struct geometry finer_geometry = planes_geometry(finer);
        return LAUNCH(run->device, &work, error, ARG_MEMORY(finer->object), ARG(finer_geometry),
                      ARG_MEMORY(live->object), ARG(live_geometry), ARG(range));
    }
    return LAUNCH(run->device, &work, error, ARG_PLANES(&image->planes[0]), ARG_MEMORY(live->object),
                  ARG(live_geometry), ARG(range), ARG(channels), ARG(colours), ARG(opponent));
}

enum status noise_count(struct run *run, const struct shape *shape, cl_mem counters, int level,
                        const struct planes *subbands, bool opponent, const struct planes *live,
                        const struct planes *image, struct interval own, struct error *error)
{
    const cl_int is_opponent = opponent;
    const bool by_tone = image && level == 1 && opponent && shape_is_colour(shape);
    /* Offsets in the counters: of the histograms of tones, and of the level's planes. */
    const cl_int tones_offset = by_tone ? count_plane_levels(shape) * CLASSES * BINS : -1;
    const cl_int planes_offset = (level - 1) * shape->images * counted_planes(shape) * CLASSES * BINS;
    const cl_int columns = noise_positions(subbands->width), rows = noise_positions(subbands->height),
                 has_cells = live != NULL, channels = shape->channels,
                 colours = shape->channels - shape->alpha;
    const cl_int2 range = {{own.begin, own.end}};
    struct geometry live_geometry = {.width = 0};
    if (level > NOISE_LEVELS)
        return STATUS_OK;
    if (has_cells)
        live_geometry = planes_geometry(live);
    /* Arguments that the kernel does not read may be any memory object. */
    cl_mem cells = has_cells ? live->object : counters;
    image = by_tone ? image : subbands;
    struct kernel_launch work = run_work(run, "noise", "noise_energies", subbands);
    work.vector_width = VECTOR_SCALAR;
    work.width = columns;
    work.height = rows;
    work.depth = shape->images;
    return LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_MEMORY(cells), ARG(live_geometry),
                  ARG(has_cells), ARG(columns), ARG(rows), ARG(range), ARG(channels), ARG(colours),
                  ARG(is_opponent), ARG_PLANES(image), ARG_MEMORY(counters), ARG(planes_offset),
                  ARG(tones_offset));
}

enum status noise_find(struct run *run, const struct shape *shape, cl_mem counters,
                       struct image_noise *images, struct error *error)
{
    const cl_int all = count_histograms(shape);
    const struct planes any = {.memory = run->memory};
    struct energy_quantiles *counts =
        allocate_zeroed((size_t)all * CLASSES, sizeof *counts, "the noise", error);
    if (!counts)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "noise", "noise_quantiles", &any);
    work.vector_width = VECTOR_SCALAR;
    work.width = all;
    work.height = work.depth = 1;
    enum status status = LAUNCH(run->device, &work, error, ARG_MEMORY(counters), ARG(all));
    if (status == STATUS_OK)
        status = words_read(run->device, counters, (size_t)all * CLASSES * BINS,
                            (size_t)all * CLASSES * sizeof *counts / sizeof(cl_uint), counts, true, error);
    for (int i = 0; status == STATUS_OK && i < shape->images; i++) {
        /* Point to the image's counts on level 1. A level has the counts of all images, so
         * noise_estimate steps over the other images from level to level. */
        const struct energy_quantiles *own = counts + i * counted_planes(shape) * CLASSES;
        images[i] =
            noise_estimate(shape, own, counts + (count_plane_levels(shape) + i * NOISE_TONES) * CLASSES);
        if (noise_is_off_scale(shape, own))
            run_warn(run, i,
                     "the noise cannot be measured, as values are far below or above full scale, 1; --range "
                     "auto maps them to it");
    }
    if (status == STATUS_OK)
        run_report_noise(run, shape, images);
    free(counts);
    return status;
}

enum status noise_count_constant(struct run *run, const struct shape *shape, cl_mem counters,
                                 const struct planes *planes, bool opponent, struct interval own,
                                 struct error *error)
{
    const cl_int columns = noise_positions(planes->width), rows = noise_positions(planes->height),
                 channels = shape->channels, is_opponent = opponent;
    const cl_int2 range = {{own.begin, own.end}};
    struct kernel_launch work =
        run_work(run, run_is_cpu(run) ? "dtcwt_cpu" : "constant", "noise_constant", planes);
    work.vector_width = run_is_cpu(run) ? VECTOR_FULL : VECTOR_SCALAR;
    work.calls_noinline = run_is_cpu(run);
    work.width = columns * launch_lanes(run->device, run->memory, work.vector_width);
    work.height = rows;
    work.depth = shape->images;
    return LAUNCH(run->device, &work, error, ARG_PLANES(planes), ARG(columns), ARG(rows), ARG(range),
                  ARG(channels), ARG(is_opponent), ARG_MEMORY(counters));
}

/* A colour that is constant at a larger share of the positions is not changed. */
static const double CONSTANT_SHARE = 0.9;

enum status noise_find_constant(struct run *run, const struct shape *shape, cl_mem counters, int width,
                                int height, double sigma, struct image_noise *images, struct error *error)
{
    const size_t all = 3 * (size_t)shape->images;
    const double threshold = CONSTANT_SHARE * noise_positions(width) * noise_positions(height);
    cl_uint *counts = allocate_zeroed(all, sizeof *counts, "the noise", error);
    enum status status =
        counts ? words_read(run->device, counters, 0, all, counts, true, error) : STATUS_FAILED;
    noise_white(shape, sigma, images);
    for (int i = 0; status == STATUS_OK && i < shape->images; i++) {
        const cl_uint *image_counts = counts + (size_t)i * 3;
        const int constant_colours =
            (image_counts[0] > threshold) + (image_counts[1] > threshold) + (image_counts[2] > threshold);
        images[i].is_separate = constant_colours == 1 || constant_colours == 2;
        for (int c = 0; images[i].is_separate && c < 3; c++)
            for (int level = 0; image_counts[c] > threshold && level < shape->levels; level++)
                images[i].sigma[level][c] = 0;
    }
    free(counts);
    return status;
}
