#include "engine/run.h"
#include "filters/resample.h"
#include "filters/separable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scale {
    int exponent; /* the factor is 2^exponent */
    int resampler, grid;
    bool antialias;
    float weights[MAX_RESAMPLE_WEIGHTS];
    int taps, start; /* start: of a reduction */
};

/* "4", "0.25", "1/4": a power of two from 1/64 to 64. */
static enum status parse_factor(const char *text, void *field, struct error *error)
{
    char *end;
    double factor = strtod(text, &end);
    if (end != text && *end == '/') {
        const char *below = end + 1;
        double divisor = strtod(below, &end);
        factor = end != below && divisor > 0 ? factor / divisor : NAN;
    }
    int exponent = 0;
    double mantissa = frexp(factor, &exponent);
    if (end == text || *end || !(factor > 0) || mantissa != 0.5)
        return fail(error, STATUS_USAGE, "not a power of two; 2, 4, 8, 1/2, 1/4, 0.25 are");
    if (factor > MAX_FACTOR || factor < 1.0 / MAX_FACTOR)
        return fail(error, STATUS_USAGE, "beyond 1/%d to %d; use --scale twice", MAX_FACTOR, MAX_FACTOR);
    *(int *)field = exponent - 1;
    return STATUS_OK;
}

static void print_factor(FILE *file, const void *params)
{
    int exponent = ((const struct scale *)params)->exponent;
    fprintf(file, exponent < 0 ? "1/%d" : "%d", 1 << abs(exponent));
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct scale, exponent),
     .choices = "2|4|8|1/2|1/4|1/8",
     .value = "FACTOR",
     .help = "a power of two, from 1/64 to 64",
     .parse = parse_factor,
     .print = print_factor},
    {.name = "filter",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct scale, resampler),
     .fallback = "bicubic",
     .choices = RESAMPLE_CHOICES,
     .help = "how samples are interpolated"},
    {.name = "antialias",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct scale, antialias),
     .fallback = "yes",
     .help = "going down, widen the filter so that fine detail does not alias"},
    {.name = "grid",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct scale, grid),
     .fallback = "centers",
     .choices = GRID_CHOICES,
     .help = "what is interpolated: the pixels at their centres, or samples at their corners made first"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --scale 4 large.png", "four times as wide and high"},
    {"climg samples/zoneplate.png --scale 1/2 half.png", "half the size, antialiased"},
    {"climg samples/scene.png --scale 8,filter=nearest pixels.png", "every pixel a square of 8x8"},
    {"climg samples/scene.png --scale 4,grid=corners soft.png", "by way of the pixels' corners, softer"},
    {NULL, NULL},
};

static int scaled(int n, int exponent)
{
    return exponent >= 0 ? n << exponent : (n + (1 << -exponent) - 1) >> -exponent;
}

static enum status check(void *params, struct error *error)
{
    struct scale *scale = params;
    enum resampler resampler = (enum resampler)scale->resampler;
    enum grid grid = (enum grid)scale->grid;
    if (resampler == RESAMPLE_NEAREST && grid == GRID_CORNERS)
        return fail(error, STATUS_USAGE,
                    "filter=nearest copies pixels and interpolates no corners; leave out grid=corners or use "
                    "filter=bilinear");
    if (scale->exponent < 0) {
        scale->taps = reduce_weights(resampler, grid, 1 << -scale->exponent, scale->antialias, scale->weights,
                                     &scale->start);
        return STATUS_OK;
    }
    scale->taps = enlarge_taps(resampler, grid);
    enlarge_weights(resampler, grid, 1 << scale->exponent, scale->weights);
    return STATUS_OK;
}

static enum status shape(const void *params, const struct shape *in, struct shape *out, struct error *error)
{
    const int exponent = ((const struct scale *)params)->exponent, largest = 1 << 30;
    if (exponent > 0 && (in->width > largest >> exponent || in->height > largest >> exponent))
        return fail(error, STATUS_FAILED, "--scale %d of %dx%d pixels is beyond 2^30 along an axis",
                    1 << exponent, in->width, in->height);
    out->width = scaled(in->width, exponent);
    out->height = scaled(in->height, exponent);
    return STATUS_OK;
}

static struct filter reduction(const struct scale *scale)
{
    return (struct filter){scale->weights, scale->taps, scale->start, 1 << -scale->exponent};
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    const struct scale *scale = params;
    (void)in;
    if (scale->exponent < 0) {
        struct filter filter = reduction(scale);
        return filter_source_rows(&filter, out);
    }
    int margin = scale->taps / 2;
    return (struct rows){(out.begin >> scale->exponent) - margin,
                         ((out.end - 1) >> scale->exponent) + margin + 1};
}

/* Columns first: the rows' pass, which gathers with a stride, then has less to do. */
static enum status reduce(struct run *run, const struct scale *scale, const struct value *in,
                          struct value *out, struct error *error)
{
    struct filter filter = reduction(scale);
    struct planes half;
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    if (filter_both_wins(run, &filter))
        return filter_both(run, &filter, &in->planes[0], &out->planes[0], error);
    if (run_scratch(run, in->shape.width, out->shape.height, out->rows, 1, in->planes[0].channels, &half,
                    error) != STATUS_OK ||
        filter_columns(run, &filter, -1, &in->planes[0], &half, error) != STATUS_OK)
        return STATUS_FAILED;
    return filter_rows(run, &filter, -1, &half, &out->planes[0], error);
}

static const struct tunable tunable_enlarge = {.kernel = "enlarge",
                                               .wide_images = {8, {16, 1}},
                                               .grouped = {8, {32, 4}},
                                               .grouped_images = {8, {1, 64}}};
