#include "engine/run.h"
#include "filters/gaussian.h"
#include "filters/separable.h"

#include <stdlib.h>

struct gradient {
    double sigma;
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
    int radius = gradient->radius = gaussian_radius(gradient->sigma, 4);
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
    (void)in;
    return (struct rows){out.begin - gradient->radius, out.end + gradient->radius};
}

static const struct tunable gradient_rows = {.kernel = "gradient_rows",
                                             .wide_images = {8, {16, 1}},
                                             .grouped = {1, {64, 2}},
                                             .grouped_images = {8, {1, 64}}};
static const struct tunable gradient_columns = {.kernel = "gradient_columns",
                                                .wide = {4, {16, 1}},
                                                .wide_images = {8, {16, 1}},
                                                .grouped = {4, {32, 8}},
                                                .grouped_images = {4, {8, 16}}};
static const struct tunable *const tunables[] = {&gradient_rows, &gradient_columns, NULL};
static const struct tuning tunings[] = {{{{"gradient", "2"}}, 1, tunables}, {.tunables = NULL}};

static enum status run_gradient(struct run *run, const void *params, const struct value *in,
                                struct value *out, struct error *error)
{
    const struct gradient *gradient = params;
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    struct rows held = {src->first_row, src->first_row + src->rows};
    struct filter filter = {gradient->weights, 2 * gradient->radius + 1, -gradient->radius, 1};
    struct filter_kernels kernels = {"gradient", &gradient_rows, &gradient_columns, 2,
                                     shape_alpha(&in->shape)};
    struct planes half;
    struct weights weights;
    struct work work;
    if (run_weights(run, gradient->weights, 2 * (size_t)filter.taps, &weights, error) != STATUS_OK ||
        run_scratch(run, src->width, src->height, held, 2, src->channels, &half, error) != STATUS_OK ||
        run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    filter_work(run, &filter, &kernels, true, src, &work);
    if (LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&half), ARG_WEIGHTS(weights)) !=
        STATUS_OK)
        return STATUS_FAILED;
    filter_work(run, &filter, &kernels, false, dst, &work);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&half), ARG_PLANES(dst), ARG_PLANES(src),
                  ARG_WEIGHTS(weights));
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
    .run = run_gradient,
};
