#include "engine/run.h"
#include "filters/coarse.h"
#include "filters/gaussian.h"
#include "filters/tile.h"

#include <stdlib.h>

struct gradient {
    double sigma, truncate;
    int radius;
    float *weights; /* of the Gaussian, then of its derivative */
};

static const struct option options[] = {
    {.type = OPTION_REAL,
     .offset = offsetof(struct gradient, sigma),
     .fallback = "1",
     .min = 0.2,
     .max = 1000,
     .value = "SIGMA",
     .optional = true,
     .help = "standard deviation of the Gaussian in pixels"},
    {.name = "truncate",
     .type = OPTION_REAL,
     .offset = offsetof(struct gradient, truncate),
     .fallback = "0",
     .max = 20,
     .value = "N",
     .help = "cut the filters off at N standard deviations; 0: nowhere"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --gradient edges.png", "edges"},
    {"climg samples/scene.png --gradient=3 --depth 16 edges.png", "only the large edges, in 16 bit"},
    {NULL, NULL},
};

static enum status check(void *params, struct error *error)
{
    struct gradient *gradient = params;
    if (gaussian_is_coarse(gradient->sigma, gradient->truncate))
        return STATUS_OK;
    int radius = gradient->radius = gaussian_radius(gradient->sigma, gradient->truncate);
    size_t taps = 2 * (size_t)radius + 1;
    gradient->weights = allocate_zeroed(2 * taps, sizeof *gradient->weights, "filter weights", error);
    if (!gradient->weights)
        return STATUS_FAILED;
    gaussian_weights(gradient->sigma, radius, gradient->weights);
    gaussian_derivative_weights(gradient->sigma, radius, gradient->weights + taps);
    return STATUS_OK;
}

static void release(void *params)
{
    free(((struct gradient *)params)->weights);
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    const struct gradient *gradient = params;
    if (!gradient->weights)
        return coarse_source_rows(gradient->sigma, in, out);
    return (struct rows){out.begin - gradient->radius, out.end + gradient->radius};
}

static const struct tunable gradient_rows = {.kernel = "gradient_rows", FILTER_ROWS_FORMS},
                            gradient_columns = {.kernel = "gradient_columns",
                                                .wide = {4, {16, 1}},
                                                .wide_images = {8, {16, 1}},
                                                .grouped = {4, {32, 8}},
                                                .grouped_images = {4, {8, 16}}},
                            gradient_both = {.kernel = "gradient", TILE_FORMS(4, 64)};
static const struct tunable *const tunables[] = {&gradient_both, &gradient_rows, &gradient_columns, NULL};
static const struct tuning tunings[] = {{{{"gradient", "2"}}, 1, tunables}, {.tunables = NULL}};

static struct filter gaussian(const struct gradient *gradient)
{
    return (struct filter){gradient->weights, 2 * gradient->radius + 1, -gradient->radius};
}

static enum status gradient_at_once(struct run *run, const struct filter *filter, const struct value *in,
                                    struct value *out, struct error *error)
{
    struct tile tile;
    cl_int keep = shape_alpha(&in->shape);
    if (tile_make(run, "gradient_grouped", &gradient_both, 2, filter, filter, &out->planes[0], &tile,
                  error) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &tile.work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(&out->planes[0]),
                  ARGS_TILE(tile), ARG(keep));
}

static enum status gradient_twice(struct run *run, const struct filter *filter, const struct value *in,
                                  struct value *out, struct error *error)
{
    static const struct filter_passes passes = {"gradient", &gradient_rows, &gradient_columns};
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    struct rows held = {src->first_row, src->first_row + src->rows};
    struct window window = filter_window(filter);
    struct planes half;
    struct weights weights;
    cl_int keep = shape_alpha(&in->shape);
    if (run_weights(run, filter->weights, 2 * (size_t)filter->taps, &weights, error) != STATUS_OK ||
        run_scratch(run, src->width, src->height, held, 2, src->channels, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work rows_work = filter_rows_work(run, &passes, src);
    struct work columns_work = filter_columns_work(run, &passes, dst);
    if (LAUNCH(run->device, &rows_work, error, ARG_PLANES(src), ARG_PLANES(&half), ARG_WEIGHTS(weights),
               ARG(window)) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &columns_work, error, ARG_PLANES(&half), ARG_PLANES(dst), ARG_PLANES(src),
                  ARG_WEIGHTS(weights), ARG(window), ARG(keep));
}

/* The derivatives are those of the interpolation. */
static enum status gradient_coarse(struct run *run, const struct gradient *gradient, const struct value *in,
                                   struct value *out, struct error *error)
{
    const struct planes *dst = &out->planes[0];
    struct coarse coarse;
    struct planes smooth, derived;
    struct resize_table along_y, slope;
    cl_int keep = shape_alpha(&in->shape);
    if (coarse_smooth(run, gradient->sigma, in, out->rows, &coarse, error) != STATUS_OK ||
        coarse_rows(run, &coarse, RESIZE_GAUSSIAN, &smooth, error) != STATUS_OK ||
        coarse_rows(run, &coarse, RESIZE_SLOPE, &derived, error) != STATUS_OK ||
        resize_table(run, &coarse.y, &along_y, error) != STATUS_OK)
        return STATUS_FAILED;
    coarse.y.filter = RESIZE_SLOPE;
    if (resize_table(run, &coarse.y, &slope, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "gradient_coarse", "gradient_coarse", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&smooth), ARG_PLANES(&derived), ARG_PLANES(dst),
                  ARG_PLANES(&in->planes[0]), ARGS_RESIZE_TABLE(along_y), ARGS_RESIZE_TABLE(slope),
                  ARG(keep));
}

static enum status run_gradient(struct run *run, const void *params, const struct value *in,
                                struct value *out, struct error *error)
{
    const struct gradient *gradient = params;
    struct filter filter = gaussian(gradient);
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!gradient->weights)
        return gradient_coarse(run, gradient, in, out, error);
    if (tile_suits(run, &gradient_both, &filter))
        return gradient_at_once(run, &filter, in, out, error);
    return gradient_twice(run, &filter, in, out, error);
}

static bool revalues(const void *params)
{
    (void)params;
    return true;
}

const struct stage stage_gradient = {
    .name = "gradient",
    .brief = "magnitude of the gradient",
    .manual =
        "The length of the gradient of the picture smoothed by a Gaussian: the picture is filtered with the "
        "derivatives of a Gaussian along x and along y, and the two are combined, channel by channel. A step "
        "of full scale gives 0.4 / SIGMA at its middle. Alpha is left as it is.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct gradient),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .check = check,
    .release = release,
    .rows = rows,
    .groups = true,
    .tunings = tunings,
    .revalues = revalues,
    .run = run_gradient,
};
