/* Removes noise: options and capabilities; the work is in wavelet/denoise.h.
 *
 *     dual-tree transform -> bivariate shrinkage (--shrink) -> inverse transform, each level in strips
 *     quality=high        -> and 8x8 cosine transforms, shrunk by signal and noise of the first result
 *
 * The pipeline converts three colours to brightness and two differences before the stage (caps.opponent),
 * and on CPU devices the stage processes a slice in tiles (caps.tiles), which saves planes of all columns.
 * Without SIGMA the noise is estimated in a pass over the whole picture (denoise_analysis). The picture must
 * be large enough for the levels.
 *
 * Relative costs are measured: 12 times --blur 2, 30 times with quality=high. The second step gains 0.2 dB
 * for white noise, 0.1 on real pairs. docs/denoising.md compares the results with other programs';
 * docs/performance.md has what tiles and slices gain. */
#include "wavelet/denoise.h"

#include <string.h>

/* Parses SIGMA or "auto". For a choice of quality= the message suggests that key. */
static enum status denoise_parse_sigma(const char *text, void *field, struct error *error)
{
    if (strcmp(text, "high") == 0 || strcmp(text, "normal") == 0)
        return fail(error, STATUS_USAGE, "not a number; did you mean quality=%s?", text);
    return shrink_parse_sigma(text, field, error);
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct denoise, sigma),
     .fallback = "auto",
     .value = "SIGMA",
     .optional = true,
     .help =
         "standard deviation of the noise in 8-bit counts (1/255 of full scale), 0 to 255; auto estimates it",
     .parse = denoise_parse_sigma,
     .print = shrink_print_sigma},
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
    {"climg samples/night.jpg --denoise clean.jpg", "remove noise of unknown strength"},
    {"climg samples/gradient16.png --denoise=8 --scale 2 clean.png", "remove known noise, then enlarge"},
    {"climg samples/noisy.png --denoise=20,quality=high clean.png", "more slowly, with less noise left"},
    {NULL, NULL},
};

/* Fails if the picture is too small for the number of levels. */
static enum status denoise_shape(const void *params, const struct shape *in, struct shape *out,
                                 struct error *error)
{
    int levels = ((const struct denoise *)params)->levels,
        max_levels = dtcwt_max_levels(in->width, in->height);
    (void)out;
    if (levels > max_levels)
        return fail(error, STATUS_FAILED,
                    "--denoise: levels=%d: an image of %dx%d pixels allows at most %d levels", levels,
                    in->width, in->height, max_levels);
    return STATUS_OK;
}

/* Uses one level less for subsampled chroma, so that its coarsest detail is as large as luma's. */
static enum status denoise_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct denoise *denoise = params;
    (void)error;
    denoise->levels -= chroma->across > 1 && denoise->levels > 1;
    return STATUS_OK;
}

/* Six levels reach up to 818 rows above and below, hence large_halo. */
static struct stage_caps denoise_caps(const void *params)
{
    const struct denoise *denoise = params;
    return (struct stage_caps){.large_halo = true,
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
        "Without SIGMA the noise is estimated from smooth areas: for each size of detail, in brightness and "
        "in colour, and for dark, middle and bright areas. Areas that are clipped, transparent or of one "
        "colour do not count. This suits photographs from cameras and phones, also JPEG, and plain white "
        "noise. -v and --report print the estimate. --denoise=strength=1.3 smooths more, "
        "--denoise=strength=0.7 less. With SIGMA the noise is assumed to be white: equally strong everywhere "
        "and at every size of detail.\n\n"
        "quality=high adds a second step: 8x8 cosine transforms at every second pixel are shrunk by signal "
        "and noise as the first result shows them. It takes about twice as long, and gains 0.2 dB for white "
        "noise and 0.1 dB for photographs.\n\n"
        "In video (Y4M) the noise of brightness and of colour is measured in the first frame and in every "
        "24th after it; if it were measured in each frame, it would change slightly, and the result would "
        "flicker. A "
        "frame of one colour keeps the noise of earlier frames.\n\n"
        "Three colours are treated as brightness and colour differences. A colour that is constant stays as "
        "it is. If the noise of the colours differs by more than a factor of four, each is denoised by "
        "itself. NaN and infinities stay what they are and do not spread.\n\n"
        "Large pictures are processed in slices, after a first pass over the whole picture; in between its "
        "rows are kept in a temporary file (TMPDIR).",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct denoise),
    .shape = denoise_shape,
    .rows = denoise_rows,
    .analysis = &denoise_analysis,
    .caps = denoise_caps,
    .adapt_to_chroma = denoise_adapt_to_chroma,
    .run = denoise_run,
};
