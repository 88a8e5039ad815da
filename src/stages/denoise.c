#include "filters/dtcwt.h"
#include "filters/shrink.h"

struct denoise {
    double sigma; /* 8-bit counts; NAN: estimate */
    int levels;
};

static void print_sigma(FILE *file, const void *params)
{
    shrink_print_sigma(file, ((const struct denoise *)params)->sigma);
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct denoise, sigma),
     .fallback = "auto",
     .value = "SIGMA",
     .optional = true,
     .help = "standard deviation of the noise in 8-bit counts (1/255 of full scale), 0 to 255; "
             "auto estimates it",
     .parse = shrink_parse_sigma,
     .print = print_sigma},
    {.name = "levels",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct denoise, levels),
     .fallback = "6",
     .min = 1,
     .max = MAX_LEVELS,
     .value = "N",
     .help = "levels of the wavelet transform; more for coarser noise"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --denoise clean.png", "remove noise of a strength that is found out"},
    {"climg samples/gradient16.png --denoise=8 --scale 2 clean.png", "remove known noise, then enlarge"},
    {NULL, NULL},
};

/* The wavelet transform's own limit, found without allocating anything. */
static enum status shape(const void *params, const struct shape *in, struct shape *out, struct error *error)
{
    int levels = ((const struct denoise *)params)->levels, most = dtcwt_max_levels(in->width, in->height);
    (void)out;
    if (levels > most)
        return fail(error, STATUS_FAILED,
                    "--denoise: levels=%d: an image of %dx%d pixels has at most %d levels", levels, in->width,
                    in->height, most);
    return STATUS_OK;
}

static enum status run_denoise(struct run *run, const void *params, const struct value *in, struct value *out,
                               struct error *error)
{
    const struct denoise *denoise = params;
    struct value noisy = {.shape = in->shape, .rows = in->rows};
    noisy.shape.kind = KIND_PYRAMID;
    noisy.shape.levels = denoise->levels;
    struct value clean = {.shape = noisy.shape, .rows = noisy.rows};
    enum status status = dtcwt_forward(run, in, &noisy, error);
    if (status == STATUS_OK)
        status = shrink_pyramid(run, denoise->sigma / 255, &noisy, &clean, error);
    value_release_except(run, &noisy, &clean);
    if (status == STATUS_OK)
        status = dtcwt_inverse(run, &clean, out, error);
    value_release(run, &clean);
    return status;
}

const struct stage stage_denoise = {
    .name = "denoise",
    .brief = "remove noise, keep detail",
    .manual =
        "The same as --wavelet=N --shrink=SIGMA --inverse-wavelet; --help=shrink tells how it works. It is "
        "made "
        "for noise that is equally strong everywhere and has no pattern, as of a scanner or a camera sensor, "
        "before anything else was done to the picture.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct denoise),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .shape = shape,
    .run = run_denoise,
};
