#include "filters/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COARSEST_SIDE = 64, HALVED_SIDE = 24 };

/* Pixels of the finest level. Noise of pictures is mostly white; what is below this size tells more of it
 * than of the picture, and interpolation is exact enough. */
static const double FINEST_SIGMA = 1.2;

/* Pixels of the coarsest level: what is broader says more of the light than of the picture. */
static const double DETAIL_SIGMA = 3;

enum status grey_make(struct grey *grey, int width, int height, struct error *error)
{
    size_t count = (size_t)width * (size_t)height;
    *grey = (struct grey){.width = width, .height = height};
    grey->values = allocate_zeroed(count, 2 * sizeof *grey->values, "brightness", error);
    if (!grey->values)
        return STATUS_FAILED;
    grey->weights = grey->values + count;
    return STATUS_OK;
}

void grey_free(struct grey *grey)
{
    free(grey->values);
    *grey = (struct grey){.width = 0};
}

/* One weighted sum over taps along an axis: output i of the line begins at sample step * i + start. */
struct line {
    const float *taps;
    int count, start, step;
};

/* Along a row. */
static void sum_across(const struct line *line, const float *values, const float *weights, int length,
                       float *sums, float *sums_of_weights, int outputs)
{
    for (int i = 0; i < outputs; i++) {
        int first = line->step * i + line->start;
        int begin = first < 0 ? -first : 0, end = first + line->count > length ? length - first : line->count;
        float value = 0, weight = 0;
        for (int k = begin; k < end; k++) {
            value += line->taps[k] * values[first + k];
            weight += line->taps[k] * weights[first + k];
        }
        sums[i] = value;
        sums_of_weights[i] = weight;
    }
}

static void add_row(float tap, const float *restrict from, float *restrict to, int width)
{
    for (int x = 0; x < width; x++)
        to[x] += tap * from[x];
}

/* Down all columns, row by row: `to` is zero before. */
static void sum_down(const struct line *line, const struct grey *from, struct grey *to)
{
    for (int y = 0; y < to->height; y++)
        for (int k = 0; k < line->count; k++) {
            int at = line->step * y + line->start + k;
            size_t source = (size_t)at * (size_t)from->width, target = (size_t)y * (size_t)to->width;
            if (at < 0 || at >= from->height)
                continue;
            add_row(line->taps[k], from->values + source, to->values + target, to->width);
            add_row(line->taps[k], from->weights + source, to->weights + target, to->width);
        }
}

/* Rows, then columns: `from` is a mean of what counts, and so is `to`, which is zero before. */
static enum status filter(const struct line *line, const struct grey *from, struct grey *to,
                          struct error *error)
{
    struct grey row, rows;
    size_t width = (size_t)from->width, count = (size_t)to->width * (size_t)to->height;
    if (grey_make(&row, from->width, 1, error) != STATUS_OK)
        return STATUS_FAILED;
    if (grey_make(&rows, to->width, from->height, error) != STATUS_OK) {
        grey_free(&row);
        return STATUS_FAILED;
    }
    for (size_t y = 0; y < (size_t)from->height; y++) {
        const float *values = from->values + y * width, *weights = from->weights + y * width;
        for (size_t x = 0; x < width; x++)
            row.values[x] = values[x] * weights[x];
        sum_across(line, row.values, weights, from->width, rows.values + y * (size_t)to->width,
                   rows.weights + y * (size_t)to->width, to->width);
    }
    sum_down(line, &rows, to);
    for (size_t i = 0; i < count; i++)
        to->values[i] = to->weights[i] > 0 ? to->values[i] / to->weights[i] : 0;
    grey_free(&row);
    grey_free(&rows);
    return STATUS_OK;
}

