/* Histograms are counted on the device and searched on the host, after the amounts that the user gives:
 *
 *   zeroed counters -> find_origin (floats: first row) -> count (row by row) -> read, add up copies -> find
 *
 * Bins: integer samples have LINEAR_BINS bins on each side of 0, up to 2 times full scale. Larger ones, which
 * --range and sums of pictures have, are counted by the upper bits of their floats in DISTANT_BINS bins: 11
 * significant bits. Floats are counted by the upper bits of their distance from the origin.
 *
 * A large picture is counted in COPIES copies of the histogram, each for a part of the rows. On CPU devices
 * each copy has its own thread; on GPUs fewer work-items compete for one counter. Huge pictures have more
 * copies, so that no 32-bit counter overflows. */
#include "filters/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Layout of a histogram in words, the same as in kernels/point.cl: bins, the number of missing values at
 * index bins, the number of other ignored ones after it, the origin at index bins + ORIGIN, the next
 * histogram at index bins + EXTRA_WORDS. SHIFT is the number of low bits of a float that its bin ignores. */
enum {
    LINEAR_BINS = 1 << 17,
    DISTANT_BINS = 1 << 15,
    INTEGER_BINS = 2 * (LINEAR_BINS + DISTANT_BINS),
    FLOAT_BINS = 1 << 19,
    ORIGIN = 8,
    EXTRA_WORDS = 16,
    SHIFT = 13
};

/* Number of copies for a picture with more than LARGE_PICTURE pixels. */
enum { COPIES = 4, LARGE_PICTURE = 1 << 20 };

/* Largest number of samples that one copy counts. */
static const int64_t MAX_SAMPLES = (int64_t)1 << 31;

/* ---------------------------------------------------------------- numbers given by the user */

bool amount_parse(const char **text, struct amount *amount)
{
    const double max = 1e30; /* the difference of two and its reciprocal are valid floats */
    if (!text_parse_real(text, &amount->number) || !(fabs(amount->number) <= max))
        return false;
    amount->is_percent = **text == '%';
    *text += amount->is_percent;
    return true;
}

void amount_print(FILE *file, const void *field)
{
    const struct amount *amount = field;
    print_real(file, amount->number);
    if (amount->is_percent)
        fputc('%', file);
}

bool amounts_parse(const char *text, struct amounts *amounts)
{
    *amounts = (struct amounts){.count = 0};
    if (strcmp(text, "auto") == 0)
        return true;
    const int max = sizeof amounts->items / sizeof amounts->items[0];
    bool more = true;
    while (more && amounts->count < max && amount_parse(&text, &amounts->items[amounts->count])) {
        amounts->count++;
        more = *text == ',';
        text += more;
    }
    return !more && *text == '\0';
}

float amount_value(const struct shape *shape, const struct amount *amount)
{
    return amount->is_percent ? (float)(amount->number / 100) : shape_value(shape, amount->number);
}

/* ---------------------------------------------------------------- counting */

/* True if values are counted as floats: if full scale is 1, as in float files. All others, such as stacks of
 * integer files, are counted as integers, although samples may be floats (shape->is_float). */
static bool counts_floats(const struct shape *shape)
{
    return shape->full == 1;
}

static int bin_count(const struct shape *shape)
{
    return counts_floats(shape) ? FLOAT_BINS : INTEGER_BINS;
}

/* Returns the number of words from histogram to histogram. */
static int histogram_spacing(const struct shape *shape)
{
    return bin_count(shape) + EXTRA_WORDS;
}

int histogram_count(const struct histogram_search_params *search, const struct shape *shape)
{
    return search->per_channel ? shape->channels - shape->alpha : 1;
}

int histogram_copies(const struct shape *shape)
{
    const int64_t pixels = (int64_t)shape->width * shape->height,
                  needed = pixels * shape->channels / MAX_SAMPLES + 1;
    const int preferred = pixels > LARGE_PICTURE ? COPIES : 1;
    return needed > preferred ? (int)needed : preferred;
}

/* Allocates zeroed counters for all copies of all histograms. */
static enum status histogram_begin(struct run *run, const void *params, const struct shape *shape,
                                   struct analysis_result *result, struct error *error)
{
    const int count = histogram_count(params, shape) * histogram_copies(shape);
    return counters_create(run->device, (size_t)count * (size_t)histogram_spacing(shape), &result->words,
                           error);
}

