/* Sets samples above a threshold V to full scale, others to 0 (kernels/point.cl).
 *
 * `otsu` finds V in the histogram of the whole picture (filters/histogram.h). It maximises the variance
 * between the two classes, with weights w and means m:
 *
 *     w0 * w1 * (m0 - m1)^2
 *
 * N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on Systems, Man, and
 * Cybernetics 9 (1979). A pass over the bins with running sums tries each split between two values that
 * occur. V is halfway between them, so that rounding does not move a sample across it.
 *
 * Colour is premultiplied by alpha. The kernel multiplies V by alpha, instead of dividing colour.
 *
 * `sauvola`, `niblack` and `wolf` give each pixel a threshold T of its own, from mean m and standard
 * deviation s of the window around it (kernels/moments.cl):
 *
 *     niblack    T = m - k s
 *     sauvola    T = m + k m (s / R - 1)           R is half of full scale
 *     wolf       T = m + k (m - M) (s / R - 1)     M is the smallest sample, R the largest s of the picture
 *
 * W. Niblack, "An Introduction to Digital Image Processing" (1986); J. Sauvola, M. Pietikainen, "Adaptive
 * document image binarization", Pattern Recognition 33 (2000); C. Wolf, J.-M. Jolion, "Extraction and
 * recognition of artificial text in multimedia documents", Pattern Analysis and Applications 6 (2003).
 * Comparisons with NaN are false, so pixels whose window contains NaN become black.
 *
 * With otsu and wolf the whole picture is searched first. Each picture has its own values, so there are no
 * groups then. */
#include "filters/histogram.h"

#include <math.h>
#include <string.h>

enum { MAX_RADIUS = 1000 /* of the window, in pixels */ };

enum method { NUMBER, OTSU, SAUVOLA, NIBLACK, WOLF };

/* Words of the methods. */
static const char *const method_words[] = {NULL, "otsu", "sauvola", "niblack", "wolf"};

/* The value of the option: V, or a method that finds it. */
struct limit {
    enum method method;
    struct amount amount; /* for NUMBER */
};

struct threshold {
    struct histogram_search_params search; /* must be first */
    struct limit limit;
    int radius;  /* of the window, in pixels */
    double k;    /* of the formulas above */
    bool invert; /* the text is light */
};

/* Parses the word of a method, "128" or "50%". */
static enum status parse_limit(const char *text, void *field, struct error *error)
{
    struct limit limit = {NUMBER};
    for (enum method method = OTSU; method <= WOLF; method++)
        if (strcmp(text, method_words[method]) == 0)
            limit.method = method;
    if (limit.method == NUMBER && (!amount_parse(&text, &limit.amount) || *text != '\0'))
        return fail(error, STATUS_USAGE, "not otsu, sauvola, niblack, wolf, a number or percent%s",
                    strcmp(text, "auto") == 0 ? "; did you mean otsu?" : "");
    *(struct limit *)field = limit;
    return STATUS_OK;
}

/* Prints the word of the method, or V as a number or percent. */
static void print_limit(FILE *file, const void *field)
{
    const struct limit *limit = field;
    if (limit->method != NUMBER)
        fputs(method_words[limit->method], file);
    else
        amount_print(file, &limit->amount);
}

/* True for methods with a window. */
static bool is_local(const struct threshold *threshold)
{
    return threshold->limit.method >= SAUVOLA;
}

/* True for methods that need the whole picture. */
static bool needs_search(const struct threshold *threshold)
{
    return threshold->limit.method == OTSU || threshold->limit.method == WOLF;
}

/* Return why a key has no effect, or NULL. */
static const char *search_unused(const void *params)
{
    return needs_search(params) ? NULL : "belongs to otsu and wolf";
}

