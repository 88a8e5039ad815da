#include "filters/shrink.h"

#include "settings/option.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* BINS as in kernels/noise.cl, RADIUS as in kernels/shrink.cl */
enum { BINS = 4096, HISTOGRAM_ROWS = 128, TEXEL_CHANNELS = 4, RADIUS = 3 };

static const struct tunable shrink_energy = {
    .kernel = "shrink_energy", .grouped = {1, {16, 8}}, .grouped_images = {1, {2, 64}}};

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

/* What the steps share. */
struct shrinking {
    struct run *run;
    const struct shape *shape;
    struct value *spent;                 /* NULL, or what may be given back when it is no longer needed */
    struct planes noisy[1 + MAX_LEVELS]; /* subbands as they are thresholded: of opponent colours */
    cl_mem sigma;                        /* noise of each channel, from sigma_at on */
    cl_int sigma_at;
    bool opponent;
};

/* Rows of a level's subbands whose strength the rows `out` of it depend on. */
static struct rows neighbours(const struct shape *shape, int level, struct rows out)
{
    return rows_clip((struct rows){out.begin - RADIUS, out.end + RADIUS},
                     dtcwt_lowpass_size(shape->height, level) / 2);
}

void shrink_rows(const struct shape *shape, struct dtcwt_rows *rows)
{
    for (int level = shape->levels; level >= 1; level--) {
        struct rows wanted = neighbours(shape, level, rows->subbands[level]);
        if (level > 1) {
            struct rows children = rows_aligned(rows->subbands[level - 1], 2);
            wanted = rows_joined(wanted, (struct rows){children.begin / 2, children.end / 2});
        }
        rows->subbands[level] = wanted;
    }
}

static enum status like(struct run *run, const struct planes *planes, struct rows rows, int layers,
                        struct planes *scratch, struct error *error)
{
    return run_scratch(run, planes->width, planes->height, rows, layers, planes->channels, scratch, error);
}

static enum status change_colours(const struct shrinking *s, bool back, const struct planes *src,
                                  const struct planes *dst, struct error *error)
{
    struct work work = run_work(s->run, "opponent", "opponent", dst);
    cl_int channels = s->shape->channels;
    define(&work.defines, "OPPONENT", back ? -1 : 1);
    work.depth = dst->layers * s->shape->images;
    return LAUNCH(s->run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(channels));
}

static enum status prepare_level(struct shrinking *s, int level, const struct value *in, struct error *error)
{
    const struct planes *subbands = &in->planes[level];
    struct rows rows = {subbands->first_row, subbands->first_row + subbands->rows};
    s->noisy[level] = *subbands;
    if (s->opponent && (like(s->run, subbands, rows, SUBBAND_LAYERS, &s->noisy[level], error) != STATUS_OK ||
                        change_colours(s, false, subbands, &s->noisy[level], error) != STATUS_OK))
        return STATUS_FAILED;
    if (s->opponent && s->spent)
        planes_release(&s->run->pool, &s->spent->planes[level]);
    return STATUS_OK;
}

/* Of noise: one for each plane of a layer, and in images for each channel that a texel has. */
static int count_noise(const struct shape *shape)
{
    int planes = shape_planes(shape);
    return planes > TEXEL_CHANNELS ? planes : TEXEL_CHANNELS;
}