static const struct tunable enlarge_rows = {.kernel = "enlarge_rows"},
                            enlarge_columns = {.kernel = "enlarge_columns"};
static const struct tunable *const reducing[] = {&tunable_filter_both, NULL};
static const struct tunable *const enlarging[] = {&tunable_enlarge, &enlarge_rows, &enlarge_columns, NULL};
static const struct tuning tunings[] = {
    {{{"scale", "1/2"}}, 1, reducing}, {{{"scale", "4"}}, 4, enlarging}, {.tunables = NULL}};

/* Rows first: the columns' pass, which writes the whole result, then stores whole vectors. */
static enum status enlarge_twice(struct run *run, const struct scale *scale, struct work *work,
                                 const struct weights *weights, const struct planes *src, struct value *out,
                                 struct error *error)
{
    const struct raster *raster = out->raster;
    struct planes dst = value_planes(out), half;
    struct rows held = {src->first_row, src->first_row + src->rows};
    struct geometry at = planes_geometry(&dst);
    cl_int first = out->rows.begin >> scale->exponent;
    if (run_scratch(run, out->shape.width, src->height, held, 1, src->channels, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    work->kernel = enlarge_rows.kernel;
    work->form = device_form(run->device, run->memory, &enlarge_rows);
    work->width = src->width;
    work->height = half.rows;
    if (LAUNCH(run->device, work, error, ARG_PLANES(src), ARG_PLANES(&half), ARG_WEIGHTS(*weights)) !=
        STATUS_OK)
        return STATUS_FAILED;
    work->kernel = raster ? "enlarge_columns_pack" : enlarge_columns.kernel;
    work->form = device_form(run->device, run->memory, raster ? NULL : &enlarge_columns);
    work->width = dst.width;
    work->height = ((out->rows.end - 1) >> scale->exponent) - first + 1;
    if (!raster)
        return LAUNCH(run->device, work, error, ARG_PLANES(&half), ARG_PLANES(&dst), ARG_WEIGHTS(*weights),
                      ARG(first));
    work->depth = 1;
    work->bytes = raster_bytes(raster, dst.rows);
    return LAUNCH(run->device, work, error, ARG_PLANES(&half), ARGS_RASTER(raster), ARG(at),
                  ARG_WEIGHTS(*weights), ARG(first));
}

/* In one pass: in buffers a work-item has several rows, in images several texels of one. */
static enum status enlarge_once(struct run *run, struct work *work, const struct weights *weights,
                                const struct planes *src, struct value *out, struct error *error)
{
    int outputs = work->form.outputs;
    const struct planes *dst = &out->planes[0];
    cl_int first = out->rows.begin / outputs * outputs;
    if (run->memory == MEMORY_IMAGE) {
        work->width = (dst->width + outputs - 1) / outputs;
        work->height = dst->rows;
        return LAUNCH(run->device, work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(*weights));
    }
    work->width = dst->width;
    work->height = (out->rows.end - first + outputs - 1) / outputs;
    return LAUNCH(run->device, work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(*weights),
                  ARG(first));
}

static enum status enlarge(struct run *run, const struct scale *scale, const struct value *in,
                           struct value *out, struct error *error)
{
    const struct planes *src = &in->planes[0];
    int factor = 1 << scale->exponent, taps = scale->taps;
    struct weights weights;
    struct work work = run_tuned(run, "scale", &tunable_enlarge, src);
    define(&work.defines, "FACTOR", factor);
    define(&work.defines, "TAPS", taps);
    define(&work.defines, "OUTPUTS", work.form.outputs);
    if (out->raster)
        define_all(&work.defines, &out->raster->defines);
    if (run_weights(run, scale->weights, (size_t)(taps ? factor * taps : 1), &weights, error) != STATUS_OK ||
        (!out->raster && run_output(run, out, error) != STATUS_OK))
        return STATUS_FAILED;
    if (launch_lanes(run->device, run->memory, GRAIN_VECTOR) == WIDE_LANES)
        return enlarge_twice(run, scale, &work, &weights, src, out, error);
    return enlarge_once(run, &work, &weights, src, out, error);
}

static bool writes_samples(const void *params)
{
    return ((const struct scale *)params)->exponent >= 0;
}

static enum status run_scale(struct run *run, const void *params, const struct value *in, struct value *out,
                             struct error *error)
{
    const struct scale *scale = params;
    if (scale->exponent < 0)
        return reduce(run, scale, in, out, error);
    return enlarge(run, scale, in, out, error);
}

const struct stage stage_scale = {
    .name = "scale",
    .brief = "enlarge or reduce by a power of two",
    .manual =
        "Pixels are little squares with their sample at the centre: output pixel d lies at (d + 0.5) / "
        "FACTOR - 0.5 of "
        "the input. The result is W * FACTOR wide, or W / FACTOR' rounded up when it shrinks by FACTOR'."
        "\n\n"
        "bicubic is Keys' interpolation with a = -0.5; bspline is the cubic B-spline, which smooths; nearest "
        "copies "
        "the pixel that covers the place, up and down, and never averages. Going down, the other filters are "
        "stretched "
        "by FACTOR' unless antialias=no. Pixels beyond the border follow --edge."
        "\n\n"
        "grid=corners first interpolates, with the same filter, the (W + 1) x (H + 1) samples that lie where "
        "pixels meet: corner i at i - 0.5 of the pixels' centres. Output pixel d is then interpolated from "
        "the corners, at (d + 0.5) / FACTOR of them. The result is softer, and as large as on the grid of "
        "centres, on which it lies. Both steps run as one. filter=nearest has no corners.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct scale),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .check = check,
    .shape = shape,
    .rows = rows,
    .writes_samples = writes_samples,
    .groups = true,
    .tunings = tunings,
    .run = run_scale,
};