static const char *window_unused(const void *params)
{
    return is_local(params) ? NULL : "belongs to sauvola, niblack and wolf";
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct threshold, limit),
     .choices = "otsu|sauvola|niblack|wolf",
     .value = "V|otsu|sauvola|niblack|wolf",
     .help = "what is above becomes white: a sample value (0 to 255 in 8 bit, 0 to 65535 in 16 bit), or "
             "percent of full scale; otsu finds it, the others find it for each pixel, for uneven light",
     .parse = parse_limit,
     .print = print_limit},
    HISTOGRAM_CHANNELS(search_unused),
    {.name = "radius",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct threshold, radius),
     .fallback = "25",
     .min = 1,
     .max = MAX_RADIUS,
     .value = "N",
     .unused = window_unused,
     .help = "the window is 2 N + 1 pixels wide and high, which should be at least the height of a line of "
             "text; more hardly matters"},
    {.name = "k",
     .type = OPTION_REAL,
     .offset = offsetof(struct threshold, k),
     .fallback = "0.2",
     .min = -10,
     .max = 10,
     .value = "K",
     .unused = window_unused,
     .help = "larger removes more of the background, and of faint text; 0.1 if letters break"},
    {.name = "invert",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct threshold, invert),
     .fallback = "no",
     .unused = window_unused,
     .help = "the text is lighter than the paper, and becomes black"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/page.jpg --gray --threshold 50% page.png", "black and white, nothing between"},
    {"climg samples/cells.png --gray --threshold otsu mask.png", "objects and background"},
    {"climg samples/page.jpg --gray --threshold sauvola,k=0.1 page.png", "a page in uneven light"},
    {"climg samples/page.jpg --gray --invert --threshold wolf,k=0.5,invert=yes page.png",
     "light text on a dark page, which --invert makes here"},
    {NULL, NULL},
};

/* Returns the largest float that is not above `value`. */
static float float_below(double value)
{
    const float nearest = (float)value;
    return (double)nearest > value ? nextafterf(nearest, -HUGE_VALF) : nearest;
}

/* Finds Otsu's threshold, halfway between the two values that it separates. */
static void find_otsu(const void *params, const struct histogram *histogram, float found[2])
{
    double sum = 0, below = 0, sum_below = 0, best = -1, last = 0;
    bool split = false; /* the best split so far is between `last` and the next value that occurs */
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
                     difference = above > 0 ? sum_below / below - (sum - sum_below) / above : 0;
        split = above > 0 && below * above * difference * difference > best;
        best = split ? below * above * difference * difference : best;
    }
}

/* Sets the search for otsu. */
static enum status threshold_check(void *params, struct error *error)
{
    struct threshold *threshold = params;
    (void)error;
    threshold->search.find = threshold->limit.method == OTSU ? find_otsu : NULL;
    return STATUS_OK;
}

/* ---------------------------------------------------------------- moments of windows
 *
 * kernels/moments.cl: one pass along y and one along x, each of which transposes.
 *
 *     src        W columns, rows of the slice and its halo
 *     columns    transposed: moments of 2 r + 1 rows; as many columns as the slice has rows, W rows
 *     moments    transposed back: moments of the windows
 *
 * A pass that stores without transposing would need a second kernel for x, whose vectors run along the axis
 * that is summed. Measured errors up to radius 500, relative to the largest sample: at most 5e-7 of the mean
 * and 2e-8 of the standard deviation, also for a tiny variance. */

/* Blocks of a work-item. On CPUs more blocks mean fewer work-items whose last outputs, fewer than 16, are
 * stored one by one. Each work-item reuses its runs for the next block, so they stay in a cache. */
enum { CPU_BLOCKS = 8, GPU_BLOCKS = 1 };

/* The same layout as struct window of kernels/moments.cl. */
struct window {
    cl_int radius, first_block, blocks, first, count, samples, calls;
};

/* Returns `width`, rounded up to an odd number of cache lines. The kernel stores columns, and rows that are a
 * power of two apart share few sets of a cache. */
static int pad_width(int width)
{
    return (ceil_div(width, PITCH_UNIT) | 1) * PITCH_UNIT;
}

/* Returns the block of `side` rows that contains row y, which may be negative. */
static int block_of(int y, int side)
{
    return y >= 0 ? y / side : -ceil_div(-y, side);
}

