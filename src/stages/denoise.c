#include "filters/dtcwt.h"
#include "filters/shrink.h"

#include <math.h>

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

static bool sees_all(const void *params)
{
    return isnan(((const struct denoise *)params)->sigma);
}

/* With --wavelet's own filters, whichever an inverse transform came from before. */
static struct shape pyramid_shape(const struct denoise *denoise, const struct shape *image)
{
    struct shape pyramid = *image;
    pyramid.kind = KIND_PYRAMID;
    pyramid.levels = denoise->levels;
    pyramid.biort = 0;
    pyramid.qshift = 0;
    return pyramid;
}

static struct dtcwt_rows needed_rows(const struct denoise *denoise, const struct shape *pyramid,
                                     struct rows out)
{
    struct dtcwt_rows needed;
    dtcwt_inverse_rows(pyramid, sees_all(denoise) ? rows_whole(pyramid->height) : out, &needed);
    shrink_rows(pyramid, &needed);
    dtcwt_forward_rows(pyramid, &needed);
    return needed;
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    struct shape pyramid = pyramid_shape(params, in);
    return needed_rows(params, &pyramid, out).image;
}

/* From `image` to `out`, whose planes are allocated here. */
static enum status there_and_back(struct run *run, const struct denoise *denoise, const struct value *image,
                                  struct value *out, struct error *error)
{
    struct value noisy = {.shape = pyramid_shape(denoise, &image->shape), .rows = out->rows};
    struct dtcwt_rows needed = needed_rows(denoise, &noisy.shape, out->rows);
    struct noise noise;
    enum status status = dtcwt_forward(run, image, &needed, &noisy, error);
    if (status == STATUS_OK)
        status = noise_find(run, denoise->sigma / 255, &noisy.shape, &noisy.planes[1], &noise, error);
    if (status == STATUS_OK)
        status = shrink_inverse(run, &noise, &noisy, out, error);
    value_release(run, &noisy);
    return status;
}

/* The image in the other colours, in planes of its own. */
static enum status change_colours(struct run *run, bool back, const struct value *in, struct value *out,
                                  struct error *error)
{
    enum status status = run_output(run, out, error);
    if (status == STATUS_OK)
        status = opponent_colours(run, &in->shape, back, &in->planes[0], &out->planes[0], error);
    return status;
}

/* The matrix of opponent colours commutes with the transform: it is cheaper on the image than on all
 * subbands, and costs nothing where samples are unpacked and packed. */
static enum status run_denoise(struct run *run, const void *params, const struct value *in, struct value *out,
                               struct error *error)
{
    struct value noisy = *in, clean = *out;
    bool colour = shape_is_colour(&in->shape), before = colour && !in->opponent,
         after = colour && !out->opponent;
    enum status status = before ? change_colours(run, false, in, &noisy, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = there_and_back(run, params, &noisy, after ? &clean : out, error);
    if (before)
        planes_release(&run->pool, &noisy.planes[0]);
    if (status == STATUS_OK && after)
        status = change_colours(run, true, &clean, out, error);
    if (after)
        planes_release(&run->pool, &clean.planes[0]);
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
    .rows = rows,
    .sees_all = sees_all,
    .deep = true,
    .opponent = true,
    .groups = true,
    .run = run_denoise,
};
