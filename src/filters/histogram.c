#include "filters/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* kernels/point.cl has the same. FIRST: the upper 20 bits of 2^-32. */
enum { HALF = HISTOGRAM_BINS / 2, SPACING = HISTOGRAM_BINS + 16, FIRST = (127 - 32) << 11, SHIFT = 12 };

/* A large picture is counted in several copies of a histogram, each for every COPIES-th row: on CPU devices
 * each copy has a thread, and on others fewer work-items want the same counter at once. */
enum { COPIES = 4, LARGE = 1 << 20 /* pixels */ };

/* ---------------------------------------------------------------- numbers that the user gives */

bool amount_take(const char **text, struct amount *amount)
{
    const double most = 1e30; /* so that floats hold the difference of two and what divides by it */
    if (!text_take_real(text, &amount->number) || !(fabs(amount->number) <= most))
        return false;
    amount->percent = **text == '%';
    *text += amount->percent;
    return true;
}

void amount_print(FILE *file, const struct amount *amount)
{
    print_real(file, amount->number);
    if (amount->percent)
        fputc('%', file);
}

float amount_value(const struct shape *shape, const struct amount *amount)
{
    return amount->percent ? (float)(amount->number / 100) : shape_value(shape, amount->number);
}

/* ---------------------------------------------------------------- counting */

static bool holds_floats(const struct shape *shape)
{
    return shape->full == 1;
}

static int count_histograms(const struct search_in_histogram *search, const struct shape *shape)
{
    return search->each ? shape->channels - shape->alpha : 1;
}

static int count_copies(const struct shape *shape)
{
    return (int64_t)shape->width * shape->height > LARGE ? COPIES : 1;
}

static enum status begin(struct run *run, const struct search_in_histogram *search, const struct shape *shape,
                         cl_mem *words, struct error *error)
{
    const int count = count_histograms(search, shape) * count_copies(shape);
    return counters_acquire(run->device, (size_t)count * SPACING, words, error);
}

static enum status add_rows(struct run *run, const struct search_in_histogram *search,
                            const struct value *image, struct rows rows, cl_mem words, struct error *error)
{
    const struct shape *shape = &image->shape;
    const struct planes *src = &image->planes[0];
    const cl_int2 range = {{rows.begin, rows.end}};
    const cl_int copies = count_copies(shape), histograms = count_histograms(search, shape),
                 colours = shape->channels - shape->alpha, alpha = shape_alpha(shape),
                 floats = holds_floats(shape);
    struct work work = run_work(run, "point", "count", src);
    work.depth = 1;
    work.height = rows.end - rows.begin;
    if (run_is_wide(run)) {
        work.form = (struct form){1, {1, 1}};
        work.width = 1;
        work.height = copies;
    }
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_MEMORY(words), ARG(range), ARG(copies),
                  ARG(histograms), ARG(colours), ARG(alpha), ARG(floats));
}

/* ---------------------------------------------------------------- what is found */

/* A float of which the lowest SHIFT bits are 0. */
static double float_of(int upper_bits)
{
    const uint32_t bits = (uint32_t)upper_bits << SHIFT;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double histogram_value(const struct histogram *histogram, int bin)
{
    const int number = bin < HALF ? HALF - 1 - bin : bin - HALF;
    if (!histogram->floats)
        return (bin - HALF) / 65535.0;
    if (number == 0)
        return 0;
    return bin < HALF ? -float_of(FIRST + number) : float_of(FIRST + number);
}

/* All copies of a histogram. */
static enum status read_counts(struct run *run, cl_mem words, int first, int step, int copies,
                               cl_uint *counts, uint64_t *sums, struct error *error)
{
    enum status status = STATUS_OK;
    memset(sums, 0, HISTOGRAM_BINS * sizeof *sums);
    for (int i = 0; status == STATUS_OK && i < copies; i++) {
        status = words_read(run->device, words, (size_t)(first + i * step) * SPACING, HISTOGRAM_BINS, counts,
                            true, error);
        for (int bin = 0; bin < HISTOGRAM_BINS; bin++)
            sums[bin] += counts[bin];
    }
    return status;
}

static enum status find(struct run *run, const void *params, const struct shape *shape, cl_mem words,
                        float found[8], struct error *error)
{
    const struct search_in_histogram *search = params;
    const int count = count_histograms(search, shape);
    if (device_is_imaginary(run->device))
        return STATUS_OK;
    cl_uint *counts = allocate(HISTOGRAM_BINS * sizeof *counts, "a histogram", error);
    uint64_t *sums = allocate(HISTOGRAM_BINS * sizeof *sums, "a histogram", error);
    enum status status = counts && sums ? STATUS_OK : STATUS_FAILED;
    for (int i = 0; status == STATUS_OK && i < count; i++) {
        struct histogram histogram = {.counts = sums, .floats = holds_floats(shape)};
        status = read_counts(run, words, i, count, count_copies(shape), counts, sums, error);
        for (int bin = 0; bin < HISTOGRAM_BINS; bin++)
            histogram.total += sums[bin];
        search->find(params, &histogram, found + 2 * i);
    }
    for (int i = count; status == STATUS_OK && i < shape->channels; i++)
        memcpy(found + 2 * i, found, 2 * sizeof *found);
    free(counts);
    free(sums);
    return status;
}

static bool wants_survey(const void *params, const struct shape *in)
{
    (void)in;
    return ((const struct search_in_histogram *)params)->find != NULL;
}

static enum status survey_begin(struct run *run, const void *params, const struct shape *in,
                                struct finding *finding, struct error *error)
{
    return begin(run, params, in, &finding->words, error);
}

static enum status survey_take(struct run *run, const void *params, const struct value *in, struct rows part,
                               struct finding *finding, struct error *error)
{
    return add_rows(run, params, in, part, finding->words, error);
}

static enum status survey_end(struct run *run, const void *params, const struct shape *in,
                              struct finding *finding, struct error *error)
{
    return find(run, params, in, finding->words, finding->numbers, error);
}

void histogram_tell(struct run *run, const char *stage, const struct search_in_histogram *search,
                    const struct value *in, const float found[8], int numbers)
{
    const struct shape *shape = &in->shape;
    const double scale = shape->full - shape->zero;
    char text[sizeof run->found] = "";
    text_append(text, sizeof text, "--%s", stage);
    for (int i = 0; i < numbers * count_histograms(search, shape); i++)
        text_append(text, sizeof text, "%c%.6g", i == 0 ? ' ' : ',',
                    shape->zero + scale * found[2 * (i / numbers) + i % numbers]);
    if (!strstr(run->found, text)) /* another slice, or the survey of a later stage, has told it */
        text_append(run->found, sizeof run->found, "%s%s", run->found[0] ? "; " : "", text);
}

const struct survey histogram_survey = {wants_survey, rows_same, survey_begin, survey_take, survey_end};

enum status histogram_search(struct run *run, const void *params, const struct value *in, float found[8],
                             struct error *error)
{
    const struct finding *finding = run_finding(run, params);
    cl_mem words = NULL;
    memset(found, 0, 8 * sizeof *found);
    if (finding) {
        memcpy(found, finding->numbers, sizeof finding->numbers);
        return STATUS_OK;
    }
    enum status status = begin(run, params, &in->shape, &words, error);
    if (status == STATUS_OK)
        status = add_rows(run, params, in, rows_whole(in->shape.height), words, error);
    if (status == STATUS_OK)
        status = find(run, params, &in->shape, words, found, error);
    memory_release(words);
    return status;
}