enum status grey_smooth(struct grey *grey, double sigma, struct error *error)
{
    float taps[64] = {0};
    struct grey smooth;
    int radius = (int)ceil(3.5 * sigma);
    for (int k = -radius; k <= radius; k++)
        taps[radius + k] = (float)exp(-k * k / (2 * sigma * sigma));
    const struct line line = {taps, 2 * radius + 1, -radius, 1};
    if (grey_make(&smooth, grey->width, grey->height, error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = filter(&line, grey, &smooth, error);
    memcpy(grey->values, smooth.values, (size_t)grey->width * (size_t)grey->height * sizeof *grey->values);
    grey_free(&smooth);
    return status;
}

static enum status copy(const struct grey *from, struct grey *to, struct error *error)
{
    if (grey_make(to, from->width, from->height, error) != STATUS_OK)
        return STATUS_FAILED;
    memcpy(to->values, from->values, 2 * (size_t)from->width * (size_t)from->height * sizeof *from->values);
    return STATUS_OK;
}

enum status grey_detail(const struct grey *grey, double sigma, struct grey *detail, struct error *error)
{
    size_t count = (size_t)grey->width * (size_t)grey->height;
    if (copy(grey, detail, error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = grey_smooth(detail, sigma, error);
    for (size_t i = 0; i < count; i++) {
        detail->values[i] = (grey->values[i] - detail->values[i]) * grey->weights[i];
        detail->weights[i] = grey->weights[i] > 0;
    }
    return status;
}

static enum status halve(const struct grey *from, struct grey *to, struct error *error)
{
    static const float taps[] = {0.125F, 0.375F, 0.375F, 0.125F};
    const struct line line = {taps, 4, -1, 2};
    if (grey_make(to, (from->width + 1) / 2, (from->height + 1) / 2, error) != STATUS_OK)
        return STATUS_FAILED;
    return filter(&line, from, to, error);
}

enum status grey_halve(struct grey *grey, struct error *error)
{
    struct grey half;
    enum status status = halve(grey, &half, error);
    if (status == STATUS_OK) {
        grey_free(grey);
        *grey = half;
    }
    return status;
}

/* So that what is small does not depend on what the samples are. A flat picture stays flat. */
static void normalize(struct grey *grey)
{
    double sum = 0, squares = 0, weight = 0;
    size_t count = (size_t)grey->width * (size_t)grey->height;
    for (size_t i = 0; i < count; i++) {
        weight += (double)grey->weights[i];
        sum += (double)grey->weights[i] * (double)grey->values[i];
    }
    double mean = weight > 0 ? sum / weight : 0;
    for (size_t i = 0; i < count; i++) {
        double value = (double)grey->values[i] - mean;
        squares += (double)grey->weights[i] * value * value;
    }
    double deviation = weight > 0 ? sqrt(squares / weight) : 0;
    double scale = deviation > 1e-6 * fabs(mean) && isfinite(deviation) ? 1 / deviation : 0;
    for (size_t i = 0; i < count; i++)
        grey->values[i] = (float)(((double)grey->values[i] - mean) * scale);
}

static enum status find_slopes(struct level *level, struct error *error)
{
    const struct grey *grey = &level->grey;
    size_t width = (size_t)grey->width, height = (size_t)grey->height;
    level->across = allocate_zeroed(width * height, 2 * sizeof *level->across, "slopes", error);
    if (!level->across)
        return STATUS_FAILED;
    level->down = level->across + width * height;
    for (size_t y = 1; y + 1 < height; y++)
        for (size_t i = y * width + 1; i + 1 < (y + 1) * width; i++) {
            level->across[i] = 0.5F * (grey->values[i + 1] - grey->values[i - 1]);
            level->down[i] = 0.5F * (grey->values[i + width] - grey->values[i - width]);
        }
    return STATUS_OK;
}

static bool is_coarsest(const struct levels *levels, const struct levels *reference)
{
    const struct grey *last = &levels->level[levels->count - 1].grey;
    if (reference)
        return levels->count == reference->count;
    return (last->width <= COARSEST_SIDE && last->height <= COARSEST_SIDE) || last->width < HALVED_SIDE ||
           last->height < HALVED_SIDE;
}

enum status levels_make(struct levels *levels, struct grey *picture, int reduction,
                        const struct levels *reference, struct error *error)
{
    *levels = (struct levels){.level = {{.grey = *picture, .factor = reduction}}, .count = 1};
    *picture = (struct grey){.width = 0};
    normalize(&levels->level[0].grey);
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !is_coarsest(levels, reference)) {
        struct level *last = &levels->level[levels->count - 1], *next = &levels->level[levels->count++];
        next->factor = 2 * last->factor;
        status = halve(&last->grey, &next->grey, error);
    }
    if (status == STATUS_OK)
        status = grey_smooth(&levels->level[0].grey, FINEST_SIGMA, error);
    if (status == STATUS_OK)
        status = grey_detail(&levels->level[levels->count - 1].grey, DETAIL_SIGMA, &levels->detail, error);
    for (int i = 0; status == STATUS_OK && !reference && i < levels->count; i++)
        status = find_slopes(&levels->level[i], error);
    return status;
}

void levels_free(struct levels *levels)
{
    for (int i = 0; i < levels->count; i++) {
        grey_free(&levels->level[i].grey);
        free(levels->level[i].across);
    }
    grey_free(&levels->detail);
    *levels = (struct levels){.count = 0};
}

/* Pixel u of a level has its centre at factor u + (factor - 1) / 2 of the whole picture. */
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
