#include "engine/run.h"
#include "filters/coarse.h"
#include "filters/gaussian.h"
#include "filters/separable.h"

#include <stdlib.h>

struct blur {
    double sigma, truncate;
    struct filter filter;
    float *weights;
};

static const struct option options[] = {
    {.type = OPTION_REAL,
     .offset = offsetof(struct blur, sigma),
     .min = 0.05,
     .max = 1000,
     .value = "SIGMA",
     .help = "standard deviation in pixels"},
    {.name = "truncate",
     .type = OPTION_REAL,
     .offset = offsetof(struct blur, truncate),
     .fallback = "0",
     .max = 20,
     .value = "N",
     .help = "cut the filter off at N standard deviations; 0: nowhere"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --blur 2 blurred.png", "soften a picture"},
    {"climg samples/soft-alpha.png --blur 4,truncate=3 soft.png",
     "a shorter, faster filter; nothing bleeds out of "
     "transparent pixels"},
    {NULL, NULL},
};

static enum status check(void *params, struct error *error)
{
    struct blur *blur = params;
    if (gaussian_is_coarse(blur->sigma, blur->truncate))
        return STATUS_OK;
    int radius = gaussian_radius(blur->sigma, blur->truncate);
    blur->weights = allocate_zeroed(2 * (size_t)radius + 1, sizeof *blur->weights, "filter weights", error);
    if (!blur->weights)
        return STATUS_FAILED;
    gaussian_weights(blur->sigma, radius, blur->weights);
    blur->filter = (struct filter){blur->weights, 2 * radius + 1, -radius};
    return STATUS_OK;
}

static void release(void *params)
{
    free(((struct blur *)params)->weights);
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    const struct blur *blur = params;
    return blur->weights ? filter_source_rows(&blur->filter, out) : coarse_source_rows(blur->sigma, in, out);
}

static bool reads_samples(const void *params)
{
    const struct blur *blur = params;
    return !blur->weights || blur->filter.taps <= FILTER_READS_TAPS;
}

static bool writes_samples(const void *params)
{
    (void)params;
    return true;
}

static enum status blur_coarse(struct run *run, const struct blur *blur, const struct value *in,
                               struct value *out, struct error *error)
{
    if (!out->raster && run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct planes dst = value_planes(out);
    return coarse_blur(run, blur->sigma, in, &dst, out->raster, error);
}

static enum status run_blur(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct blur *blur = params;
    if (!blur->weights)
        return blur_coarse(run, blur, in, out, error);
    return filter_separable(run, &blur->filter, &blur->filter, -1, in, out, error);
}

static const struct tunable *const tunables[] = {&tunable_filter_both, &tunable_filter_rows,
                                                 &tunable_filter_columns, NULL};
static const struct tuning tunings[] = {{{{"blur", "2"}}, 1, tunables}, {.tunables = NULL}};

const struct stage stage_blur = {
    .name = "blur",
    .brief = "Gaussian blur",
    .manual =
        "Smooths with a sampled, normalised Gaussian along x and along y, whatever its width: to 1e-5 "
        "of full scale the one that nothing is cut off from. From SIGMA 6 on it runs on a coarser grid, "
        "where the time grows far less than SIGMA. With truncate=N it is the filter of radius floor(N * "
        "SIGMA + 0.5) itself, the convention of "
        "scipy.ndimage.gaussian_filter, where N is 4. Pixels beyond the border follow --edge.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct blur),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .check = check,
    .release = release,
    .rows = rows,
    .reads_samples = reads_samples,
    .writes_samples = writes_samples,
    .groups = true,
    .tunings = tunings,
    .run = run_blur,
};
