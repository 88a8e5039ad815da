#include "filters/shrink.h"

#include "settings/option.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 4096, HISTOGRAM_ROWS = 128, TEXEL_CHANNELS = 4 }; /* BINS as in kernels/noise.cl */

enum { RADIUS = 3 }; /* of the neighbourhood whose strength counts: SIDE in kernels/shrink.h */

/* The kernel's groups are rows of work-items. */
static const int groups[][2] = {{64, 1}, {128, 1}, {256, 1}, {0, 0}};
static const struct tunable tunable_shrink = {.kernel = "shrink",
                                              .wide_images = {2, {64, 1}},
                                              .grouped = {4, {64, 1}},
                                              .grouped_images = {4, {128, 1}},
                                              .groups = groups};

enum status shrink_parse_sigma(const char *text, void *field, struct error *error)
{
    char *end;
    bool estimate = strcmp(text, "auto") == 0;
    double sigma = estimate ? NAN : strtod(text, &end);
    if (!estimate && (end == text || *end || !(sigma >= 0 && sigma <= 255)))
        return fail(error, STATUS_USAGE, "not a number from 0 to 255, nor auto");
    *(double *)field = sigma;
    return STATUS_OK;
}

void shrink_print_sigma(FILE *file, double sigma)
{
    if (isnan(sigma))
        fputs("auto", file);
    else
        print_real(file, sigma);
}

/* The diagonal subbands hold (a + d) / sqrt 2, (b - c) / sqrt 2 and the like of neighbours that were filtered
 * with h1 along both axes. For white noise each has variance e^2, e = sum of h1[k]^2, and diagonal neighbours
 * the covariance r^2, r = sum of h1[k] h1[k + 1]; so half of the parts have variance e^2 + r^2 and half e^2 -
 * r^2. The median of the mixture is found by bisection. */
double noise_median_unit(int biort)
{
    const struct biort *bank = &biorts[biort];
    double h1[MAX_BIORT_TAPS], e = 0, r = 0;
    biort_highpass(bank->g0, bank->g0_taps, h1);
    for (int k = 0; k < bank->g0_taps; k++) {
        e += h1[k] * h1[k];
        r += k + 1 < bank->g0_taps ? h1[k] * h1[k + 1] : 0;
    }
    double wide = sqrt(2 * (e * e + r * r)), narrow = sqrt(2 * (e * e - r * r)), low = 0, high = 4 * wide;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (0.5 * (erf(middle / wide) + erf(middle / narrow)) < 0.5)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

/* Rows of subbands, `height` of them, whose strength the rows `out` depend on. */
static struct rows neighbours(int height, struct rows out)
{
    return rows_clip((struct rows){out.begin - RADIUS, out.end + RADIUS}, height);
}

void shrink_rows(const struct shape *shape, struct dtcwt_rows *rows)
{
    for (int level = shape->levels; level >= 1; level--) {
        struct rows wanted = neighbours(dtcwt_lowpass_size(shape->height, level) / 2, rows->subbands[level]);
        if (level > 1) {
            struct rows children = rows_aligned(rows->subbands[level - 1], 2);
            wanted = rows_joined(wanted, (struct rows){children.begin / 2, children.end / 2});
        }
        rows->subbands[level] = wanted;
    }
}

static enum status scratch_like(struct run *run, const struct planes *planes, struct rows rows, int layers,
                                struct planes *scratch, struct error *error)
{
    return run_scratch(run, planes->width, planes->height, rows, layers, planes->channels, scratch, error);
}

enum status opponent_colours(struct run *run, const struct shape *shape, bool back, const struct planes *src,
                             const struct planes *dst, struct error *error)
{
    struct work work = run_work(run, "opponent", "opponent", dst);
    cl_int channels = shape->channels;
    define(&work.defines, "OPPONENT", back ? -1 : 1);
    work.depth = dst->layers * shape->images;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(channels));
}

/* Of noise: one for each plane of a layer, and in images for each channel that a texel has. */
static int count_noise(const struct shape *shape)
{
    int planes = shape_planes(shape);
    return planes > TEXEL_CHANNELS ? planes : TEXEL_CHANNELS;
}

