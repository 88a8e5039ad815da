#include "filters/resample.h"
#include "filters/resize.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

static double sinc(double x)
{
    return x == 0 ? 1 : sin(PI * x) / (PI * x);
}

static double kernel(const struct resize_axis *axis, double x)
{
    switch (axis->filter) {
    case RESIZE_LANCZOS:
        return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
    case RESIZE_BICUBIC:
        return resample_kernel(RESAMPLE_BICUBIC, x);
    case RESIZE_BILINEAR:
        return resample_kernel(RESAMPLE_BILINEAR, x);
    case RESIZE_GAUSSIAN:
    case RESIZE_SLOPE:
        return exp(-0.5 * x * x / (axis->sigma * axis->sigma));
    case RESIZE_BOX:
        break;
    }
    return x > -0.5 && x <= 0.5;
}

static double scale(const struct resize_axis *axis)
{
    return (double)axis->from / axis->to;
}

static double stretch(const struct resize_axis *axis)
{
    return fmax(scale(axis), 1);
}

static double support(const struct resize_axis *axis)
{
    static const double supports[] = {3, 2, 1, 0.5};
    double reach =
        axis->filter < RESIZE_GAUSSIAN ? supports[axis->filter] : RESIZE_GAUSSIAN_CUT * axis->sigma;
    return reach * stretch(axis);
}

/* Where output i lies, sample 0 reaching from 0 to 1. */
static double center(const struct resize_axis *axis, int i)
{
    return (axis->begin + i + 0.5) * scale(axis) + axis->margin;
}

static int samples(const struct resize_axis *axis)
{
    return axis->from + 2 * axis->margin;
}

/* An axis that keeps its size is copied, unless the filter smooths it. */
static bool is_same(const struct resize_axis *axis)
{
    return axis->from == axis->to && !axis->extended;
}

/* The samples under the filter of output i; of an axis that is extended, also those beside it. One half is
 * added last, as a box that ends at the middle of a sample has no other one, and kernel() would miss it if
 * the sum were rounded in another way. */
static struct rows window(const struct resize_axis *axis, int i)
{
    double middle = center(axis, i), reach = support(axis);
    double begin = floor(middle - reach + 0.5), end = floor(middle + reach + 0.5);
    if (axis->extended)
        return (struct rows){(int)begin, (int)end};
    return (struct rows){(int)fmax(begin, 0), (int)fmin(end, samples(axis))};
}

/* The sample that stands for i, beside the axis where that is extended; -1: it is zero. */
static int sample_at(const struct resize_axis *axis, int i)
{
    int n = samples(axis), period = axis->edge == EDGE_MIRROR ? 2 * n : n, at = i % period;
    at += at < 0 ? period : 0;
    if (i >= 0 && i < n)
        return i;
    if (axis->edge == EDGE_ZERO)
        return -1;
    if (axis->edge == EDGE_CLAMP)
        return i < 0 ? 0 : n - 1;
    return at < n ? at : period - 1 - at;
}

/* Whether windows go over the ends as they are, and kernels find what stands there. All of an axis do, or
 * none: kernels take the samples of neighbours to be those from the first one's first to the last one's last.
 */
static bool goes_round(const struct resize_axis *axis)
{
    return axis->extended && axis->edge == EDGE_WRAP && ceil(2 * support(axis)) < samples(axis);
}

static struct rows made_from(const struct resize_axis *axis, struct rows window)
{
    if (goes_round(axis))
        return window;
    return axis->extended && axis->edge == EDGE_WRAP ? rows_whole(samples(axis))
                                                     : rows_clip(window, samples(axis));
}

int resize_taps(const struct resize_axis *axis, int i, int *first)
{
    struct rows from = made_from(axis, window(axis, i));
    *first = is_same(axis) ? axis->begin + i : from.begin;
    return is_same(axis) ? 1 : from.end - from.begin;
}

int resize_most_taps(const struct resize_axis *axis)
{
    double most = ceil(2 * support(axis)) + 1;
    return is_same(axis) ? 1 : most < samples(axis) ? (int)most : samples(axis);
}

/* What makes the derivative of a Gaussian from it, at a distance in samples of the coarser side: the
 * distance by the variance, in outputs. */
static double slope(const struct resize_axis *axis, double x)
{
    return x / (axis->sigma * axis->sigma) * scale(axis);
}

void resize_weights(const struct resize_axis *axis, int i, float *weights)
{
    struct rows under = window(axis, i), from = made_from(axis, under);
    double middle = center(axis, i), by = 1 / stretch(axis), sum = 0;
    bool round = goes_round(axis);
    if (is_same(axis)) {
        weights[0] = 1;
        return;
    }
    for (int k = under.begin; k < under.end; k++)
        sum += kernel(axis, (k - middle + 0.5) * by);
    for (int k = under.begin; k < under.end; k++) {
        double x = (k - middle + 0.5) * by, weight = kernel(axis, x) / sum;
        int at = round ? k : sample_at(axis, k);
        if (axis->filter == RESIZE_SLOPE)
            weight *= slope(axis, x);
        if (round || at >= 0)
            weights[at - from.begin] += (float)weight;
    }
}

struct rows resize_source_rows(const struct resize_axis *axis, struct rows out)
{
    int begin, last, taps;
    resize_taps(axis, out.begin, &begin);
    taps = resize_taps(axis, out.end - 1, &last);
    return (struct rows){begin, last + taps};
}