/* Enqueues one pass, for rows `rows` of src. An element of src consists of `samples` samples of the image. */
static enum status moments_pass(struct run *run, int radius, int samples, const struct planes *src,
                                struct interval rows, const struct planes *dst, struct error *error)
{
    struct kernel_launch work = run_work(run, "moments", "moments", src);
    work.config = device_launch_config(run->device, run->memory, NULL);
    const bool is_cpu = run_is_cpu(run);
    const int side = 2 * radius + 1, first_block = block_of(rows.begin - radius, side),
              blocks = is_cpu ? CPU_BLOCKS : GPU_BLOCKS,
              items = ceil_div(block_of(rows.end - 1 - radius, side) + 1 - first_block, blocks),
              calls = ceil_div(src->width, work.config.group[0] * CPU_LANES);
    const struct window window = {radius,  first_block, blocks, rows.begin, rows.end - rows.begin,
                                  samples, calls};
    /* On CPUs a row for each call and item, with the two layers of `side` vecs. */
    const int width = is_cpu ? 2 * side * CPU_LANES : src->width, height = items * (is_cpu ? calls : side);
    struct planes suffixes;
    if (run_scratch(run, width, height, rows_full(height), is_cpu ? 1 : 2, src->channels, &suffixes, error) !=
        STATUS_OK)
        return STATUS_FAILED;
    work.height = items;
    work.depth = planes_layer_depth(src);
    work.calls_noinline = true;
    const enum status status = LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&suffixes),
                                      ARG_PLANES(dst), ARG(window));
    run_scratch_release(run, &suffixes);
    return status;
}

/* Enqueues the moments of the windows around `rows` of src, which is in buffers. Allocates *moments as
 * scratch planes of two layers: the mean, and the sum of the squared distances to the mean. */
static enum status moments_find(struct run *run, int radius, const struct planes *src, struct interval rows,
                                struct planes *moments, struct error *error)
{
    struct planes columns;
    if (run_scratch(run, pad_width(rows.end - rows.begin), src->width, rows_full(src->width), 2,
                    src->channels, &columns, error) != STATUS_OK ||
        run_scratch(run, pad_width(src->width), src->height, rows, 2, src->channels, moments, error) !=
            STATUS_OK)
        return STATUS_FAILED;
    if (moments_pass(run, radius, 1, src, rows, &columns, error) != STATUS_OK)
        return STATUS_FAILED;
    columns.width = rows.end - rows.begin;
    const enum status status =
        moments_pass(run, radius, 2 * radius + 1, &columns, rows_full(src->width), moments, error);
    run_scratch_release(run, &columns);
    return status;
}

/* ---------------------------------------------------------------- thresholds of windows */

/* Returns the picture's planes in *samples, negated into scratch planes if the text is light. */
static enum status window_samples(struct run *run, const struct threshold *threshold, const struct value *in,
                                  struct planes *samples, struct error *error)
{
    const struct planes *src = &in->planes[0];
    const cl_float factor = -1, offset = 1 + shape_value(&in->shape, in->shape.min_sample);
    const cl_int alpha = shape_alpha(&in->shape);
    *samples = *src;
    if (!threshold->invert)
        return STATUS_OK;
    if (run_scratch_like(run, src, planes_rows(src), samples, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "point", "linear", samples);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(samples), ARG(factor), ARG(offset),
                  ARG(alpha));
}

/* Returns the number of samples of a window. */
static cl_float window_size(const struct threshold *threshold)
{
    const int side = 2 * threshold->radius + 1;
    return (cl_float)(side * side);
}

/* Number of words that find_extremes() of kernels/moments.cl writes for each channel: the largest key of a
 * deviation, the largest complement of a key of a sample, and the number of missing samples. */
enum { EXTREMES = 3, MAX_EXTREMES = 4 * EXTREMES };

/* Enqueues the search for the largest deviation and the smallest sample in `rows` of src. Also counts missing
 * samples. */
static enum status add_extremes(struct run *run, const struct planes *src, const struct planes *moments,
                                struct interval rows, cl_mem words, struct error *error)
{
    const cl_int2 range = {{rows.begin, rows.end}};
    struct kernel_launch work = run_work(run, "moments", "find_extremes", src);
    work.height = rows.end - rows.begin;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(moments), ARG_MEMORY(words),
                  ARG(range));
}

