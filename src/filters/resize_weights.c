#include "filters/resample.h"
#include "filters/resize.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

static double sinc(double x)
{
    return x == 0 ? 1 : sin(PI * x) / (PI * x);
}

static double kernel(enum resize_filter filter, double x)
{
    switch (filter) {
    case RESIZE_LANCZOS:
        return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
    case RESIZE_BICUBIC:
        return resample_kernel(RESAMPLE_BICUBIC, x);
    case RESIZE_BILINEAR:
        return resample_kernel(RESAMPLE_BILINEAR, x);
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
    return supports[axis->filter] * stretch(axis);
}

/* Where output i lies, sample 0 reaching from 0 to 1. */
static double center(const struct resize_axis *axis, int i)
{
    return (axis->begin + i + 0.5) * scale(axis);
}

/* An axis that keeps its size is copied. */
static bool is_same(const struct resize_axis *axis)
{
    return axis->from == axis->to;
}

int resize_taps(const struct resize_axis *axis, int i, int *first)
{
    double middle = center(axis, i), reach = support(axis);
    int end = (int)fmin(middle + reach + 0.5, axis->from);
    *first = (int)fmax(middle - reach + 0.5, 0);
    if (is_same(axis)) {
        *first = axis->begin + i;
        return 1;
    }
    return end - *first;
}

int resize_most_taps(const struct resize_axis *axis)
{
    int most = (int)ceil(2 * support(axis)) + 1;
    return is_same(axis) ? 1 : most < axis->from ? most : axis->from;
}

void resize_weights(const struct resize_axis *axis, int i, float *weights)
{
    int first, taps = resize_taps(axis, i, &first);
    double middle = center(axis, i), by = 1 / stretch(axis), sum = 0;
    for (int k = 0; k < taps; k++) {
        double weight = is_same(axis) ? 1 : kernel(axis->filter, (first + k - middle + 0.5) * by);
        weights[k] = (float)weight;
        sum += weight;
    }
    for (int k = 0; k < taps; k++)
        weights[k] = (float)(weights[k] / sum);
}

struct rows resize_source_rows(const struct resize_axis *axis, struct rows out)
{
    int begin, last, taps;
    resize_taps(axis, out.begin, &begin);
    taps = resize_taps(axis, out.end - 1, &last);
    return (struct rows){begin, last + taps};
}
