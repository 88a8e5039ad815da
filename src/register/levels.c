/* Makes the pyramid of a picture, in this order:
 *
 *     limit single pixels ─▶ normalize ─▶ halve … halve ─▶ smooth level 0 ─▶ weights of the borders ─▶ detail
 *                                                                                └▶ slopes (reference only)
 *
 * Only level 0 is smoothed by a Gaussian, after level 1 was computed from it: it has most of the noise, whose
 * slopes would disturb the Gauss-Newton steps (refine.c). */
#include "register/levels.h"

#include "base/exact.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Levels are halved until both sides have at most MAX_COARSEST_SIDE pixels, but not if a side is below
 * MIN_HALVED_SIDE: an elongated picture keeps at least 12 pixels across. */
enum { MAX_COARSEST_SIDE = 64, MIN_HALVED_SIDE = 24 };

/* Standard deviation of the Gaussian for the finest level, in its pixels. It removes detail that is more
 * noise than picture; the rest is smooth enough for cubic interpolation. */
static const double FINEST_SIGMA = 1.2;

/* Width of the border of the finest level whose weight becomes 0, as the Gaussian lacks samples there. */
enum { FINEST_BORDER = 3 };

/* Standard deviation of the Gaussian whose mean is subtracted for `detail`, in pixels of the coarsest level.
 * Broader structure is illumination rather than objects. */
static const double DETAIL_SIGMA = 3;

enum status gray_plane_make(struct gray_plane *gray, int width, int height, struct error *error)
{
    size_t count = (size_t)width * (size_t)height;
    *gray = (struct gray_plane){.width = width, .height = height};
    gray->values = allocate_zeroed(2 * count + GRAY_PADDING, sizeof *gray->values, "brightness", error);
    if (!gray->values)
        return STATUS_FAILED;
    gray->weights = gray->values + count;
    return STATUS_OK;
}

/* Copies values and weights to a new plane. */
static enum status gray_plane_copy(const struct gray_plane *from, struct gray_plane *to, struct error *error)
{
    if (gray_plane_make(to, from->width, from->height, error) != STATUS_OK)
        return STATUS_FAILED;
    memcpy(to->values, from->values, 2 * (size_t)from->width * (size_t)from->height * sizeof *from->values);
    return STATUS_OK;
}

/* Approximate number of pixels of a block of rows. */
enum { BLOCK_PIXELS = 1 << 14 };

int gray_plane_blocks(const struct gray_plane *gray)
{
    return ceil_div(gray->height, BLOCK_PIXELS / gray->width + 1);
}

struct interval gray_plane_block(const struct gray_plane *gray, int index)
{
    const int rows = BLOCK_PIXELS / gray->width + 1;
    return interval_clip((struct interval){index * rows, (index + 1) * rows}, gray->height);
}

void gray_plane_free(struct gray_plane *gray)
{
    free(gray->values);
    *gray = (struct gray_plane){.width = 0};
}

/* The parameters of threads that filter blocks of rows. */
struct filter_job {
    const struct line_filter *line; /* NULL for limit_block */
    const struct gray_plane *from;
    struct gray_plane *to;
};

/* Returns the first source row that output row y needs. */
static int first_row(const struct row_filter *filter, int y)
{
    int first = filter->line.step * y + filter->line.start;
    return first > 0 ? first : 0;
}

/* Filters one block of output rows (for thread_pool_each). Neighbouring blocks share some source rows; both
 * filter them along x, as blocks do not wait for each other. */
