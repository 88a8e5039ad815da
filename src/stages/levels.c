/* Maps BLACK to 0 and WHITE to 1, then applies gamma (kernels/point.cl):
 *
 *     dst = clip((src - black) / (white - black), 0, 1) ^ (1 / gamma)
 *
 * With `auto`, black and white come from the histogram of the whole picture (filters/histogram.h), before its
 * slices are processed. At most `clip` percent of the samples are below black, and at most as many above
 * white, as in Pillow's ImageOps.autocontrast. Each picture has its own values, so images form no groups
 * then.
 *
 * Unlike most stages this one clips its results, as negative numbers have no real powers. Colour is
 * premultiplied by alpha. Instead of dividing by alpha, the kernel multiplies black and white by it. */
#include "filters/histogram.h"

#include <math.h>

struct levels {
    struct histogram_search_params search; /* must be first */
    double gamma;                          /* above 1 makes midtones lighter */
};

/* Parses "auto" or "BLACK,WHITE". BLACK and WHITE must differ, even after rounding to float. */
static enum status parse_ends(const char *text, void *field, struct error *error)
{
    struct amounts ends;
    const struct amount *black = &ends.items[0], *white = &ends.items[1];
    if (!amounts_parse(text, &ends) || (ends.count != 0 && ends.count != 2) ||
        (ends.count == 2 && black->is_percent == white->is_percent &&
         !(fabsf((float)white->number - (float)black->number) >= 1e-30F)))
        return fail(error, STATUS_USAGE,
                    "expected auto or BLACK,WHITE: two different numbers, as in 10,245 or 5%%,95%%");
    *(struct amounts *)field = ends;
    return STATUS_OK;
}

/* Parses "0.1%" or "0.1", both as percent. */
static enum status parse_clip(const char *text, void *field, struct error *error)
{
    struct amount *clip = field;
    if (!amount_parse(&text, clip) || *text != '\0' || !(clip->number >= 0 && clip->number < 50))
        return fail(error, STATUS_USAGE, "not percent from 0 to less than 50");
    clip->is_percent = true;
    return STATUS_OK;
}

/* Callback option.unused of the keys of auto. */
static const char *auto_unused(const void *params)
{
    return ((const struct levels *)params)->search.given.count == 0 ? NULL : "belongs to auto";
}

static const struct option options[] = {
    {HISTOGRAM_GIVEN, .value = "BLACK,WHITE|auto",
     .help = "what becomes black and what white: sample values (0 to 255 in 8 bit, 0 to 65535 in 16 bit), or "
             "percent of full scale; auto finds them",
     .parse = parse_ends},
    {.name = "gamma",
     .type = OPTION_REAL,
     .offset = offsetof(struct levels, gamma),
     .fallback = "1",
     .min = 0.01,
     .max = 100,
     .value = "G",
     .help = "above 1 makes midtones lighter, below 1 darker"},
    {.name = "clip",
     .type = OPTION_CUSTOM,
     .offset = offsetof(struct levels, search.clip),
     .fallback = "0.1%",
     .value = "P%",
     .help = "auto: share of the samples that may become black, and the same for white",
     .parse = parse_clip,
     .print = amount_print,
     .unused = auto_unused},
    HISTOGRAM_CHANNELS(auto_unused),
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --levels auto clear.png", "as much contrast as there is"},
    {"climg samples/gradient16.png --levels 1000,60000 clear.png",
     "black and white at sample values of 16 bit"},
    {"climg samples/scene.png --levels 5%,90%,gamma=1.4 light.png", "lighter, above all in the middle"},
    {NULL, NULL},
};

static enum status levels_check(void *params, struct error *error)
{
    struct histogram_search_params *search = params;
    (void)error;
    search->find = search->given.count == 0 ? histogram_find_ends : NULL;
    return STATUS_OK;
}

/* Fails if a number and a percentage are the same value, such as 255,100% in 8 bit. */
static enum status levels_shape(const void *params, const struct shape *in, struct shape *out,
                                struct error *error)
{
    const struct levels *levels = params;
    const struct amount *black = &levels->search.given.items[0], *white = &levels->search.given.items[1];
    (void)out;
    if (levels->search.find || amount_value(in, black) != amount_value(in, white))
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "--levels: BLACK and WHITE are the same value, %.6g",
                black->is_percent ? in->zero + (in->full - in->zero) * black->number / 100 : black->number);
}

/* Enqueues the mapping; with auto it may wait for a histogram. Copies channels whose black equals white. */
static enum status run_levels(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    const struct levels *levels = params;
    const struct shape *shape = &in->shape;
    const struct planes *dst = &out->planes[0];
    float ends[8];
    cl_float4 black, gain;
    if (histogram_search(run, params, in, out, ends, error) != STATUS_OK)
        return STATUS_FAILED;
    if (levels->search.find)
        histogram_report(run, "--levels ", shape, ends, 2 * histogram_count(&levels->search, shape));
    for (int c = 0; c < 4; c++) { /* dst = (src - black) * gain */
        const float low =
            levels->search.find ? ends[2 * c] : amount_value(shape, &levels->search.given.items[0]);
        const float high =
            levels->search.find ? ends[2 * c + 1] : amount_value(shape, &levels->search.given.items[1]);
        black.s[c] = low == high ? 0 : low;
        gain.s[c] = low == high ? 1 : 1 / (high - low);
    }
    const cl_float exponent = (cl_float)(1 / levels->gamma);
    const cl_int channels = shape->channels, alpha = shape_alpha(shape);
    struct kernel_launch work = run_work(run, "point", "levels", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(dst), ARG(black),
                  ARG(gain), ARG(exponent), ARG(channels), ARG(alpha));
}

const struct stage stage_levels = {
    .name = "levels",
    .brief = "set black, white and gamma",
    .manual =
        "Maps BLACK to 0 and WHITE to full scale, linearly; values beyond are clipped. For floats BLACK and "
        "WHITE are sample values, and the result is 0 to 1. WHITE below BLACK gives a negative. gamma=G "
        "raises the result to the power of 1/G. Alpha is unchanged.\n\n"
        "auto finds the darkest and lightest values, ignoring clip=P% of the samples at each end; -v and "
        "--report print them. All colours are stretched alike, which keeps their balance; channels=each "
        "stretches each colour separately, which removes a colour cast. Fully transparent pixels do not "
        "count. Integers are counted with 16 bits, floats with 11 significant bits. Large pictures are read "
        "twice, as with --denoise.\n\n"
        "With --linear, numbers and percentages are amounts of light.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct levels),
    .check = levels_check,
    .shape = levels_shape,
    .rows = rows_same,
    .analysis = &histogram_analysis,
    .caps = histogram_caps,
    .run = run_levels,
};
