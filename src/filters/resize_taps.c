#include "filters/resize_taps.h"

#include "filters/resample.h"

#include <math.h>
#include <stdint.h>

static const double PI = 3.14159265358979323846;

static double sinc(double x)
{
    return x == 0 ? 1 : sin(PI * x) / (PI * x);
}

static double kernel(const struct resize *by, double x)
{
    switch (by->filter) {
    case RESIZE_LANCZOS:
        return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
    case RESIZE_BICUBIC:
        return resample_kernel(RESAMPLE_BICUBIC, x);
    case RESIZE_BILINEAR:
        return resample_kernel(RESAMPLE_BILINEAR, x);
    case RESIZE_GAUSSIAN:
    case RESIZE_SLOPE:
        return exp(-0.5 * x * x / (by->sigma * by->sigma));
    case RESIZE_BOX:
        break;
    }
    return 1;
}

static double scale(const struct resize *by)
{
    return (double)by->from / by->to;
}

static double stretch(const struct resize *by)
{
    return fmax(scale(by), 1);
}

static double support(const struct resize *by)
{
    static const double supports[] = {3, 2, 1, 0.5};
    double reach = by->filter < RESIZE_GAUSSIAN ? supports[by->filter] : RESIZE_GAUSSIAN_CUT * by->sigma;
    return reach * stretch(by);
}

/* Where output i lies, sample 0 reaching from 0 to 1. */
static double center(const struct resize *by, int i)
{
    return (by->begin + i + 0.5) * scale(by) + by->margin;
}

static int samples(const struct resize *by)
{
    return by->from + 2 * by->margin;
}

/* An axis that keeps its size is copied, unless the filter smooths it. */
static bool is_same(const struct resize *by, bool cut)
{
    return by->from == by->to && cut;
}

/* The first sample whose centre lies right of where output i begins, i * from / to: rounded half up. In
 * integers each sample has one output, also where its centre lies between two. */
static int box_begin(const struct resize *by, int64_t i)
{
    return (int)((2 * by->from * i + by->to) / (2 * (int64_t)by->to));
}

/* Of an enlargement, the sample that the output's centre lies in. */
static struct rows box_window(const struct resize *by, int i)
{
    const int64_t o = (int64_t)by->begin + i;
    if (by->from >= by->to)
        return (struct rows){box_begin(by, o), box_begin(by, o + 1)};
    const int nearest = (int)((2 * o + 1) * by->from / (2 * (int64_t)by->to));
    return (struct rows){nearest, nearest + 1};
}

/* The samples under the filter of output i; of an axis that is extended, also those beside it. */
static struct rows window(const struct resize *by, bool cut, int i)
{
    if (by->filter == RESIZE_BOX)
        return box_window(by, i);
    double middle = center(by, i), reach = support(by);
    double begin = floor(middle - reach + 0.5), end = floor(middle + reach + 0.5);
    if (!cut)
        return (struct rows){(int)begin, (int)end};
    return (struct rows){(int)fmax(begin, 0), (int)fmin(end, samples(by))};
}

int resize_most(const struct resize *by, bool cut)
{
    double most = ceil(2 * support(by)) + 1;
    if (is_same(by, cut))
        return 1;
    return cut && most > samples(by) ? samples(by) : (int)most;
}

/* What makes the derivative of a Gaussian from it, at a distance in samples of the coarser side: the
 * distance by the variance, in outputs. */
static double slope(const struct resize *by, double x)
{
    return x / (by->sigma * by->sigma) * scale(by);
}

struct rows resize_weigh(const struct resize *by, bool cut, int i, double *weights)
{
    struct rows under =
        is_same(by, cut) ? (struct rows){by->begin + i, by->begin + i + 1} : window(by, cut, i);
    double middle = center(by, i), shrink = 1 / stretch(by), sum = 0;
    for (int k = under.begin; weights && k < under.end; k++)
        sum += weights[k - under.begin] = kernel(by, (k - middle + 0.5) * shrink);
    for (int k = under.begin; weights && k < under.end; k++) {
        weights[k - under.begin] /= sum;
        if (by->filter == RESIZE_SLOPE)
            weights[k - under.begin] *= slope(by, (k - middle + 0.5) * shrink);
    }
    return under;
}