static enum status estimate_noise(struct shrinking *s, struct error *error)
{
    const struct planes *finest = &s->noisy[1];
    uint64_t samples = 4 * (uint64_t)finest->width * (uint64_t)finest->height; /* two subbands, two parts */
    cl_uint total = (cl_uint)samples;
    cl_int count = count_noise(s->shape);
    cl_float unit = (cl_float)noise_median_unit(s->shape->biort);
    s->sigma_at = count * BINS;
    if (samples > UINT32_MAX)
        return fail(error, STATUS_FAILED,
                    "the noise of more than 2^32 pixels cannot be estimated; say how strong it is");
    if (run_counters(s->run, (size_t)count * (BINS + 1), &s->sigma, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(s->run, "noise", "noise_histogram", finest);
    work.grain = GRAIN_SINGLE;
    work.height = finest->height < HISTOGRAM_ROWS ? finest->height : HISTOGRAM_ROWS;
    work.depth = finest->channels;
    if (LAUNCH(s->run->device, &work, error, ARG_PLANES(finest), ARG_MEMORY(s->sigma)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = "noise_median";
    work.width = count;
    work.height = work.depth = 1;
    return LAUNCH(s->run->device, &work, error, ARG_MEMORY(s->sigma), ARG_MEMORY(s->sigma), ARG(count),
                  ARG(s->sigma_at), ARG(total), ARG(unit));
}

static enum status give_noise(struct shrinking *s, double sigma, struct error *error)
{
    int count = count_noise(s->shape);
    float *values = allocate((size_t)count * sizeof *values, "the noise", error);
    if (!values)
        return STATUS_FAILED;
    for (int i = 0; i < count; i++)
        values[i] = (float)sigma;
    s->sigma_at = 0;
    enum status status = run_constants(s->run, values, (size_t)count, &s->sigma, error);
    free(values);
    return status;
}

static enum status shrink_level(const struct shrinking *s, int level, struct planes *dst, struct error *error)
{
    const struct planes *subbands = &s->noisy[level];
    cl_int has_parent = level < s->shape->levels;
    const struct planes *parents = has_parent ? &s->noisy[level + 1] : subbands;
    cl_int alpha = shape_alpha(s->shape), sigma_at = s->sigma_at;
    struct rows out = {dst->first_row, dst->first_row + dst->rows};
    struct planes energies;
    if (like(s->run, subbands, neighbours(s->shape, level, out), ORIENTATIONS, &energies, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_tuned(s->run, "shrink", &shrink_energy, &energies);
    if (LAUNCH(s->run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(&energies)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = "shrink"; /* in the same form */
    work.height = dst->rows;
    enum status status =
        LAUNCH(s->run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(parents), ARG_PLANES(&energies),
               ARG_PLANES(dst), ARG_MEMORY(s->sigma), ARG(sigma_at), ARG(alpha), ARG(has_parent));
    run_scratch_done(s->run, &energies);
    return status;
}

/* Thresholds one level into rows of out's planes, by way of opponent colours where there are three. */
static enum status finish_level(struct shrinking *s, int level, struct rows rows, struct value *out,
                                struct error *error)
{
    struct planes noisy = s->noisy[level], *dst = &out->planes[level], changed;
    if (!s->opponent) {
        if (run_planes(s->run, noisy.width, noisy.height, rows, SUBBAND_LAYERS, noisy.channels, dst, error) !=
            STATUS_OK)
            return STATUS_FAILED;
        return shrink_level(s, level, dst, error);
    }
    if (like(s->run, &noisy, rows, SUBBAND_LAYERS, &changed, error) != STATUS_OK ||
        shrink_level(s, level, &changed, error) != STATUS_OK)
        return STATUS_FAILED;
    run_scratch_done(s->run, &s->noisy[level]); /* whose memory may become dst's */
    if (run_planes(s->run, noisy.width, noisy.height, rows, SUBBAND_LAYERS, noisy.channels, dst, error) !=
            STATUS_OK ||
        change_colours(s, true, &changed, dst, error) != STATUS_OK)
        return STATUS_FAILED;
    run_scratch_done(s->run, &changed);
    return STATUS_OK;
}

enum status shrink_pyramid(struct run *run, double sigma, const struct value *in, struct value *spent,
                           struct value *out, struct error *error)
{
    struct shrinking s = {.run = run, .shape = &in->shape, .spent = spent};
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(&in->shape, out->rows, &rows);
    s.opponent = in->shape.channels - in->shape.alpha == 3;
    enum status status = prepare_level(&s, 1, in, error);
    if (status == STATUS_OK)
        status = isnan(sigma) ? estimate_noise(&s, error) : give_noise(&s, sigma, error);
    for (int level = 1; status == STATUS_OK && level <= in->shape.levels; level++) {
        if (level < in->shape.levels)
            status = prepare_level(&s, level + 1, in, error); /* the parents */
        if (status == STATUS_OK)
            status = finish_level(&s, level, rows.subbands[level], out, error);
    }
    out->planes[0] = in->planes[0];
    return status;
}