static enum status filter_block(void *context, int index, struct error *error)
{
    const struct filter_job *job = context;
    const struct gray_plane *from = job->from, *to = job->to;
    const struct interval rows = gray_plane_block(to, index);
    struct row_filter filter;
    if (row_filter_make(&filter, job->line, from->width, from->height, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int y = rows.begin, next = first_row(&filter, y); y < rows.end; y++) {
        const size_t at = (size_t)y * (size_t)to->width;
        for (; next < row_filter_end(&filter, y); next++) {
            const size_t source = (size_t)next * (size_t)from->width;
            row_filter_add(&filter, next, from->values + source, from->weights + source);
        }
        row_filter_output(&filter, y, to->values + at, to->weights + at);
    }
    row_filter_free(&filter);
    return STATUS_OK;
}

/* Filters a plane with all threads into `to`, which has the size of the result. */
static enum status gray_plane_filter(struct thread_pool *workers, const struct line_filter *line,
                                     const struct gray_plane *from, struct gray_plane *to,
                                     struct error *error)
{
    struct filter_job job = {line, from, to};
    return thread_pool_each(workers, gray_plane_blocks(to), filter_block, &job, error);
}

/* Replaces values by their weighted means under a Gaussian of `sigma` pixels, which is cut off at 3.5 sigma.
 * Weights are unchanged. Row filters divide by the sum of taps times weights, so the taps need not sum to 1.
 */
static enum status gray_plane_smooth(struct thread_pool *workers, struct gray_plane *gray, double sigma,
                                     struct error *error)
{
    float taps[64] = {0};
    struct gray_plane smooth;
    int radius = (int)ceil(3.5 * sigma);
    for (int k = -radius; k <= radius; k++)
        taps[radius + k] = (float)exact_exp(-k * k / (2 * sigma * sigma));
    const struct line_filter line = {.taps = taps, .count = 2 * radius + 1, .start = -radius, .step = 1};
    if (gray_plane_make(&smooth, gray->width, gray->height, error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = gray_plane_filter(workers, &line, gray, &smooth, error);
    memcpy(gray->values, smooth.values, (size_t)gray->width * (size_t)gray->height * sizeof *gray->values);
    gray_plane_free(&smooth);
    return status;
}

/* Returns pixel *here clipped to [min - range, max + range] of its eight neighbours, where range = max - min.
 * `left` and `right` are the offsets of the neighbouring columns. This limits hot and dead pixels of a
 * sensor, which stay in place while the picture moves, and cosmic rays. Stars with a width of 1.5 pixels are
 * unchanged. Tried and lost: a 3x3 median, which removes such stars; clipping to [min, max], with which 2 of
 * 24 star fields with hot pixels are aligned wrongly. */
static float limit_pixel(const float *above, const float *here, const float *below, int left, int right)
{
    const float around[] = {above[left], above[0],    above[right], here[left],
                            here[right], below[left], below[0],     below[right]};
    float least = around[0], most = around[0];
    for (int i = 1; i < 8; i++) {
        least = around[i] < least ? around[i] : least;
        most = around[i] > most ? around[i] : most;
    }
    const float low = least - (most - least), high = most + (most - least);
    return *here < low ? low : *here > high ? high : *here;
}

/* Limits one block of rows (for thread_pool_each). At the border the neighbour inside counts twice. */
static enum status limit_block(void *context, int index, struct error *error)
{
    const struct filter_job *job = context;
    const struct gray_plane *from = job->from;
    const struct interval rows = gray_plane_block(from, index);
    const size_t width = (size_t)from->width;
    (void)error;
    if (from->width < 2 || from->height < 2) /* no neighbours */
        return STATUS_OK;
    for (int y = rows.begin; y < rows.end; y++) {
        const float *here = from->values + (size_t)y * width, *above = y > 0 ? here - width : here + width,
                    *below = y + 1 < from->height ? here + width : here - width;
        float *to = job->to->values + (size_t)y * width;
        to[0] = limit_pixel(above, here, below, 1, 1);
        for (size_t x = 1; x + 1 < width; x++)
            to[x] = limit_pixel(above + x, here + x, below + x, -1, 1);
        to[width - 1] = limit_pixel(above + width - 1, here + width - 1, below + width - 1, -1, -1);
    }
    return STATUS_OK;
}

const struct line_filter gray_halving = {
    .taps = (const float[]){0.125F, 0.375F, 0.375F, 0.125F}, .count = 4, .start = -1, .step = 2};

/* Scales values to a weighted mean of 0 and a standard deviation of 1. If the deviation is below a millionth
 * of the mean, it is only rounding: the picture is flat, and all values become 0. */
static void normalize(struct gray_plane *gray)
{
    double sum = 0, squares = 0, weight = 0;
    size_t count = (size_t)gray->width * (size_t)gray->height;
    for (size_t i = 0; i < count; i++) {
        weight += (double)gray->weights[i];
        sum += (double)gray->weights[i] * (double)gray->values[i];
    }
    double mean = weight > 0 ? sum / weight : 0;
    for (size_t i = 0; i < count; i++) {
        double value = (double)gray->values[i] - mean;
        squares += (double)gray->weights[i] * value * value;
    }
    double deviation = weight > 0 ? sqrt(squares / weight) : 0;
    double scale = deviation > 1e-6 * fabs(mean) && isfinite(deviation) ? 1 / deviation : 0;
    for (size_t i = 0; i < count; i++)
        gray->values[i] = (float)(((double)gray->values[i] - mean) * scale);
}

/* Computes the slopes of a level by central differences, (v[i + 1] - v[i - 1]) / 2. */
static enum status find_slopes(struct level *level, struct error *error)
{
    const struct gray_plane *gray = &level->gray;
    size_t width = (size_t)gray->width, height = (size_t)gray->height;
    level->across =
        allocate_zeroed(2 * width * height + GRAY_PADDING, sizeof *level->across, "slopes", error);
    if (!level->across)
        return STATUS_FAILED;
    level->down = level->across + width * height;
    for (size_t y = 1; y + 1 < height; y++)
        for (size_t i = y * width + 1; i + 1 < (y + 1) * width; i++) {
            level->across[i] = 0.5F * (gray->values[i + 1] - gray->values[i - 1]);
            level->down[i] = 0.5F * (gray->values[i + width] - gray->values[i - width]);
        }
    return STATUS_OK;
}

enum status levels_make(struct thread_pool *workers, struct levels *levels, const struct gray_plane *picture,
                        int reduction, const struct levels *reference, struct error *error)
{
    struct gray_plane *finest = &levels->level[0].gray, *detail = &levels->detail;
    struct filter_job limit = {NULL, picture, finest};
    *levels = (struct levels){.level = {{.factor = reduction}}, .count = 1};
    /* Level 0: limit single pixels, then normalize. */
    enum status status = gray_plane_copy(picture, finest, error);
    if (status == STATUS_OK)
        status = thread_pool_each(workers, gray_plane_blocks(finest), limit_block, &limit, error);
    if (status == STATUS_OK)
        normalize(finest);
    /* The other levels: as many as the reference has, or until one is small enough. */
    struct level *last = &levels->level[0];
    while (status == STATUS_OK &&
           (reference ? levels->count < reference->count
                      : (last->gray.width > MAX_COARSEST_SIDE || last->gray.height > MAX_COARSEST_SIDE) &&
                            last->gray.width >= MIN_HALVED_SIDE && last->gray.height >= MIN_HALVED_SIDE)) {
        struct level *next = &levels->level[levels->count++];
        next->factor = 2 * last->factor;
        status = gray_plane_make(&next->gray, (last->gray.width + 1) / 2, (last->gray.height + 1) / 2, error);
        if (status == STATUS_OK)
            status = gray_plane_filter(workers, &gray_halving, &last->gray, &next->gray, error);
        last = next;
    }
    /* Smooth level 0, then compute weights, detail and slopes from the final values. */
    if (status == STATUS_OK)
        status = gray_plane_smooth(workers, finest, FINEST_SIGMA, error);
    /* Set the weights of the outer pixels to 0: there, filters average mostly pixels further inside. With
     * these pixels very smooth pictures were aligned 0.1 to 0.4 pixels off, without them at most 0.02. */
    for (int i = 0; status == STATUS_OK && i < levels->count; i++) {
        const struct gray_plane *gray = &levels->level[i].gray;
        const int border = i == 0 ? FINEST_BORDER : 1;
        for (int y = 0; y < gray->height; y++)
            for (int x = 0; x < gray->width; x++)
                if (x < border || y < border || x >= gray->width - border || y >= gray->height - border)
                    gray->weights[(size_t)y * (size_t)gray->width + (size_t)x] = 0;
    }
    /* Compute detail = weight * (value - local mean). Weights become 0 or 1: search.c counts pixels. */
    if (status == STATUS_OK)
        status = gray_plane_copy(&last->gray, detail, error);
    if (status == STATUS_OK)
        status = gray_plane_smooth(workers, detail, DETAIL_SIGMA, error);
    for (size_t i = 0; status == STATUS_OK && i < (size_t)detail->width * (size_t)detail->height; i++) {
        detail->values[i] = (last->gray.values[i] - detail->values[i]) * last->gray.weights[i];
        detail->weights[i] = last->gray.weights[i] > 0;
    }
    for (int i = 0; status == STATUS_OK && !reference && i < levels->count; i++)
        status = find_slopes(&levels->level[i], error);
    return status;
}

void levels_free(struct levels *levels)
{
    for (int i = 0; i < levels->count; i++) {
        gray_plane_free(&levels->level[i].gray);
        free(levels->level[i].across);
    }
    gray_plane_free(&levels->detail);
    *levels = (struct levels){.count = 0};
}

/* A level's pixel u has its centre at U = f u + h of the whole picture, f = factor, h = (f - 1) / 2. The map
 * of the whole pictures, U' = A U + t, is in pixels of the level: f u' + h = A (f u + h) + t, so
 *
 *     u' = A u + ((A - 1) h + t) / f */
struct affine level_from_whole(const struct level *level, struct affine whole)
{
    double factor = level->factor, half = (factor - 1) / 2;
    whole.x = ((whole.xx + whole.xy - 1) * half + whole.x) / factor;
    whole.y = ((whole.yx + whole.yy - 1) * half + whole.y) / factor;
    return whole;
}

struct affine level_to_whole(const struct level *level, struct affine affine)
{
    double factor = level->factor, half = (factor - 1) / 2;
    affine.x = factor * affine.x - (affine.xx + affine.xy - 1) * half;
    affine.y = factor * affine.y - (affine.yx + affine.yy - 1) * half;
    return affine;
}

/* ---------------------------------------------------------------- interpolation */

/* Four lanes: the vector extension of gcc and clang. */
typedef float float4 __attribute__((vector_size(16)));

static float4 load4(const float *from)
{
    float4 values;
    memcpy(&values, from, sizeof values);
    return values;
}

/* Returns the weights of the samples at -1, 0, 1 and 2 for an interpolation at t, in [0, 1): cubic
 * convolution with a = -0.5 (R. Keys, IEEE TASSP 29, 1981). Each weight is a polynomial of t. */
static float4 cubic_weights(float t)
{
    const float4 cubic = {-0.5F, 1.5F, -1.5F, 0.5F}, square = {1, -2.5F, 2, -0.5F},
                 linear = {-0.5F, 0, 0.5F, 0}, constant = {0, 1, 0, 0};
    return ((cubic * t + square) * t + linear) * t + constant;
}

/* Narrows the columns [*begin, *end) to those x with 1 <= slope * x + start < limit, plus one on each side
 * against rounding errors: sample_rows tests each position exactly. */
static void narrow_columns(double slope, double start, double limit, int *begin, int *end)
{
    if (slope == 0)
        return;
    const double a = (1 - start) / slope, b = (limit - start) / slope;
    const double first = (a < b ? a : b) - 1, last = (a < b ? b : a) + 2;
    *begin = first > *end ? *end : first > *begin ? (int)first : *begin;
    *end = last < *begin ? *begin : last < *end ? (int)last : *end;
}

/* For each row, the range of columns whose 4 x 4 samples are in the picture is computed first, so pixels
 * outside cost nothing. That saves 15% of the time of pictures that cannot be aligned, as most of the maps
 * tried are partly outside. */
void sample_rows(const struct gray_plane *picture, const struct affine *affine, struct interval rows,
                 struct gray_plane *sampled)
{
    const ptrdiff_t pitch = picture->width;
    for (int y = rows.begin; y < rows.end; y++) {
        float *values = sampled->values + (size_t)y * (size_t)sampled->width,
              *weights = sampled->weights + (size_t)y * (size_t)sampled->width;
        const double start_x = affine->xy * y + affine->x, start_y = affine->yy * y + affine->y;
        int begin = 0, end = sampled->width;
        narrow_columns(affine->xx, start_x, picture->width - 2, &begin, &end);
        narrow_columns(affine->yx, start_y, picture->height - 2, &begin, &end);
        /* Pixels outside the picture have value and weight 0. */
        memset(values, 0, (size_t)sampled->width * sizeof *values);
        memset(weights, 0, (size_t)sampled->width * sizeof *weights);
        for (int x = begin; x < end; x++) {
            const double at_x = affine->xx * x + start_x, at_y = affine->yx * x + start_y;
            if (!(at_x >= 1 && at_y >= 1 && at_x < picture->width - 2 && at_y < picture->height - 2))
                continue;
            const int column = (int)at_x, row = (int)at_y;
            const float *from = picture->values + (row - 1) * pitch + column - 1;
            /* Interpolate first down each of the four columns, then across. */
            const float4 across = cubic_weights((float)(at_x - column)),
                         down = cubic_weights((float)(at_y - row));
            float4 sums = down[0] * load4(from) + down[1] * load4(from + pitch) +
                          down[2] * load4(from + 2 * pitch) + down[3] * load4(from + 3 * pitch);
            sums *= across;
            values[x] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
            /* Use the weight of the nearest pixel: most weights are 0 or 1. */
            weights[x] = picture->weights[(ptrdiff_t)(at_y + 0.5) * pitch + (ptrdiff_t)(at_x + 0.5)];
        }
    }
}

/* ---------------------------------------------------------------- filters of rows */

enum status row_filter_make(struct row_filter *filter, const struct line_filter *line, int width, int height,
                            struct error *error)
{
    const int outputs = ceil_div(width, line->step);
    const size_t margin = (size_t)line->count, rows = 2 * (size_t)line->count * (size_t)outputs;
    *filter = (struct row_filter){.line = *line, .width = width, .height = height, .outputs = outputs};
    filter->rows = allocate_zeroed(rows + margin + (size_t)width + margin, sizeof *filter->rows,
                                   "rows of brightness", error);
    if (!filter->rows)
        return STATUS_FAILED;
    filter->product = filter->rows + rows + margin;
    return STATUS_OK;
}

void row_filter_free(struct row_filter *filter)
{
    free(filter->rows);
    filter->rows = NULL;
}

int row_filter_end(const struct row_filter *filter, int y)
{
    int end = filter->line.step * y + filter->line.start + filter->line.count;
    return end < filter->height ? end : filter->height;
}

/* Returns the ring's row for source row y: `outputs` values, then as many weights. */
static float *ring_row(const struct row_filter *filter, int y)
{
    return filter->rows + 2 * (size_t)(y % filter->line.count) * (size_t)filter->outputs;
}

static void add_row(float tap, const float *restrict from, float *restrict to, int count)
{
    for (int x = 0; x < count; x++)
        to[x] += tap * from[x];
}

static void add_every_second(float tap, const float *restrict from, float *restrict to, int count)
{
    for (int x = 0; x < count; x++)
        to[x] += tap * from[2 * (size_t)x];
}

/* Filters a row. Each tap is added to all outputs in a loop that compilers vectorize. `samples` has a margin
 * of zeros at both ends. */
static void sum_along(const struct line_filter *line, const float *samples, float *sums, int outputs)
{
    memset(sums, 0, (size_t)outputs * sizeof *sums);
    for (int k = 0; k < line->count; k++)
        (line->step == 1 ? add_row : add_every_second)(line->taps[k], samples + line->start + k, sums,
                                                       outputs);
}

void row_filter_add(struct row_filter *filter, int y, const float *values, const float *weights)
{
    float *sums = ring_row(filter, y), *product = filter->product;
    for (int x = 0; x < filter->width; x++)
        product[x] = values[x] * weights[x];
    sum_along(&filter->line, product, sums, filter->outputs);
    memcpy(product, weights, (size_t)filter->width * sizeof *product);
    sum_along(&filter->line, product, sums + filter->outputs, filter->outputs);
}

void row_filter_output(const struct row_filter *filter, int y, float *values, float *weights)
{
    const struct line_filter *line = &filter->line;
    const int top = line->step * y + line->start, count = filter->outputs;
    memset(values, 0, (size_t)count * sizeof *values);
    memset(weights, 0, (size_t)count * sizeof *weights);
    for (int at = first_row(filter, y); at < row_filter_end(filter, y); at++) {
        const float *sums = ring_row(filter, at);
        add_row(line->taps[at - top], sums, values, count);
        add_row(line->taps[at - top], sums + count, weights, count);
    }
    for (int x = 0; x < count; x++)
        values[x] = weights[x] > 0 ? values[x] / weights[x] : 0;
}
