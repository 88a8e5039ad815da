/* Turns a scanned film negative into a positive (kernels/negative.cl). For each channel
 *
 *     dst = clip(log(base / src) / log(base / dark), 0, 1)
 *
 * is the density of the film above its base, relative to the density of `dark`. `base` is the sample value of
 * unexposed film, `dark` the value of the densest film. A film's density grows with the logarithm of the
 * exposure, so the result is close to perceived brightness, like a print. Dividing by the base removes the
 * orange mask of colour film. A power-law curve of the samples cancels in the ratio of logarithms: scans with
 * gamma 2.2 and linear ones give the same picture, without --linear. */
#include "base/exact.h"
#include "filters/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct negative {
    struct histogram_search_params search; /* must be first */
    /* BASE, or BASE,DARK: one amount of each for all colours, or three for red, green and blue (R,G,B, or
     * R,G,B,R,G,B). Without DARK it is found in the histogram, without any amount (auto) both are. */
    struct amounts film;
};

/* Parses "auto", or 1, 2, 3 or 6 amounts above 0. */
static enum status parse_film(const char *text, void *field, struct error *error)
{
    struct amounts film = {.count = 0};
    bool is_valid = amounts_parse(text, &film);
    for (int i = 0; i < film.count; i++)
        is_valid = is_valid && film.items[i].number > 0;
    if (!is_valid || film.count == 4 || film.count == 5)
        return fail(error, STATUS_USAGE,
                    "expected auto, BASE or BASE,DARK, sample values above 0, or three of each");
    *(struct amounts *)field = film;
    return STATUS_OK;
}

static void print_film(FILE *file, const void *params)
{
    amounts_print(file, &((const struct negative *)params)->film);
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct negative, film),
     .fallback = "auto",
     .optional = true,
     .choices = "auto",
     .value = "BASE|auto",
     .parse = parse_film,
     .print = print_film,
     .help = "BASE, the film base, becomes black, and optionally DARK, the densest film, becomes white: "
             "sample values or percent, three of each for colour (R,G,B or R,G,B,R,G,B), one for gray"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/negative.jpg --negative positive.jpg", "a frame of colour film"},
    {"climg samples/negative.jpg --crop 90% --negative positive.jpg",
     "the middle of a scan, without the film holder"},
    {"climg samples/negative.jpg --negative=231,150,107 positive.jpg",
     "with the film base of the whole roll"},
    {NULL, NULL},
};

/* Finds the densest value, then the base, of a channel: the ends of its histogram. Ignores 0.1% of the
 * samples at each end, which may be dust and scratches. */
static void find_film(const void *params, const struct histogram *histogram, float dark_and_base[2])
{
    (void)params;
    histogram_ends(histogram, 0.1, dark_and_base);
}

/* Enables the histogram of each channel, unless the user gave BASE and DARK. */
static enum status negative_check(void *params, struct error *error)
{
    struct negative *negative = params;
    const int count = negative->film.count;
    (void)error;
    negative->search = (struct histogram_search_params){1, count == 2 || count == 6 ? NULL : find_film};
    return STATUS_OK;
}

/* Enqueues the kernel. Waits for the histograms if numbers must be found.
 *
 * Rounds found numbers to the six digits that are reported, so that the reported option gives the same bits.
 * A sample of 0 would have an infinite density. So DARK, if it is found, is at least one count of integers,
 * or 2^-16 of the base for floats. A channel whose base is not above its DARK becomes black. */
