/* Interpolation kernels, and the weights of each output of a resized axis.
 *
 *   LANCZOS   sinc(x) sinc(x / 3) (C. Duchon, J. Appl. Meteorology 18, 1979)
 *   BICUBIC   Keys' cubic convolution, a = -0.5 (R. Keys, IEEE TASSP 29, 1981)
 *   BILINEAR  triangle
 *   BSPLINE   cubic B-spline, without a prefilter, so it smooths
 *
 * Positions count from the edge of sample 0: sample i is from i to i + 1, its centre at i + 0.5. With
 * `corners` the pixel corners, at whole positions, are interpolated from the samples, and the outputs from
 * the corners; resize_weigh merges both into one filter. */
#include "filters/resample.h"

#include "base/exact.h"

#include <math.h>
#include <stdint.h>

/* Radius of the kernels in samples; twice that many samples are under them. NEAREST has one sample. */
static const double radii[] = {
    [RESIZE_LANCZOS] = 3, [RESIZE_BICUBIC] = 2, [RESIZE_BILINEAR] = 1, [RESIZE_BOX] = 0.5,
    [RESIZE_BSPLINE] = 2, [RESIZE_NEAREST] = 0, [RESIZE_GAUSSIAN] = 0, [RESIZE_SLOPE] = 0};

enum { MAX_TAPS = 6 /* of a kernel that is not stretched */, MAX_CORNERS = MAX_TAPS * MAX_FACTOR };

static double sinc(double x)
{
    static const double PI = 3.14159265358979323846;
    return x == 0 ? 1 : exact_sin(PI * x) / (PI * x);
}

/* Returns the kernel, without normalisation, at distance x in samples of the coarser side. The box is 1
 * everywhere; resize_window limits it. */
static double resize_kernel(const struct resize *by, double x)
{
    const double distance = fabs(x), a = -0.5; /* of the bicubic by Keys */
    switch (by->filter) {
    case RESIZE_LANCZOS:
        return distance < 3 ? sinc(distance) * sinc(distance / 3) : 0;
    case RESIZE_BICUBIC:
        if (distance < 1)
            return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
        return distance < 2 ? ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a : 0;
    case RESIZE_BILINEAR:
        return distance < 1 ? 1 - distance : 0;
    case RESIZE_BSPLINE:
        if (distance < 1)
            return (4 - 6 * distance * distance + 3 * distance * distance * distance) / 6;
        return distance < 2 ? (2 - distance) * (2 - distance) * (2 - distance) / 6 : 0;
    case RESIZE_GAUSSIAN:
    case RESIZE_SLOPE:
        return exact_exp(-0.5 * x * x / (by->sigma * by->sigma));
    case RESIZE_BOX:
    case RESIZE_NEAREST:
        break;
    }
    return 1;
}

static bool is_gaussian(const struct resize *by)
{
    return by->filter == RESIZE_GAUSSIAN || by->filter == RESIZE_SLOPE;
}

/* Returns the distance between outputs, in samples. */
static double samples_per_output(const struct resize *by)
{
    return (double)by->from / by->to;
}

/* Returns the factor by which the filter is widened. */
static double resize_stretch(const struct resize *by)
{
    return by->aliases ? 1 : fmax(samples_per_output(by), 1);
}

/* Returns the radius of the filter in samples. */
static double resize_support(const struct resize *by)
{
    return (is_gaussian(by) ? RESIZE_GAUSSIAN_CUT * by->sigma : radii[by->filter]) * resize_stretch(by);
}

/* Returns the position of output begin + i. Position 0 is the edge of the first sample of the margin. */
static double resize_center(const struct resize *by, int i)
{
    return (by->begin + i + 0.5) * samples_per_output(by) + by->margin + by->shift;
}

/* Returns the number of samples of the axis, with its margins. */
static int resize_samples(const struct resize *by)
{
    return (by->sample_count > 0 ? by->sample_count : by->from) + 2 * by->margin;
}

/* True if the axis keeps its size and is copied. Gaussians, which have no `ends_at_border`, smooth at equal
 * size, too. */
static bool resize_is_copy(const struct resize *by, bool ends_at_border)
{
    return by->from == by->to && ends_at_border;
}

/* Returns the first sample whose centre is not left of the start of output i: i * from / to, rounded, halves
 * up. Integer arithmetic assigns each sample to one output, even if its centre is exactly between two. */
static int box_begin(const struct resize *by, int64_t i)
{
    return (int)((2 * (int64_t)by->from * i + by->to) / (2 * (int64_t)by->to));
}