static enum status estimate_noise(struct run *run, const struct shape *shape, const struct planes *finest,
                                  struct noise *noise, struct error *error)
{
    uint64_t samples = 4 * (uint64_t)finest->width * (uint64_t)finest->height; /* two subbands, two parts */
    cl_uint total = (cl_uint)samples;
    cl_int count = count_noise(shape), alpha = shape_alpha(shape);
    cl_float unit = (cl_float)noise_median_unit(shape->biort);
    noise->at = count * BINS;
    if (samples > UINT32_MAX)
        return fail(error, STATUS_FAILED,
                    "the noise of more than 2^32 pixels cannot be estimated; say how strong it is");
    if (run_counters(run, (size_t)count * (BINS + 1), &noise->sigma, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "noise", "noise_histogram", finest);
    work.grain = GRAIN_SINGLE;
    work.height = finest->height < HISTOGRAM_ROWS ? finest->height : HISTOGRAM_ROWS;
    work.depth = finest->channels;
    if (LAUNCH(run->device, &work, error, ARG_PLANES(finest), ARG_MEMORY(noise->sigma)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = "noise_median";
    work.width = count;
    work.height = work.depth = 1;
    if (LAUNCH(run->device, &work, error, ARG_MEMORY(noise->sigma), ARG_MEMORY(noise->sigma), ARG(count),
               ARG(noise->at), ARG(total), ARG(unit), ARG(alpha)) != STATUS_OK)
        return STATUS_FAILED;
    return run_keep_noise(run, noise->sigma, noise->at, shape, error);
}

static enum status give_noise(struct run *run, double sigma, const struct shape *shape, struct noise *noise,
                              struct error *error)
{
    int count = count_noise(shape), alpha = shape_alpha(shape);
    float *values = allocate((size_t)count * sizeof *values, "the noise", error);
    if (!values)
        return STATUS_FAILED;
    for (int i = 0; i < count; i++)
        values[i] = i == alpha ? 0 : (float)sigma;
    noise->at = 0;
    enum status status = run_constants(run, values, (size_t)count, &noise->sigma, error);
    free(values);
    return status;
}

enum status noise_find(struct run *run, double sigma, const struct shape *shape, const struct planes *finest,
                       struct noise *noise, struct error *error)
{
    return isnan(sigma) ? estimate_noise(run, shape, finest, noise, error)
                        : give_noise(run, sigma, shape, noise, error);
}

/* One level, whose parents are NULL where it is the coarsest, into the rows of dst: on CPUs in two passes. */
static enum status shrink_wide(struct run *run, const struct noise *noise, const struct planes *subbands,
                               const struct planes *parents, const struct planes *dst, struct error *error)
{
    cl_int has_parent = parents != NULL;
    struct rows out = {dst->first_row, dst->first_row + dst->rows};
    struct planes energies;
    parents = parents ? parents : subbands;
    if (scratch_like(run, subbands, neighbours(subbands->height, out), ORIENTATIONS, &energies, error) !=
        STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "dtcwt_wide", "shrink_energy", &energies);
    work.apart = true;
    if (LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(&energies)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = "shrink";
    work.height = dst->rows;
    enum status status =
        LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(parents), ARG_PLANES(&energies),
               ARG_PLANES(dst), ARG_MEMORY(noise->sigma), ARG(noise->at), ARG(has_parent));
    run_scratch_done(run, &energies);
    return status;
}

/* The same in one kernel. */
static enum status shrink_grouped(struct run *run, const struct noise *noise, const struct planes *subbands,
                                  const struct planes *parents, const struct planes *dst, struct error *error)
{
    bool images = run->memory == MEMORY_IMAGE;
    int pixel = images ? 1 : GROUPED_LANES, halo = images ? RADIUS : 1;
    int planes = planes_depth(dst) / 2; /* a subband has two layers */
    cl_int has_parent = parents != NULL;
    struct work work = run_tuned(run, "shrink_grouped", &tunable_shrink, dst);
    parents = parents ? parents : subbands;
    work_groups(run, halo, (dst->width + pixel - 1) / pixel, dst->rows, 4 * sizeof(float), &work);
    int groups_of_rows = work.height;
    work.height = planes;
    work.depth = groups_of_rows;
    return LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(parents), ARG_PLANES(dst),
                  ARG_MEMORY(noise->sigma), ARG(noise->at), ARG(has_parent));
}

static enum status shrink_level(struct run *run, const struct noise *noise, const struct planes *subbands,
                                const struct planes *parents, const struct planes *dst, struct error *error)
{
    return (run_is_wide(run) ? shrink_wide : shrink_grouped)(run, noise, subbands, parents, dst, error);
}

static enum status level_planes(struct run *run, const struct planes *like, struct rows rows,
                                struct planes *dst, struct error *error)
{
    return run_planes(run, like->width, like->height, rows, SUBBAND_LAYERS, like->channels, dst, error);
}

static enum status shrink_planes(struct run *run, const struct noise *noise, const struct value *in,
                                 struct value *out, struct error *error)
{
    int levels = in->shape.levels;
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(&in->shape, out->rows, &rows);
    for (int level = 1; level <= levels; level++) {
        const struct planes *subbands = &in->planes[level], *parents = level < levels ? subbands + 1 : NULL;
        struct planes *dst = &out->planes[level];
        if (level_planes(run, subbands, rows.subbands[level], dst, error) != STATUS_OK ||
            shrink_level(run, noise, subbands, parents, dst, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    out->planes[0] = in->planes[0];
    return STATUS_OK;
}

enum status shrink_inverse(struct run *run, const struct noise *noise, const struct value *in,
                           struct value *out, struct error *error)
{
    const struct shape *shape = &in->shape;
    struct planes lowpass = in->planes[0], clean;
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(shape, out->rows, &rows);
    enum status status = run_output(run, out, error);
    for (int level = shape->levels; status == STATUS_OK && level >= 1; level--) {
        const struct planes *noisy = &in->planes[level];
        status = scratch_like(run, noisy, rows.subbands[level], SUBBAND_LAYERS, &clean, error);
        if (status == STATUS_OK)
            status = shrink_level(run, noise, noisy, level < shape->levels ? noisy + 1 : NULL, &clean, error);
        if (status == STATUS_OK)
            status = dtcwt_inverse_level(run, shape, &rows, level, &clean, &lowpass, out, error);
        if (status == STATUS_OK)
            run_scratch_done(run, &clean);
    }
    return status;
}

/* The subbands of a level in opponent colours, which live until the stage returns. */
static enum status opponent_level(struct run *run, const struct value *in, int level, struct planes *changed,
                                  struct error *error)
{
    const struct planes *subbands = &in->planes[level];
    struct rows rows = {subbands->first_row, subbands->first_row + subbands->rows};
    if (scratch_like(run, subbands, rows, SUBBAND_LAYERS, changed, error) != STATUS_OK)
        return STATUS_FAILED;
    return opponent_colours(run, &in->shape, false, subbands, changed, error);
}

/* Two levels in opponent colours are there at a time. */
static enum status shrink_colours(struct run *run, double sigma, const struct value *in, struct value *out,
                                  struct error *error)
{
    int levels = in->shape.levels;
    struct planes noisy, parents, clean;
    struct dtcwt_rows rows;
    struct noise noise;
    dtcwt_inverse_rows(&in->shape, out->rows, &rows);
    if (opponent_level(run, in, 1, &noisy, error) != STATUS_OK ||
        noise_find(run, sigma, &in->shape, &noisy, &noise, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int level = 1; level <= levels; level++) {
        struct planes *dst = &out->planes[level];
        if ((level < levels && opponent_level(run, in, level + 1, &parents, error) != STATUS_OK) ||
            scratch_like(run, &noisy, rows.subbands[level], SUBBAND_LAYERS, &clean, error) != STATUS_OK ||
            shrink_level(run, &noise, &noisy, level < levels ? &parents : NULL, &clean, error) != STATUS_OK)
            return STATUS_FAILED;
        run_scratch_done(run, &noisy); /* whose memory may become dst's */
        if (level_planes(run, &clean, rows.subbands[level], dst, error) != STATUS_OK ||
            opponent_colours(run, &in->shape, true, &clean, dst, error) != STATUS_OK)
            return STATUS_FAILED;
        run_scratch_done(run, &clean);
        noisy = parents;
    }
    out->planes[0] = in->planes[0];
    return STATUS_OK;
}

enum status shrink_pyramid(struct run *run, double sigma, const struct value *in, struct value *out,
                           struct error *error)
{
    struct noise noise;
    if (shape_is_colour(&in->shape))
        return shrink_colours(run, sigma, in, out, error);
    if (noise_find(run, sigma, &in->shape, &in->planes[1], &noise, error) != STATUS_OK)
        return STATUS_FAILED;
    return shrink_planes(run, &noise, in, out, error);
}