static enum status run_negative(struct run *run, const void *params, const struct value *in,
                                struct value *out, struct error *error)
{
    const struct negative *negative = params;
    const struct amounts *film = &negative->film;
    const struct shape *shape = &in->shape;
    const struct planes *dst = &out->planes[0];
    const double scale = shape->full - shape->zero;
    const cl_int channels = shape->channels, alpha = shape_alpha(shape), colours = channels - shape->alpha;
    float found[8] = {0};                  /* by find_film: DARK of channel c at 2 c, BASE at 2 c + 1 */
    double values[8] = {0}, logs[8] = {0}; /* BASE of all channels, then DARK of all; logarithms to base 2 */
    char report[sizeof run->results.text] = "--negative=";
    cl_float4 base = {.s = {0}}, gain = base;
    /* If numbers are found in integers: the scan shows a film holder if every DARK is below 1% of full scale,
     * and a hole in the film if every BASE is above 99%. The latter is tested for colour only, as the base of
     * colour film is orange. */
    bool has_holder = negative->search.find && shape->full > 1,
         has_hole = has_holder && colours == 3 && film->count == 0;
    enum status status = negative->search.find ? histogram_search(run, params, in, found, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = run_output(run, out, error);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < 2 * colours; i++) {
        /* A fourth channel that is not alpha has the numbers of the first. */
        const int c = i % colours, is_base = i < colours, item = film->count < 3 || c == 3 ? 0 : c;
        if (is_base ? film->count > 0 : !negative->search.find) {
            values[i] = amount_value(shape, &film->items[(is_base ? 0 : film->count / 2) + item]);
        } else {
            char number[32];
            const float least = is_base           ? -INFINITY
                                : shape->full > 1 ? shape_value(shape, shape->zero + 1)
                                                  : (float)values[c] / 65536;
            snprintf(number, sizeof number, "%.6g",
                     shape->zero + scale * (double)fmaxf(found[2 * c + is_base], least));
            values[i] = shape_value(shape, strtod(number, NULL));
        }
        has_holder = has_holder && (is_base || values[i] < 0.01);
        has_hole = has_hole && (!is_base || values[i] > 0.99);
        logs[i] = exact_log(fmax(values[i], 0x1p-126)) / M_LN2;
        text_append(report, sizeof report, "%s%.6g", i > 0 ? "," : "", shape->zero + scale * values[i]);
    }
    for (int c = 0; c < colours; c++) {
        base.s[c] = (cl_float)logs[c];
        gain.s[c] = logs[c] > logs[colours + c] ? (cl_float)(1 / (logs[c] - logs[colours + c])) : 0;
    }
    if (negative->search.find && (colours == 1 || colours == 3)) /* the option has 2 or 6 numbers */
        run_report(run, report);
    const int warnings = colours == 1 && film->count > 2 ? shape->images : 0;
    for (int i = 0; i < warnings; i++)
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

static struct stage_caps negative_caps(const void *params)
{
    const struct negative *negative = params;
    return (struct stage_caps){.groups = !negative->search.find,
                               .new_values = true,
                               .has_suspect_fraction =
                                   negative->film.count > 0 && amount_is_fraction(&negative->film.items[0]),
                               .largest_value = amounts_largest(&negative->film)};
}

const struct stage stage_negative = {
    .name = "negative",
    .brief = "film negative to positive, by density",
    .manual =
        "Makes a positive of a scanned film negative. Cut the film holder and the sprocket holes off "
        "before, with --crop: next to their black and white, film becomes dark or tinted.\n\n"
        "The result is the logarithm of BASE / sample, as a share of its largest value, for each "
        "channel. So the orange mask of colour film disappears, and scans with any gamma give the "
        "same. Alpha is unchanged.\n\n"
        "Without numbers, BASE is the lightest and DARK the darkest sample of each channel, without the "
        "lightest and the darkest 0.1% of them. For all frames of a roll to have the same colours, give "
        "all of them the BASE of a frame that shows unexposed film: -v and --report print "
        "--negative=R,G,B,R,G,B, the BASE and DARK that were found. --levels after it changes contrast "
        "and gamma. Large pictures are read twice.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct negative),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .check = negative_check,
    .rows = rows_same,
    .analysis = &histogram_analysis,
    .caps = negative_caps,
    .run = run_negative,
};