/* Returns the float whose sort_key() of kernels/moments.cl is `key`. */
static float from_sort_key(cl_uint key)
{
    const cl_uint bits = key & 0x80000000U ? key ^ 0x80000000U : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Waits for the extremes, stores R and M of channel c in found[2 * c] and found[2 * c + 1], and counts
 * missing samples. Unless the option channels is `each`, all channels get the extremes of all. */
static enum status read_extremes(struct run *run, const struct threshold *threshold,
                                 const struct shape *shape, cl_mem words, float found[8], struct error *error)
{
    const int colours = shape->channels - shape->alpha;
    cl_uint keys[MAX_EXTREMES] = {0};
    memset(found, 0, 8 * sizeof *found);
    if (device_is_dry_run(run->device))
        return STATUS_OK;
    if (words_read(run->device, words, 0, MAX_EXTREMES, keys, true, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int c = 0; c < colours; c++)
        run_count_missing(run, threshold, 0, keys[EXTREMES * c + 2]);
    for (int c = 1; c < colours && !threshold->search.per_channel; c++)
        for (int i = 0; i < 2; i++)
            keys[i] = keys[EXTREMES * c + i] > keys[i] ? keys[EXTREMES * c + i] : keys[i];
    for (int c = 0; c < colours; c++) {
        const cl_uint *key = threshold->search.per_channel ? keys + EXTREMES * c : keys;
        if (key[0] == 0 || key[1] == 0) /* no finite sample */
            continue;
        found[2 * c] = sqrtf(from_sort_key(key[0]) / window_size(threshold));
        found[2 * c + 1] = from_sort_key(~key[1]); /* the largest complement is the smallest sample's */
    }
    return STATUS_OK;
}

/* Returns the part of `rows`, from `begin` on, whose windows are computed next. On CPUs parts are small, so
 * that moments stay in the caches. This also halves the memory of --threshold sauvola. The cost: neighbouring
 * parts both compute the rows that their windows share, as many as a window has. */
static struct interval next_part(const struct run *run, const struct threshold *threshold, int width,
                                 struct interval rows, int begin)
{
    enum { PART_SAMPLES = 1 << 20, MIN_WINDOWS = 4 };
    const int min_rows = MIN_WINDOWS * (2 * threshold->radius + 1), cached_rows = PART_SAMPLES / width;
    const int max_rows = cached_rows > min_rows ? cached_rows : min_rows;
    const bool all = !run_is_cpu(run) || rows.end - begin <= max_rows;
    return (struct interval){begin, all ? rows.end : begin + max_rows};
}

/* Finds R and M of wolf if src is the whole picture, and waits for them. */
static enum status search_extremes(struct run *run, const struct threshold *threshold,
                                   const struct shape *shape, const struct planes *src, float found[8],
                                   struct error *error)
{
    const struct interval rows = rows_full(shape->height);
    struct planes moments;
    cl_mem words = NULL;
    enum status status = counters_create(run->device, MAX_EXTREMES, &words, error);
    for (struct interval part = {0, 0}; status == STATUS_OK && part.end < rows.end;) {
        part = next_part(run, threshold, src->width, rows, part.end);
        status = moments_find(run, threshold->radius, src, part, &moments, error);
        if (status == STATUS_OK) {
            status = add_extremes(run, src, &moments, part, words, error);
            run_scratch_release(run, &moments);
        }
    }
    if (status == STATUS_OK)
        status = read_extremes(run, threshold, shape, words, found, error);
    memory_release(words);
    return status;
}

/* The same layout as struct rule of kernels/moments.cl. */
struct rule {
    cl_float samples, k;
    cl_int is_niblack, unused;
    cl_float4 darkest, inverse_range;
};

/* Enqueues the thresholds of windows, in buffers. With wolf it may wait for R and M. */
static enum status threshold_windows(struct run *run, const void *params, const struct value *in,
                                     struct value *out, struct error *error)
{
    const struct threshold *threshold = params;
    const struct planes *dst = &out->planes[0];
    const struct analysis_result *result = run_analysis_result(run, threshold);
    const cl_int channels = in->shape.channels, alpha = shape_alpha(&in->shape);
    struct rule rule = {.samples = window_size(threshold),
                        .k = (cl_float)threshold->k,
                        .is_niblack = threshold->limit.method == NIBLACK};
    struct planes src, moments;
    float found[8] = {0};
    if (run_output(run, out, error) != STATUS_OK ||
        window_samples(run, threshold, in, &src, error) != STATUS_OK)
        return STATUS_FAILED;
    if (result)
        memcpy(found, result->numbers, sizeof found);
    else if (threshold->limit.method == WOLF &&
             search_extremes(run, threshold, &in->shape, &src, found, error) != STATUS_OK)
        return STATUS_FAILED;
    /* sauvola is wolf with M = 0 and R = 1/2. In a picture of one value s is 0, so R does not matter. */
    for (int c = 0; c < 4; c++) {
        rule.darkest.s[c] = found[2 * c + 1];
        rule.inverse_range.s[c] = threshold->limit.method == SAUVOLA ? 2
                                  : found[2 * c] > 0                 ? 1 / found[2 * c]
                                                                     : 0;
    }
    for (struct interval part = {0, out->rows.begin}; part.end < out->rows.end;) {
        part = next_part(run, threshold, src.width, out->rows, part.end);
        if (moments_find(run, threshold->radius, &src, part, &moments, error) != STATUS_OK)
            return STATUS_FAILED;
        struct kernel_launch work = run_work(run, "moments", "threshold_local", dst);
        work.height = part.end - part.begin;
        if (LAUNCH(run->device, &work, error, ARG_PLANES(&src), ARG_PLANES(&moments), ARG_PLANES(dst),
                   ARG(rule), ARG(channels), ARG(alpha)) != STATUS_OK)
            return STATUS_FAILED;
        run_scratch_release(run, &moments);
    }
    return STATUS_OK;
}

/* ---------------------------------------------------------------- the stage */

static bool threshold_needs_analysis(const void *params, const struct shape *in)
{
    (void)in;
    return needs_search(params);
}

/* The analysis pass counts a histogram for otsu, and searches the extremes for wolf. */
static enum status threshold_begin(struct run *run, const void *params, const struct shape *in,
                                   struct analysis_result *result, struct error *error)
{
    if (!is_local(params))
        return histogram_analysis.begin(run, params, in, result, error);
    return counters_create(run->device, MAX_EXTREMES, &result->words, error);
}

/* Adds rows `part->rows` of a picture in buffers to the search of wolf. */
static enum status threshold_add_windows(struct run *run, const void *params, const struct value *in,
                                         struct value *part, struct error *error)
{
    const struct threshold *threshold = params;
    struct planes src, moments;
    if (window_samples(run, threshold, in, &src, error) != STATUS_OK ||
        moments_find(run, threshold->radius, &src, part->rows, &moments, error) != STATUS_OK)
        return STATUS_FAILED;
    return add_extremes(run, &src, &moments, part->rows, run_analysis_result(run, params)->words, error);
}

static enum status threshold_add(struct run *run, const void *params, const struct value *in,
                                 struct interval part, struct analysis_result *result, struct error *error)
{
    struct value rows = {.rows = part};
    return is_local(params) ? run_in_buffers(run, threshold_add_windows, params, in, &rows, error)
                            : histogram_analysis.add(run, params, in, part, result, error);
}

static enum status threshold_end(struct run *run, const void *params, const struct shape *in,
                                 struct analysis_result *result, struct error *error)
{
    if (!is_local(params))
        return histogram_analysis.end(run, params, in, result, error);
    return read_extremes(run, params, in, result->words, result->numbers, error);
}

/* Returns the rows of the window. */
static struct interval threshold_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct threshold *threshold = params;
    (void)in;
    return is_local(threshold) ? interval_widen(out, threshold->radius) : out;
}

static const struct analysis threshold_analysis = {threshold_needs_analysis, threshold_rows, threshold_begin,
                                                   threshold_add, threshold_end};

/* Enqueues the comparison. With otsu and wolf it may wait for the search. */
static enum status run_threshold(struct run *run, const void *params, const struct value *in,
                                 struct value *out, struct error *error)
{
    const struct threshold *threshold = params;
    const struct planes *dst = &out->planes[0];
    const cl_int channels = in->shape.channels, alpha = shape_alpha(&in->shape);
    const bool otsu = threshold->search.find;
    float found[8];
    cl_float4 limit;
    for (int i = 0; i < in->shape.images && shape_is_colour(&in->shape) && !threshold->search.per_channel;
         i++)
        run_warn(run, i,
                 "--threshold makes each colour black or white separately, so pixels can become red, cyan or "
                 "yellow; for black and white put --gray before it");
    if (is_local(threshold))
        return run_in_buffers(run, threshold_windows, params, in, out, error);
    if (histogram_search(run, params, in, out, found, error) != STATUS_OK)
        return STATUS_FAILED;
    /* The user's threshold is increased by some roundings: a computed sample, such as the gray of three equal
     * channels, may be slightly above the value that it represents. */
    const float given = amount_value(&in->shape, &threshold->limit.amount);
    for (int c = 0; c < 4; c++)
        limit.s[c] = otsu ? found[2 * c] : given + fabsf(given) * 0x1p-21F;
    if (otsu)
        histogram_report(run, "--threshold ", &in->shape, limit.s,
                         histogram_count(&threshold->search, &in->shape));
    struct kernel_launch work = run_work(run, "point", "threshold", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(dst), ARG(limit),
                  ARG(channels), ARG(alpha));
}

/* A V that does not fit the samples' full scale causes a warning (largest_value), except 1, which is usual
 * for integers. */
static struct stage_caps threshold_caps(const void *params)
{
    const struct threshold *threshold = params;
    const struct amount *amount = &threshold->limit.amount;
    const double value =
        threshold->limit.method == NUMBER && !amount->is_percent && amount->number != 1 ? amount->number : 0;
    return (struct stage_caps){.groups = !needs_search(threshold),
                               .new_values = true,
                               .relative_cost = is_local(threshold) ? 4 : 0,
                               .smallest_value = value,
                               .largest_value = value};
}

const struct stage stage_threshold = {
    .name = "threshold",
    .brief = "black or white, nothing between",
    .manual =
        "Sets every sample above V to full scale and every other sample to 0. Compares each colour by "
        "itself, so pixels of RGB can become red, cyan or yellow, even if all colours have one V; for a "
        "black-and-white picture put --gray before it. For floats V is a sample value. Alpha is "
        "unchanged.\n\n"
        "otsu chooses the V with the largest variance between the samples above and below it; channels=each "
        "does so for each colour; -v and --report print it. Fully transparent pixels do not count. Integers "
        "are counted with 16 bits, floats with 11 significant bits. Large pictures are read twice, as with "
        "--denoise.\n\n"
        "sauvola, niblack and wolf find a V for each pixel, from mean m and standard deviation s of the "
        "window of 2 N + 1 pixels a side around it, so that shadows on a page do not become black:\n\n"
        "niblack: V = m - K s. Paper without text becomes speckled.\n\n"
        "sauvola: V = m (1 + K (s / R - 1)), R half of full scale. For dark text on lighter paper. Letters "
        "that are less than about K (0.2: a fifth) darker than their surroundings break or disappear: pale "
        "print and thin strokes need K = 0.1, whatever N is.\n\n"
        "wolf: V = m + K (m - M) (s / R - 1), M the smallest sample and R the largest s of the picture, or "
        "with channels=each of each colour. For faint text; its authors use K = 0.5.\n\n"
        "The first two are scikit-image's threshold_niblack and threshold_sauvola, except at the border, "
        "where --edge applies. The time does not depend on N. With invert=yes the samples are negated first, "
        "as by --invert. Transparent pixels count as black. If the window contains NaN, the pixel becomes "
        "black. wolf reads large pictures twice. W. Niblack, \"An Introduction to Digital Image Processing\" "
        "(1986); J. Sauvola and M. Pietikainen, Pattern Recognition 33 (2000); C. Wolf and J.-M. Jolion, "
        "Pattern Analysis and Applications 6 (2003).\n\n"
        "With --linear, numbers and percentages are amounts of light.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct threshold),
    .check = threshold_check,
    .rows = threshold_rows,
    .analysis = &threshold_analysis,
    .caps = threshold_caps,
    .run = run_threshold,
};