/* Enqueues the counting of some rows. On CPU devices one work-item counts all rows of a copy. */
static enum status histogram_add(struct run *run, const void *params, const struct value *image,
                                 struct interval rows, struct analysis_result *result, struct error *error)
{
    const struct shape *shape = &image->shape;
    const struct planes *src = &image->planes[0];
    const cl_int2 range = {{rows.begin, rows.end}};
    const cl_int copies = histogram_copies(shape), histograms = histogram_count(params, shape),
                 colours = shape->channels - shape->alpha, alpha = shape_alpha(shape),
                 is_float = counts_floats(shape);
    /* The origin must be known before the first float is counted. */
    if (is_float && rows.begin == 0) {
        struct kernel_launch find = run_work(run, "point", "find_origin", src);
        find.config = (struct launch_config){1, {1, 1}};
        /* One work-item per histogram; width counts floats. */
        find.width = histograms * launch_lanes(run->device, run->memory, find.vector_width);
        find.height = find.depth = 1;
        enum status status = LAUNCH(run->device, &find, error, ARG_PLANES(src), ARG_MEMORY(result->words),
                                    ARG(histograms), ARG(alpha));
        if (status != STATUS_OK)
            return status;
    }
    struct kernel_launch work = run_work(run, "point", "count_values", src);
    work.depth = 1; /* a work-item counts all channels of a pixel */
    work.height = rows.end - rows.begin;
    if (run_is_cpu(run)) {
        work.config = (struct launch_config){1, {1, 1}};
        work.width = 1;
        work.height = copies;
    }
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_MEMORY(result->words), ARG(range),
                  ARG(copies), ARG(histograms), ARG(colours), ARG(alpha), ARG(is_float));
}

/* ---------------------------------------------------------------- searching */

double histogram_value(const struct histogram *histogram, int bin)
{
    const int half = histogram->bins / 2, side = bin < half ? half - 1 - bin : bin - half;
    const float two = 2;
    uint32_t bits = 0;
    float distance;
    if (!histogram->is_float && side < LINEAR_BINS)
        return (bin - half) / 65535.0;
    if (!histogram->is_float)
        memcpy(&bits, &two, sizeof bits);
    bits += (uint32_t)(histogram->is_float ? side : side - LINEAR_BINS) << SHIFT;
    memcpy(&distance, &bits, sizeof distance);
    return (double)histogram->origin + (double)(bin < half ? -distance : distance);
}

void histogram_ends(const struct histogram *histogram, double percent, float found[2])
{
    const uint64_t cut = (uint64_t)(percent / 100 * (double)histogram->total);
    int low = 0, high = histogram->bins - 1;
    found[0] = found[1] = 0;
    if (histogram->total == 0)
        return;
    /* Skip bins from both ends while they are within the share. */
    for (uint64_t sum = histogram->counts[low]; sum <= cut && low < high; sum += histogram->counts[low])
        low++;
    for (uint64_t sum = histogram->counts[high]; sum <= cut && high > low; sum += histogram->counts[high])
        high--;
    found[0] = (float)histogram_value(histogram, low);
    found[1] = (float)histogram_value(histogram, high);
}

