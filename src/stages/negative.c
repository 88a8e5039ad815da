/* Turns a scanned film negative into a positive (kernels/negative.cl). For each channel
 *
 *     dst = clip(log(base / src) / log(base / dark), 0, 1)
 *
 * is the density of the film above its base, relative to the densest film. It grows with the logarithm of the
 * exposure, as perceived brightness does. The scan's gamma cancels in the ratio: --linear is not needed. */
#include "base/exact.h"
#include "filters/histogram.h"

#include <math.h>

/* Parses "auto", or 1, 2, 3 or 6 amounts above 0: BASE, or BASE and DARK, one for all colours or three. */
static enum status parse_film(const char *text, void *field, struct error *error)
{
    struct amounts *film = field;
    bool is_valid = amounts_parse(text, film) && film->count != 4 && film->count != 5;
    for (int i = 0; i < film->count; i++)
        is_valid = is_valid && film->items[i].number > 0;
    return is_valid ? STATUS_OK
                    : fail(error, STATUS_USAGE,
                           "expected auto, BASE or BASE,DARK, sample values above 0, or three of each");
}

static const struct option options[] = {
    {HISTOGRAM_GIVEN, .fallback = "auto", .optional = true, .value = "BASE|auto", .parse = parse_film,
     .help = "BASE, the film base, becomes black, and optionally DARK, the densest film, becomes white: "
             "sample values or percent, three of each for colour (R,G,B or R,G,B,R,G,B), one for gray"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/negative.jpg --negative positive.jpg", "a frame of colour film"},
    {"climg samples/negative.jpg --crop 90% --negative positive.jpg", "the middle, without the film holder"},
    {"climg samples/negative.jpg --negative=231,150,107 positive.jpg", "with the film base of a roll"},
    {NULL, NULL},
};

/* Enables the histograms unless BASE and DARK are given. The ends of a histogram are DARK and BASE; 0.1% of
 * the samples at each end may be dust and scratches. */
static enum status negative_check(void *params, struct error *error)
{
    struct histogram_search_params *search = params;
    const bool is_complete = search->given.count == 2 || search->given.count == 6;
    (void)error;
    *search = (struct histogram_search_params){
        1, is_complete ? NULL : histogram_find_ends, search->given, {0.1, true}};
    return STATUS_OK;
}

/* Rounds found numbers to the six digits that are reported, so that the reported option gives the same bits.
 * A sample of 0 would have an infinite density. So DARK, if it is found, is at least one count of integers,
 * or 2^-16 of the base for floats. A channel whose base is not above its DARK becomes black. */
static enum status run_negative(struct run *run, const void *params, const struct value *in,
                                struct value *out, struct error *error)
{
    const struct histogram_search_params *search = params;
    const struct amounts *given = &search->given;
    const struct shape *shape = &in->shape;
    const struct planes *dst = &out->planes[0];
    const cl_int channels = shape->channels, alpha = shape_alpha(shape), colours = channels - shape->alpha;
    float found[8] = {0}, film[8]; /* film: BASE of all colours, then DARK of all */
    cl_float4 base = {.s = {0}}, gain = base;
    /* A film holder is black in all colours, and a hole white, unlike the orange base of colour film. */
    bool has_holder = search->find && shape->full > 1,
         has_hole = has_holder && colours == 3 && given->count == 0;
    if (histogram_search(run, params, in, out, found, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int c = 0; c < colours; c++) {
        float *light = &film[c], *dark = &film[colours + c];
        /* A fourth channel that is not alpha has the numbers of the first. */
        const struct amount *item = &given->items[given->count < 3 ? 0 : c % 3];
        *light = given->count > 0 ? amount_value(shape, item) : histogram_round(shape, found[2 * c + 1]);
        const float least = shape->full > 1 ? shape_value(shape, shape->zero + 1) : *light / 65536;
        *dark = search->find ? histogram_round(shape, fmaxf(found[2 * c], least))
                             : amount_value(shape, item + given->count / 2);
        has_holder = has_holder && *dark < 0.01F;
        has_hole = has_hole && *light > 0.99F;
        const double high = exact_log(fmax(*light, 0x1p-126)) / M_LN2,
                     low = exact_log(fmax(*dark, 0x1p-126)) / M_LN2;
        base.s[c] = (cl_float)high;
        gain.s[c] = high > low ? (cl_float)(1 / (high - low)) : 0;
    }
    if (search->find && (colours == 1 || colours == 3)) /* the option has 2 or 6 numbers */
        histogram_report(run, "--negative=", shape, film, 2 * colours);
    for (int i = 0; i < shape->images && colours == 1 && given->count > 2; i++)
        run_warn(
            run, i,
            "--negative has numbers for red, green and blue, but the picture is gray; it takes those of red");
    if (has_holder || has_hole)
        run_warn(run, 0,
                 "the darkest part is as black as a film holder, or the lightest as white as a hole in the "
                 "film; cut these off before --negative, with --crop WxH+X+Y");
    struct kernel_launch work = run_work(run, "negative", "negative", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(dst), ARG(base),
                  ARG(gain), ARG(channels), ARG(alpha));
}

const struct stage stage_negative = {
    .name = "negative",
    .brief = "film negative to positive, by density",
    .manual =
        "Makes a positive of a scanned film negative. Cut the film holder and the sprocket holes off before, "
        "with --crop: next to their black and white, film becomes dark or tinted.\n\n"
        "The result is the density of the film above its base, log(BASE / sample), scaled so that the "
        "densest film is white, for each channel. This removes the orange mask of colour film, and scans "
        "with any gamma give the same result. Alpha stays.\n\n"
        "Without numbers, BASE is the lightest and DARK the darkest sample of each channel, without the "
        "lightest and the darkest 0.1% of them; large pictures are read twice. For all frames of a roll to "
        "have the same colours, give all of them the BASE of a frame that shows unexposed film: -v and "
        "--report print what was found as --negative=R,G,B,R,G,B. --levels after it changes the contrast.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct histogram_search_params),
    .check = negative_check,
    .rows = rows_same,
    .analysis = &histogram_analysis,
    .caps = histogram_caps,
    .run = run_negative,
};
