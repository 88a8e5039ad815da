#include "filters/noise.h"

#include "filters/dtcwt_design.h"

#include <stdlib.h>

/* As in kernels/noise.cl. */
enum {
    BINS = 1024,
    QUANTILES = 2,
    NOISE_FEATURES = 4 * NOISE_LEVELS + 1,
    RADIUS = 3, /* of the neighbours whose energy counts: NEAR in kernels/places.h */
    TEXEL_CHANNELS = 4
};

#include "filters/noise_model.h"

/* The noise of a colour camera is stronger in some places than on the mean, which the model gives. This
 * factor of it gives the highest PSNR (docs/denoising.md). */
static const cl_float STRONGER = 1.03F;

static const cl_float2 SHARES = {{0.05F, 0.5F}};
static const cl_float LEAST = 0.1F * 0.1F / (4 * 255 * 255); /* a tenth of a count */

/* What the features of white noise on level 1 are larger with near_sym_a, for which the models are, than with
 * the filters of another struct biort: simulated, 8 times 1024x1024 samples, to 0.004. */
static const cl_float2 shifts[] = {{{0, 0}}, {{0.032F, 0.009F}}, {{0.498F, 0.063F}}, {{0.037F, 0.012F}}};

/* What white noise of an image is on a level, times its standard deviation: the root of the mean energy of
 * the six subbands, which is the product of the sums of the squares of what filters along the two axes have
 * become. The qshift filters change it by less than 0.003. Beyond these levels it is 1. */
static const float white[][NOISE_LEVELS] = {{1.007288F, 0.977969F, 0.98309F, 0.993732F, 0.998236F, 1},
                                            {1.003828F, 0.985722F, 1.001456F, 1.002659F, 1.000839F, 1},
                                            {0.951972F, 1.525281F, 1.166303F, 1.039249F, 1.009656F, 1},
                                            {1.001931F, 1.067556F, 0.946288F, 0.973491F, 0.992156F, 1}};

cl_int noise_at(const struct noise *noise, int level)
{
    return noise->at + (level - 1) * noise->pitch;
}

/* Of noise: one for each plane of a layer, and in images for each channel that a texel has. */
static int count_noise(const struct shape *shape)
{
    int planes = shape_planes(shape);
    return planes > TEXEL_CHANNELS ? planes : TEXEL_CHANNELS;
}

enum status noise_give(struct run *run, double sigma, const struct shape *shape, struct noise *noise,
                       struct error *error)
{
    const int count = count_noise(shape), alpha = shape_alpha(shape);
    const size_t all = (size_t)count * (size_t)shape->levels;
    float *values = allocate(all * sizeof *values, "the noise", error);
    if (!values)
        return STATUS_FAILED;
    for (int level = 0; level < shape->levels; level++) {
        const float factor = level < NOISE_LEVELS ? white[shape->biort][level] : 1;
        for (int i = 0; i < count; i++)
            values[level * count + i] = i == alpha ? 0 : factor * (float)sigma * noise->strength;
    }
    noise->at = 0;
    noise->pitch = count;
    noise->above = 0;
    enum status status = run_constants(run, values, all, &noise->sigma, error);
    free(values);
    return status;
}

/* Where counts begin, features follow them, and the noise these. */
static cl_int bins_at(const struct noise *noise, int level)
{
    return (level - 1) * noise->planes * BINS;
}

static int counted_levels(const struct shape *shape)
{
    return shape->levels < NOISE_LEVELS ? shape->levels : NOISE_LEVELS;
}

struct noise noise_in(const struct shape *shape, cl_mem words)
{
    struct noise noise = {.sigma = words, .planes = shape_planes(shape), .pitch = count_noise(shape)};
    noise.above = noise.pitch;
    noise.features_at = bins_at(&noise, counted_levels(shape) + 1);
    noise.at = noise.features_at + noise.planes * NOISE_LEVELS * QUANTILES;
    return noise;
}

size_t noise_words(const struct shape *shape)
{
    struct noise noise = noise_in(shape, NULL);
    return (size_t)noise.at + (size_t)noise.pitch * (size_t)shape->levels;
}

enum status noise_begin(struct run *run, const struct shape *shape, struct noise *noise, struct error *error)
{
    float strength = noise->strength;
    cl_mem words;
    enum status status = run_counters(run, noise_words(shape), &words, error);
    *noise = noise_in(shape, words);
    noise->strength = strength;
    return status;
}

struct rows noise_neighbours(int height, struct rows own)
{
    return rows_clip((struct rows){own.begin - RADIUS, own.end + RADIUS}, height);
}

enum status noise_count(struct run *run, const struct noise *noise, int level, const struct planes *subbands,
                        struct rows own, struct error *error)
{
    cl_int columns = subbands->width < NOISE_PLACES ? subbands->width : NOISE_PLACES;
    cl_int rows = subbands->height < NOISE_PLACES ? subbands->height : NOISE_PLACES;
    cl_int2 range = {{own.begin, own.end}};
    cl_int at = bins_at(noise, level);
    if (level > NOISE_LEVELS)
        return STATUS_OK;
    struct work work = run_work(run, "noise", "noise_energies", subbands);
    work.grain = GRAIN_SINGLE;
    work.width = columns;
    work.height = rows;
    work.depth = subbands->channels;
    return LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG(columns), ARG(rows), ARG(range),
                  ARG_MEMORY(noise->sigma), ARG(at));
}

enum status noise_end(struct run *run, const struct shape *shape, const struct noise *noise,
                      struct error *error)
{
    const struct planes any = {.memory = run->memory};
    cl_int levels = shape->levels, counted = counted_levels(shape), channels = shape->channels,
           alpha = shape_alpha(shape), colour = shape_is_colour(shape);
    cl_float strength = noise->strength * (colour ? STRONGER : 1);
    struct weights models;
    if (run_weights(run, &noise_models[0][0][0], sizeof noise_models / sizeof(float), &models, error) !=
        STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "noise", "noise_features", &any);
    work.grain = GRAIN_SINGLE;
    work.width = noise->planes;
    work.height = counted;
    work.depth = 1;
    if (LAUNCH(run->device, &work, error, ARG_MEMORY(noise->sigma), ARG_MEMORY(noise->sigma),
               ARG(noise->features_at), ARG(noise->planes), ARG(counted), ARG(SHARES), ARG(LEAST),
               ARG(shifts[shape->biort])) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = "noise_model";
    work.width = noise->pitch;
    work.height = levels;
    if (LAUNCH(run->device, &work, error, ARG_MEMORY(noise->sigma), ARG(noise->features_at),
               ARG_WEIGHTS(models), ARG_MEMORY(noise->sigma), ARG(noise->at), ARG(noise->pitch),
               ARG(noise->planes), ARG(levels), ARG(channels), ARG(alpha), ARG(colour),
               ARG(strength)) != STATUS_OK)
        return STATUS_FAILED;
    return run_keep_noise(run, noise->sigma, noise->at, noise->pitch, strength > 0 ? 1 / strength : 0, shape,
                          error);
}
