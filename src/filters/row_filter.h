/* Weighted means of rows that come one by one, along both axes. */
#ifndef CLIMG_FILTERS_ROW_FILTER_H
#define CLIMG_FILTERS_ROW_FILTER_H

#include "base/error.h"

/* Output i of a line is a sum over taps, of which the first lies at sample step * i + start. */
struct line {
    const float *taps;
    int count, start, step; /* step: 1 or 2 */
};

/* The rows of a source that the next output rows are made of, summed up along x. */
struct row_filter {
    struct line line;           /* of both axes */
    int width, height, outputs; /* of the source, and the width of the result */
    float *product;             /* a row of the source */
    float *rows;                /* line.count of values and as many of weights; row y is y % line.count */
};

/* The taps must live as long. Safe to be freed also on failure. */
enum status row_filter_make(struct row_filter *filter, const struct line *line, int width, int height,
                            struct error *error);
void row_filter_free(struct row_filter *filter);

/* The source's rows that output row y is made of: from the first to before the second. */
int row_filter_first(const struct row_filter *filter, int y);
int row_filter_end(const struct row_filter *filter, int y);

/* Takes row y of the source, which is a mean of what counts. */
void row_filter_take(struct row_filter *filter, int y, const float *values, const float *weights);

/* Makes output row y, a mean of what counts, too, once the rows that it is made of were taken, and none
 * behind them. */
void row_filter_give(const struct row_filter *filter, int y, float *values, float *weights);

#endif
