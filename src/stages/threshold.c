/* Sets samples above a threshold V to full scale, others to 0 (kernels/point.cl).
 *
 * `otsu` finds V in the histogram of the whole picture (filters/histogram.h). It maximises the variance
 * between the two classes, with weights w and means m:
 *
 *     w0 * w1 * (m0 - m1)^2
 *
 * N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on Systems, Man, and
 * Cybernetics 9 (1979). One pass over the bins with running sums tries each split between two values that
 * occur. V is halfway between these two, so that rounding of samples does not move one across it.
 *
 * Groups are not possible with otsu, because each picture has its own V. With alpha, V is multiplied by alpha
 * instead of dividing colour, which is premultiplied. */
#include "filters/histogram.h"

#include <math.h>
#include <string.h>

/* V. */
struct limit {
    bool otsu;            /* find it */
    struct amount amount; /* if not otsu */
};

struct threshold {
    struct histogram_search_params search; /* must be first */
    struct limit limit;
};

/* Parses "otsu", "128" or "50%". */
static enum status parse_limit(const char *text, void *field, struct error *error)
{
    struct limit limit = {.otsu = strcmp(text, "otsu") == 0};
    if (!limit.otsu && (!amount_parse(&text, &limit.amount) || *text != '\0'))
        return fail(error, STATUS_USAGE, "not otsu, a number or percent");
    *(struct limit *)field = limit;
    return STATUS_OK;
}

/* Prints "otsu", or V as a number or percent. */
static void print_limit(FILE *file, const void *params)
{
    const struct limit *limit = &((const struct threshold *)params)->limit;
    if (limit->otsu)
        fputs("otsu", file);
    else
        amount_print(file, &limit->amount);
}

/* Callback `unused` of keys that only otsu has. */
static const char *needs_otsu(const void *params)
{
    return ((const struct threshold *)params)->limit.otsu ? NULL : "belongs to otsu";
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct threshold, limit),
     .choices = "otsu",
     .value = "V|otsu",
     .help = "what is above becomes white: a number of samples (0 to 255 of 8 bit, 65535 of 16 bit), or "
             "percent of full scale; otsu finds it",
     .parse = parse_limit,
     .print = print_limit},
    HISTOGRAM_CHANNELS(needs_otsu),
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/page.jpg --gray --threshold 50% page.png", "black and white, nothing between"},
    {"climg samples/cells.png --gray --threshold otsu mask.png", "objects and background"},
    {NULL, NULL},
};

/* Returns the largest float that is at most `value`. */
static float float_below(double value)
{
    const float nearest = (float)value;
    return (double)nearest > value ? nextafterf(nearest, -HUGE_VALF) : nearest;
}

/* Finds Otsu's threshold, halfway between the two values that it separates. */
static void find_otsu(const void *params, const struct histogram *histogram, float found[2])
{
    double sum = 0, below = 0, sum_below = 0, best = -1, last = 0;
    bool split = false; /* the best threshold so far is between the last value and the next one */
    (void)params;
    /* First pass: the sum of all values. */
    for (int bin = 0; bin < histogram->bins; bin++)
        if (histogram->counts[bin] > 0)
            sum += (double)histogram->counts[bin] * histogram_value(histogram, bin);
    found[0] = found[1] = HUGE_VALF; /* a picture of one value has nothing above */
    /* Second pass: each split between two values that occur. */
    for (int bin = 0; bin < histogram->bins; bin++) {
        if (histogram->counts[bin] == 0)
            continue;
        const double value = histogram_value(histogram, bin), count = (double)histogram->counts[bin];
        if (split)
            found[0] = float_below((last + value) / 2);
        below += count;
        sum_below += count * value;
        last = value;
        const double above = (double)histogram->total - below,
                     apart = above > 0 ? sum_below / below - (sum - sum_below) / above : 0;
        split = above > 0 && below * above * apart * apart > best;
        best = split ? below * above * apart * apart : best;
    }
}

/* Sets the search for otsu. */
static enum status threshold_check(void *params, struct error *error)
{
    struct threshold *threshold = params;
    (void)error;
    threshold->search.find = threshold->limit.otsu ? find_otsu : NULL;
    return STATUS_OK;
}

/* Enqueues the comparison; with otsu it may wait for a histogram. */
static enum status run_threshold(struct run *run, const void *params, const struct value *in,
                                 struct value *out, struct error *error)
{
    const struct threshold *threshold = params;
    const struct planes *dst = &out->planes[0];
    const cl_int channels = in->shape.channels, alpha = shape_alpha(&in->shape);
    const bool otsu = threshold->search.find;
    float found[8];
    cl_float4 limit;
    enum status status = otsu ? histogram_search(run, params, in, found, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = run_output(run, out, error);
    if (status != STATUS_OK)
        return status;
    if (otsu)
        histogram_report(run, "threshold", &threshold->search, in, found, 1);
    /* The user's threshold is increased by some roundings: a computed sample, such as the gray of three equal
     * channels, may be slightly above the value that it represents. */
    const float given = amount_value(&in->shape, &threshold->limit.amount);
    for (int c = 0; c < 4; c++)
        limit.s[c] = otsu ? found[2 * c] : given + fabsf(given) * 0x1p-21F;
    struct work work = run_work(run, "point", "threshold", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(dst), ARG(limit),
                  ARG(channels), ARG(alpha));
}

/* A number from 0 to 1 is probably a fraction of full scale: the pipeline warns if samples are integers. */
static struct stage_caps threshold_caps(const void *params)
{
    const struct threshold *threshold = params;
    const struct amount *amount = &threshold->limit.amount;
    return (struct stage_caps){.groups = !threshold->limit.otsu,
                               .new_values = true,
                               .takes_fractions = !threshold->limit.otsu && amount_is_fraction(amount) &&
                                                  amount->number > 0 && amount->number < 1};
}

const struct stage stage_threshold = {
    .name = "threshold",
    .brief = "black or white, nothing between",
    .manual =
        "Sets every sample above V to full scale and every other sample to 0, in each colour separately. "
        "For a black-and-white picture put --gray before it. For floats V is a sample value. Alpha is "
        "unchanged.\n\n"
        "otsu chooses the V with the largest variance between the samples above and below it; "
        "channels=each does so for each colour; -v and --report print it. Fully transparent pixels do not "
        "count. Integers are counted with 16 bits, floats with 11 significant bits of their distance from "
        "a sample of the first row. Large pictures are read twice, as with --denoise.\n\n"
        "With --linear, numbers and percentages are amounts of light.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct threshold),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .check = threshold_check,
    .rows = rows_same,
    .analysis = &histogram_analysis,
    .caps = threshold_caps,
    .run = run_threshold,
};