/* Waits for the counts and searches all histograms. */
static enum status histogram_end(struct run *run, const void *params, const struct shape *shape,
                                 struct analysis_result *result, struct error *error)
{
    const struct histogram_search_params *search = params;
    const int count = histogram_count(search, shape);
    const size_t bins = (size_t)bin_count(shape), spacing = (size_t)histogram_spacing(shape);
    float *found = result->numbers;
    uint64_t missing = 0;
    if (device_is_dry_run(run->device))
        return STATUS_OK;
    cl_uint *counts = allocate((bins + 1) * sizeof *counts, "a histogram", error);
    uint64_t *sums = allocate(bins * sizeof *sums, "a histogram", error);
    enum status status = counts && sums ? STATUS_OK : STATUS_FAILED;
    for (int i = 0; status == STATUS_OK && i < count; i++) {
        /* Add up the copies of the histogram. */
        struct histogram histogram = {.counts = sums, .bins = (int)bins, .is_float = counts_floats(shape)};
        memset(sums, 0, bins * sizeof *sums);
        for (int k = i; status == STATUS_OK && k < count * histogram_copies(shape); k += count) {
            status =
                words_read(run->device, result->words, (size_t)k * spacing, bins + 1, counts, true, error);
            for (size_t bin = 0; status == STATUS_OK && bin < bins; bin++) {
                sums[bin] += counts[bin];
                histogram.total += counts[bin];
            }
            missing += status == STATUS_OK ? counts[bins] : 0;
        }
        if (status == STATUS_OK)
            status = words_read(run->device, result->words, (size_t)i * spacing + bins + ORIGIN, 1,
                                &histogram.origin, true, error);
        if (status == STATUS_OK)
            search->find(params, &histogram, found + 2 * i);
    }
    if (status == STATUS_OK)
        run_count_missing(run, params, 0, missing);
    /* Channels without a histogram of their own use the first result. */
    for (int i = count; status == STATUS_OK && i < shape->channels; i++)
        memcpy(found + 2 * i, found, 2 * sizeof *found);
    free(counts);
    free(sums);
    return status;
}

static bool needs_analysis(const void *params, const struct shape *in)
{
    (void)in;
    return ((const struct histogram_search_params *)params)->find != NULL;
}

const struct analysis histogram_analysis = {needs_analysis, rows_same, histogram_begin, histogram_add,
                                            histogram_end};

/* ---------------------------------------------------------------- numbers of a stage */

void histogram_print_given(FILE *file, const void *field)
{
    const struct amounts *given = field;
    fputs(given->count == 0 ? "auto" : "", file);
    for (int i = 0; i < given->count; i++) {
        fputs(i > 0 ? "," : "", file);
        amount_print(file, &given->items[i]);
    }
}

void histogram_find_ends(const void *params, const struct histogram *histogram, float found[2])
{
    histogram_ends(histogram, ((const struct histogram_search_params *)params)->clip.number, found);
}

struct stage_caps histogram_caps(const void *params)
{
    const struct histogram_search_params *search = params;
    struct stage_caps caps = {.groups = !search->find, .new_values = true};
    for (int i = 0; i < search->given.count; i++) {
        const struct amount *amount = &search->given.items[i];
        const double value = amount->is_percent ? 0 : fabs(amount->number);
        caps.largest_value = fmax(caps.largest_value, value);
        caps.smallest_value = i == 0 ? value : fmin(caps.smallest_value, value);
    }
    return caps;
}

/* Prints a value of the 0..1 scale as a sample value. */
static void histogram_print(char text[32], const struct shape *shape, float value)
{
    snprintf(text, 32, "%.6g", shape->zero + (shape->full - shape->zero) * (double)value);
}

void histogram_report(struct run *run, const char *option, const struct shape *shape, const float *values,
                      int count)
{
    char text[sizeof run->results.text] = "", number[32];
    text_append(text, sizeof text, "%s", option);
    for (int i = 0; i < count; i++) {
        histogram_print(number, shape, values[i]);
        text_append(text, sizeof text, "%s%s", i == 0 ? "" : ",", number);
    }
    run_report(run, text);
}

float histogram_round(const struct shape *shape, float value)
{
    char number[32];
    histogram_print(number, shape, value);
    return shape_value(shape, strtod(number, NULL));
}

enum status histogram_search(struct run *run, const void *params, const struct value *in, struct value *out,
                             float found[8], struct error *error)
{
    const struct analysis_result *result = run_analysis_result(run, params);
    enum status status = STATUS_OK;
    if (result) {
        memcpy(found, result->numbers, sizeof result->numbers);
    } else if (needs_analysis(params, &in->shape)) {
        struct analysis_result own = {.words = NULL};
        status = histogram_begin(run, params, &in->shape, &own, error);
        if (status == STATUS_OK)
            status = histogram_add(run, params, in, rows_full(in->shape.height), &own, error);
        if (status == STATUS_OK)
            status = histogram_end(run, params, &in->shape, &own, error);
        memcpy(found, own.numbers, sizeof own.numbers);
        memory_release(own.words);
    }
    return status == STATUS_OK ? run_output(run, out, error) : status;
}
