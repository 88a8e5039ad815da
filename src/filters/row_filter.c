#include "filters/row_filter.h"

#include <stdlib.h>
#include <string.h>

enum status row_filter_make(struct row_filter *filter, const struct line *line, int width, int height,
                            struct error *error)
{
    int outputs = (width + line->step - 1) / line->step;
    size_t rows = 2 * (size_t)line->count * (size_t)outputs;
    *filter = (struct row_filter){.line = *line, .width = width, .height = height, .outputs = outputs};
    filter->product = allocate(((size_t)width + rows) * sizeof *filter->product, "rows of brightness", error);
    if (!filter->product)
        return STATUS_FAILED;
    filter->rows = filter->product + width;
    return STATUS_OK;
}

void row_filter_free(struct row_filter *filter)
{
    free(filter->product);
    filter->product = NULL;
}

int row_filter_first(const struct row_filter *filter, int y)
{
    int first = filter->line.step * y + filter->line.start;
    return first > 0 ? first : 0;
}

int row_filter_end(const struct row_filter *filter, int y)
{
    int end = filter->line.step * y + filter->line.start + filter->line.count;
    return end < filter->height ? end : filter->height;
}

static float *values_of(const struct row_filter *filter, int y)
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

/* Where taps lie beyond the ends. */
static float sum_within(const struct line *line, const float *samples, int length, int i)
{
    float sum = 0;
    for (int k = 0, at = line->step * i + line->start; k < line->count; k++, at++)
        if (at >= 0 && at < length)
            sum += line->taps[k] * samples[at];
    return sum;
}

/* Tap by tap, which is quicker than output by output, and no other sum. */
static void sum_along(const struct line *line, const float *samples, int length, float *sums, int outputs)
{
    int begin = (line->step - 1 - line->start) / line->step, space = length - line->count - line->start;
    int end = space < 0 ? 0 : space / line->step + 1;
    begin = begin < outputs ? begin : outputs;
    end = end < begin ? begin : end < outputs ? end : outputs;
    for (int i = 0; i < begin; i++)
        sums[i] = sum_within(line, samples, length, i);
    for (int i = end; i < outputs; i++)
        sums[i] = sum_within(line, samples, length, i);
    memset(sums + begin, 0, (size_t)(end - begin) * sizeof *sums);
    for (int k = 0; k < line->count && begin < end; k++)
        (line->step == 1 ? add_row : add_every_second)(
            line->taps[k], samples + line->step * begin + line->start + k, sums + begin, end - begin);
}

void row_filter_take(struct row_filter *filter, int y, const float *values, const float *weights)
{
    float *sums = values_of(filter, y);
    for (int x = 0; x < filter->width; x++)
        filter->product[x] = values[x] * weights[x];
    sum_along(&filter->line, filter->product, filter->width, sums, filter->outputs);
    sum_along(&filter->line, weights, filter->width, sums + filter->outputs, filter->outputs);
}

void row_filter_give(const struct row_filter *filter, int y, float *values, float *weights)
{
    const struct line *line = &filter->line;
    const int top = line->step * y + line->start, count = filter->outputs;
    memset(values, 0, (size_t)count * sizeof *values);
    memset(weights, 0, (size_t)count * sizeof *weights);
    for (int at = row_filter_first(filter, y); at < row_filter_end(filter, y); at++) {
        const float *sums = values_of(filter, at);
        add_row(line->taps[at - top], sums, values, count);
        add_row(line->taps[at - top], sums + count, weights, count);
    }
    for (int x = 0; x < count; x++)
        values[x] = weights[x] > 0 ? values[x] / weights[x] : 0;
}
