#include "wavelet/denoise.h"

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
    {.name = "strength",
     .type = OPTION_REAL,
     .offset = offsetof(struct denoise, strength),
     .fallback = "1",
     .max = 10,
     .value = "F",
     .help = "multiplies SIGMA, or the estimated noise; more smooths more"},
    {.name = "quality",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct denoise, high),
     .fallback = "normal",
     .choices = "normal|high",
     .help = "high takes about twice as long, and leaves less noise"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --denoise clean.png", "remove noise of unknown strength"},
    {"climg samples/gradient16.png --denoise=8 --scale 2 clean.png", "remove known noise, then enlarge"},
    {"climg samples/noisy.png --denoise=20,quality=high clean.png", "more slowly, with less noise left"},
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

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    return denoise_rows(params, in, out);
}

/* The coarsest level is to be of the same size. */
static enum status coarsen(void *params, const struct chroma *chroma, struct error *error)
{
    struct denoise *denoise = params;
    (void)error;
    denoise->levels -= chroma->across > 1 && denoise->levels > 1;
    return STATUS_OK;
}

static enum status denoise_tile(struct run *run, const void *params, const struct tile *tile,
                                const struct value *in, struct value *out, struct error *error)
{
    return denoise_image(run, params, tile, in, out, error);
}

static struct rows columns(const void *params, const struct shape *image, struct rows out)
{
    return denoise_columns(params, image, out);
}

static enum status run_denoise(struct run *run, const void *params, const struct value *in, struct value *out,
                               struct error *error)
{
    const struct tiling tiling = {params, columns, denoise_tile};
    bool at_once = denoise_wants_survey(params, &in->shape) && !run_finding(run, params);
    return tiles_run(run, &tiling, at_once, in, out, error);
}

static bool wants_survey(const void *params, const struct shape *in)
{
    return denoise_wants_survey(params, in);
}

static struct rows survey_rows(const void *params, const struct shape *in, struct rows part)
{
    return denoise_survey_rows(params, in, part);
}

static enum status survey_begin(struct run *run, const void *params, const struct shape *in,
                                struct finding *finding, struct error *error)
{
    return denoise_survey_begin(run, params, in, finding, error);
}

static enum status survey_take(struct run *run, const void *params, const struct value *in, struct rows part,
                               struct finding *finding, struct error *error)
{
    return denoise_survey_take(run, params, in, part, finding, error);
}

static enum status survey_end(struct run *run, const void *params, const struct shape *in,
                              struct finding *finding, struct error *error)
{
    return denoise_survey_end(run, params, in, finding, error);
}

static const struct survey survey = {wants_survey, survey_rows, survey_begin, survey_take, survey_end};

static struct traits traits(const void *params)
{
    const struct denoise *denoise = params;
    return (struct traits){.deep = true,
                           .tiles = true,
                           .opponent = true,
                           .groups = true,
                           .relative_cost = denoise->high ? 30 : 12};
}

const struct stage stage_denoise = {
    .name = "denoise",
    .brief = "remove noise, keep detail",
    .manual =
        "Splits the picture into detail of several sizes and directions (--help=wavelet), weakens detail "
        "that is no stronger than noise, judged together with its neighbours, and reconstructs the picture "
        "(--help=shrink).\n\n"
        "Without SIGMA the noise is estimated for each size of detail, in brightness and in colour, from "
        "flat places. This suits photographs from cameras and phones, also JPEG, and plain white noise. -v "
        "and --report print the estimate. strength=1.3 smooths more, strength=0.7 less. With SIGMA the "
        "noise is assumed to be white: equally strong everywhere and at every size of detail.\n\n"
        "quality=high adds a second step: 8x8 cosine transforms at every second pixel are shrunk by signal "
        "and noise as the first result shows them. It takes about twice as long, and gains 0.2 dB for "
        "white noise.\n\n"
        "Of video (Y4M) the noise is found in the first frame, in brightness and in colour, and then once "
        "in 24 frames: what is found in each frame would differ a little, and flicker.\n\n"
        "Large pictures are processed in slices, after a first pass over the whole picture; in between its "
        "rows are kept in a temporary file (TMPDIR).",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct denoise),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .shape = shape,
    .rows = rows,
    .survey = &survey,
    .traits = traits,
    .coarsen = coarsen,
    .run = run_denoise,
};