/* Returns the samples under the filter of output begin + i. Without `ends_at_border` some may be outside the
 * axis. */
static struct interval resize_window(const struct resize *by, bool ends_at_border, int i)
{
    if (by->filter == RESIZE_BOX) {
        /* The samples of the box; for an enlargement, the sample that contains the output's centre. Boxes
         * have neither margin nor shift, and always end at the border. Chroma planes may have fewer samples
         * than the ratio needs for the last outputs, which get the last sample. */
        const int64_t o = (int64_t)by->begin + i;
        const bool is_reduction = by->from >= by->to;
        const int begin =
            is_reduction ? box_begin(by, o) : (int)((2 * o + 1) * by->from / (2 * (int64_t)by->to));
        const int end = is_reduction ? box_begin(by, o + 1) : begin + 1, last = resize_samples(by) - 1;
        return (struct interval){begin < last ? begin : last, end <= last ? end : last + 1};
    }
    const double middle = resize_center(by, i), reach = resize_support(by);
    if (by->filter == RESIZE_NEAREST)
        return (struct interval){(int)floor(middle), (int)floor(middle) + 1};
    double begin = floor(middle - reach + 0.5), end = floor(middle + reach + 0.5);
    if (!ends_at_border)
        return (struct interval){(int)begin, (int)end};
    return (struct interval){(int)fmax(begin, 0), (int)fmin(end, resize_samples(by))};
}

int resize_period(const struct resize *by, bool ends_at_border)
{
    return ends_at_border || by->shift != 0 || is_gaussian(by) ? 0 : by->to;
}

int resize_max_taps(const struct resize *by, bool ends_at_border)
{
    const double window = 2 * resize_support(by), corner = 2 * radii[by->filter];
    const double max = by->filter == RESIZE_NEAREST            ? 1
                       : by->corners                           ? window + corner - (by->from > by->to ? 2 : 1)
                       : resize_period(by, ends_at_border) > 0 ? window
                                                               : ceil(window) + 1;
    if (resize_is_copy(by, ends_at_border))
        return 1;
    return ends_at_border && max > resize_samples(by) ? resize_samples(by) : (int)max;
}

struct interval resize_weigh(const struct resize *by, bool ends_at_border, int i, double *weights)
{
    const struct interval window = resize_is_copy(by, ends_at_border)
                                       ? (struct interval){by->begin + i, by->begin + i + 1}
                                       : resize_window(by, ends_at_border, i);
    /* Distances from the centre are in samples of the coarser side. */
    const double middle = resize_center(by, i), unit = 1 / resize_stretch(by);
    double sum = 0;
    if (by->corners) {
        /* By way of the corners:
         *
         *     corner[i] = sum over k < taps of kernel(k - (taps - 1) / 2.0) * src[i - taps / 2 + k] */
        const int taps = (int)(2 * radii[by->filter]);
        const double reach = resize_support(by);
        /* The kernel is 0 at the ends of its support. */
        const int first = (int)floor(middle - reach) + 1, count = (int)ceil(middle + reach) - first;
        const struct interval all = {first - taps / 2, first + count + taps - 1 - taps / 2};
        double corners[MAX_CORNERS], corner[MAX_TAPS], corner_sum = 0;
        for (int k = 0; weights && k < count; k++)
            sum += corners[k] = resize_kernel(by, (first + k - middle) * unit);
        for (int k = 0; weights && k < taps; k++)
            corner_sum += corner[k] = resize_kernel(by, k - (taps - 1) / 2.0);
        for (int n = 0; weights && n < count + taps - 1; n++) {
            weights[n] = 0;
            for (int k = 0; k < taps; k++)
                if (n - k >= 0 && n - k < count)
                    weights[n] += corners[n - k] / sum * (corner[k] / corner_sum);
        }
        return all;
    }
    for (int k = window.begin; weights && k < window.end; k++)
        sum += weights[k - window.begin] = resize_kernel(by, (k - middle + 0.5) * unit);
    for (int k = window.begin; weights && k < window.end; k++) {
        weights[k - window.begin] /= sum;
        /* Derivative of the Gaussian by the output's position: weight * distance / sigma^2 per sample, times
         * samples_per_output: per output. A reduction, whose unit is not 1, would need another factor
         * `unit`. */
        if (by->filter == RESIZE_SLOPE)
            weights[k - window.begin] *=
                (k - middle + 0.5) * unit / (by->sigma * by->sigma) * samples_per_output(by);
    }
    return window;
}
