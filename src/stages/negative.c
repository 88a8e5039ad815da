/* Turns a scanned film negative into a positive (kernels/negative.cl). For each channel
 *
 *     dst = clip(log(base / src) / log(base / dark), 0, 1)
 *
 * is the density above the film base, as a share of the largest one. A film's density grows with the
 * logarithm of the exposure, so the result is, like a print, near the brightness that is seen. The orange
 * mask of colour film is its base and divides out. As all is a ratio of logarithms, a power-law curve of the
 * samples cancels, too: scans with gamma 2.2 and linear ones give the same picture, without --linear.
 *
 * Values that are not given are found in the histogram of each channel (filters/histogram.h), as --levels
 * auto does it. The frames of a roll get the same colours if the numbers of one frame are given for all. */
#include "base/exact.h"
#include "filters/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The film base, then the densest values. Numbers: 0 (auto); 1 or 2, for all colours; 3 or 6. */
struct film_values {
    int count;
    struct amount amounts[6];
};

struct negative {
    struct histogram_search_params search; /* must be first */
    struct film_values given;
};

/* Percent of the samples of a channel beyond each value that is found: dust and scratches. */
static const double CLIP = 0.1;

/* Values that are found are at least one count of integers, and of floats this share of the base: no film is
 * as dense. A 0 would have an infinite density, next to which everything is black. */
static const float DENSEST = 1 / 65536.0F;
static const double LN2 = 0.69314718055994530942;

static enum status parse_film(const char *text, void *field, struct error *error)
{
    struct film_values values = {.count = 0};
    const char *rest = strcmp(text, "auto") == 0 ? "" : text;
    bool more = *rest != '\0', read = true;
    for (; more && read && values.count < 6; values.count++) {
        struct amount *amount = &values.amounts[values.count];
        read = amount_parse(&rest, amount) && amount->number > 0;
        more = *rest == ',';
        rest += more;
    }
    if (!read || more || *rest != '\0' || values.count == 4 || values.count == 5)
        return fail(error, STATUS_USAGE,
                    "expected auto, BASE or BASE,DARK, sample values above 0, or three of each");
    *(struct film_values *)field = values;
    return STATUS_OK;
}

static void print_film(FILE *file, const void *params)
{
    const struct film_values *values = &((const struct negative *)params)->given;
    fputs(values->count == 0 ? "auto" : "", file);
    for (int i = 0; i < values->count; i++) {
        fputs(i > 0 ? "," : "", file);
        amount_print(file, &values->amounts[i]);
    }
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct negative, given),
     .fallback = "auto",
     .optional = true,
     .choices = "auto",
     .value = "BASE|auto",
     .help =
         "the film base, which becomes black, and perhaps the densest film, which becomes white, as sample "
         "values or percent: R,G,B or R,G,B,R,G,B; of gray one or two",
     .parse = parse_film,
     .print = print_film},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/negative.jpg --negative positive.jpg", "a frame of colour film"},
    {"climg samples/negative.jpg --negative=231,150,107 positive.jpg",
     "with the film base of the whole roll"},
    {NULL, NULL},
};

static void find_film(const void *params, const struct histogram *histogram, float found[2])
{
    (void)params;
    histogram_ends(histogram, CLIP, found);
}

static enum status negative_check(void *params, struct error *error)
{
    struct negative *negative = params;
    const int count = negative->given.count;
    (void)error;
    negative->search = (struct histogram_search_params){1, count == 2 || count == 6 ? NULL : find_film};
    return STATUS_OK;
}

/* Rounds a found value to the six digits that report_film prints, so that they give the same bits. */
static float round_end(const struct shape *shape, float value)
{
    char number[32];
    snprintf(number, sizeof number, "%.6g", shape->zero + (shape->full - shape->zero) * (double)value);
    return shape_value(shape, strtod(number, NULL));
}

/* Adds the values that were found to -v and --report, as an argument, once for each page. */
static void report_film(struct run *run, const struct shape *shape, const float ends[8])
{
    const int colours = shape->channels - shape->alpha;
    char text[sizeof run->results.text] = "--negative=";
    for (int i = 0; i < 2 * colours; i++) /* the ends of a channel are in ascending order */
        text_append(text, sizeof text, "%s%.6g", i > 0 ? "," : "",
                    shape->zero +
                        (shape->full - shape->zero) * (double)ends[i % colours * 2 + (i < colours)]);
    if (!strstr(run->results.text, text))
        text_append(run->results.text, sizeof run->results.text, "%s%s", run->results.text[0] ? "; " : "",
                    text);
}

/* Enqueues the mapping; it may wait for a histogram. A channel without density becomes black. */
static enum status run_negative(struct run *run, const void *params, const struct value *in,
                                struct value *out, struct error *error)
{
    const struct negative *negative = params;
    const struct film_values *given = &negative->given;
    const struct shape *shape = &in->shape;
    const cl_int channels = shape->channels, alpha = shape_alpha(shape);
    const struct planes *dst = &out->planes[0];
    float ends[8] = {0}; /* of each channel: the densest value, the base */
    cl_float4 base, gain;
    enum status status = negative->search.find ? histogram_search(run, params, in, ends, error) : STATUS_OK;
    for (int c = 0; c < 4 && status == STATUS_OK; c++) {
        const int colour = given->count < 3 || c == 3 ? 0 : c;
        if (given->count > 0)
            ends[2 * c + 1] = amount_value(shape, &given->amounts[colour]);
        else
            ends[2 * c + 1] = round_end(shape, ends[2 * c + 1]);
        if (negative->search.find)
            ends[2 * c] =
                round_end(shape, fmaxf(ends[2 * c], shape->full > 1 ? shape_value(shape, shape->zero + 1)
                                                                    : DENSEST * ends[2 * c + 1]));
        else
            ends[2 * c] = amount_value(shape, &given->amounts[given->count / 2 + colour]);
        const double high = exact_log(fmax((double)ends[2 * c + 1], 0x1p-126)) / LN2,
                     low = exact_log(fmax((double)ends[2 * c], 0x1p-126)) / LN2;
        base.s[c] = (cl_float)high;
        gain.s[c] = high > low ? (cl_float)(1 / (high - low)) : 0;
    }
    if (status == STATUS_OK)
        status = run_output(run, out, error);
    if (status != STATUS_OK)
        return status;
    if (negative->search.find)
        report_film(run, shape, ends);
    struct work work = run_work(run, "negative", "negative", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(dst), ARG(base),
                  ARG(gain), ARG(channels), ARG(alpha));
}

static struct stage_caps negative_caps(const void *params)
{
    const struct negative *negative = params;
    return (struct stage_caps){.groups = !negative->search.find,
                               .new_values = true,
                               .has_suspect_fraction = negative->given.count > 0 &&
                                                       amount_is_fraction(&negative->given.amounts[0])};
}

const struct stage stage_negative = {
    .name = "negative",
    .brief = "film negative to positive, by density",
    .manual = "Makes a positive of a scanned film negative: the logarithm of BASE / sample, as a share of "
              "its largest value, for each channel. So the orange mask of colour film disappears, and scans "
              "with any gamma give the same. Alpha is unchanged.\n\n"
              "Without numbers the lightest sample of each channel, ignoring 0.1% of them, is the film base "
              "and the darkest one becomes white. Crop the holder and the sprocket holes off before. For the "
              "frames of a roll to have the same colours, give the base of one that shows unexposed film to "
              "all: -v and --report print --negative=R,G,B,R,G,B, the base and the densest values that were "
              "found. --levels after it changes contrast and gamma. Large pictures are read twice.",
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
