#include "filters/gaussian.h"

struct gradient {
    double sigma, truncate;
    struct gaussian gaussian;
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
    return gaussian_make(gradient->sigma, gradient->truncate, &gradient->gaussian, error);
}

static void release(void *params)
{
    gaussian_free(&((struct gradient *)params)->gaussian);
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    return gaussian_source_rows(&((const struct gradient *)params)->gaussian, in, out);
}

static enum status run_gradient(struct run *run, const void *params, const struct value *in,
                                struct value *out, struct error *error)
{
    return gaussian_gradient(run, &((const struct gradient *)params)->gaussian, in, out, error);
}

static struct traits traits(const void *params)
{
    struct traits traits = product_traits(params);
    traits.revalues = true;
    return traits;
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
    .traits = traits,
    .run = run_gradient,
};
