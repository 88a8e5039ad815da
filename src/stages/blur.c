#include "filters/gaussian.h"

struct blur {
    double sigma, truncate;
    struct gaussian gaussian;
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
    return gaussian_make(blur->sigma, blur->truncate, &blur->gaussian, error);
}

static void release(void *params)
{
    gaussian_free(&((struct blur *)params)->gaussian);
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    return gaussian_source_rows(&((const struct blur *)params)->gaussian, in, out);
}

static enum status run_blur(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct blur *blur = params;
    return gaussian_blur(run, &blur->gaussian, &finish_copy, in, out, error);
}

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
    .traits = product_traits,
    .run = run_blur,
};
