/* Interpolation kernels and the weights made from them.
 *
 *   keys          Keys' cubic convolution, a = -0.5 (R. Keys, IEEE TASSP 29, 1981)
 *   triangle      linear interpolation
 *   cubic_spline  cubic B-spline
 *   lanczos       sinc(x) sinc(x / 3) (C. Duchon, J. Appl. Meteorology 18, 1979)
 *
 * The first half serves --scale, whose factors are powers of two: all weights are a short periodic table.
 * grid=corners interpolates twice; the two steps are merged into one filter (fuse_half_step). The second half
 * serves --resize and the coarse grid of wide Gaussians: weights are computed output by output, and
 * filters/axis.c merges equal ones. Positions use the pixel-area convention: pixel i extends from i to i + 1.
 */
#include "filters/resample.h"

#include "base/exact.h"

#include <math.h>
#include <stdint.h>

static double keys(double x)
{
    const double a = -0.5;
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double cubic_spline(double x)
{
    if (x < 1)
        return (4 - 6 * x * x + 3 * x * x * x) / 6;
    return x < 2 ? (2 - x) * (2 - x) * (2 - x) / 6 : 0;
}

static double sinc(double x)
{
    static const double PI = 3.14159265358979323846;
    return x == 0 ? 1 : exact_sin(PI * x) / (PI * x);
}

/* Returns the interpolation kernel at distance x. The B-spline has no prefilter, so it smooths. */
static double kernel_at(enum resampler resampler, double x)
{
    x = fabs(x);
    switch (resampler) {
    case RESAMPLE_BICUBIC:
        return keys(x);
    case RESAMPLE_BILINEAR:
        return x < 1 ? 1 - x : 0;
    case RESAMPLE_BSPLINE:
        return cubic_spline(x);
    case RESAMPLE_LANCZOS:
        return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case RESAMPLE_NEAREST:
        break;
    }
    return x <= 0.5;
}

/* Returns the number of samples under the kernel. */
static int kernel_taps(enum resampler resampler)
{
    static const int taps[] = {4, 2, 4, 1, 6};
    return taps[resampler];
}

/* Stores the weights of samples first, first + 1, ... for an output at position `place`. They sum to 1. */
static void weigh(enum resampler resampler, double place, int first, double *weights)
{
    int taps = kernel_taps(resampler);
    double sum = 0;
    for (int k = 0; k < taps; k++)
        sum += weights[k] = kernel_at(resampler, place - (first + k));
    for (int k = 0; k < taps; k++)
        weights[k] /= sum;
}

/* Converts weights of `count` corners into weights of count + taps - 1 samples, of which the first is taps /
 * 2 before the first corner. Corner i is at i - 0.5, in samples whose centres are whole numbers:
 *
 *     corner[i] = sum over k < taps of kernel(k - (taps - 1) / 2) * src[i - taps / 2 + k] */
static void fuse_half_step(enum resampler resampler, const double *corners, int count, float *weights)
{
    int taps = kernel_taps(resampler);
    double halves[MAX_RESAMPLE_TAPS] = {0}; /* clang-tidy does not see that all taps are set */
    weigh(resampler, (taps - 1) / 2.0, 0, halves);
    for (int n = 0; n < count + taps - 1; n++) {
        double sum = 0;
        for (int k = 0; k < taps; k++)
            if (n - k >= 0 && n - k < count)
                sum += corners[n - k] * halves[k];
        weights[n] = (float)sum;
    }
}

void enlarge_filter(enum resampler resampler, enum grid grid, int factor, float *weights,
                    struct filter *filter)
{
    const int under = kernel_taps(resampler), taps = grid == GRID_CORNERS ? 2 * under - 1 : under;
    double phase[MAX_RESAMPLE_TAPS];
    /* A window with an even number of taps advances halfway between two samples. */
    const int lead = taps % 2 == 0 ? factor - factor / 2 : 0;
    *filter = (struct filter){weights, taps, -(taps / 2), .step = 1, .period = factor, .lead = lead};
    for (int p = 0; p < factor; p++, weights += taps) {
        if (resampler == RESAMPLE_NEAREST) {
            weights[0] = 1;
        } else if (grid == GRID_CORNERS) {
            /* Output factor * i + p is at i + (p + 0.5) / factor, between corners i - under / 2 + 1 and
             * i + under / 2. */
            weigh(resampler, (p + 0.5) / factor, 1 - under / 2, phase);
            fuse_half_step(resampler, phase, under, weights);
        } else {
            weigh(resampler, (p + 0.5) / factor - 0.5, (p >= factor / 2) - under / 2, phase);
            for (int k = 0; k < under; k++)
                weights[k] = (float)phase[k];
        }
    }
}

/* Computes a reduction on the grid of corners. Output d is at corner factor * d + factor / 2, so the window
 * is odd. Returns the number of taps. */
static int reduce_corners(enum resampler resampler, int factor, int stretch, float *weights, int *start)
{
    double corners[MAX_RESAMPLE_TAPS * MAX_FACTOR], sum = 0;
    int taps = kernel_taps(resampler), half = taps / 2 * stretch - 1, count = 2 * half + 1;
    for (int k = 0; k < count; k++)
        sum += corners[k] = kernel_at(resampler, (double)(k - half) / stretch);
    for (int k = 0; k < count; k++)
        corners[k] /= sum;
    fuse_half_step(resampler, corners, count, weights);
    *start = factor / 2 - half - taps / 2;
    return count + taps - 1;
}

/* Computes a reduction on the grid of centres. Output d is at factor * d + factor / 2 - 0.5, between two
 * samples, so the window is even. Returns the number of taps. */
static int reduce_centers(enum resampler resampler, int factor, int stretch, float *weights, int *start)
{
    int half = kernel_taps(resampler) / 2 * stretch;
    double sum = 0;
    for (int k = -half; k < half; k++)
        sum += kernel_at(resampler, (k + 0.5) / stretch);
    for (int k = -half; k < half; k++)
        weights[k + half] = (float)(kernel_at(resampler, (k + 0.5) / stretch) / sum);
    *start = factor / 2 - half;
    return 2 * half;
}

void reduce_filter(enum resampler resampler, enum grid grid, int factor, bool antialias, float *weights,
                   struct filter *filter)
{
    const int wider = antialias ? factor : 1;
    *filter = (struct filter){weights, 1, factor / 2, .step = factor, .period = 1};
    if (resampler == RESAMPLE_NEAREST)
        weights[0] = 1;
    else
        filter->taps = (grid == GRID_CORNERS ? reduce_corners : reduce_centers)(resampler, factor, wider,
                                                                                weights, &filter->start);
}

/* ---------------------------------------------------------------- any size */

/* Returns the kernel of a resize, without normalisation, at distance x. The window bounds the box. */
static double resize_kernel(const struct resize *by, double x)
{
    switch (by->filter) {
    case RESIZE_LANCZOS:
        return kernel_at(RESAMPLE_LANCZOS, x);
    case RESIZE_BICUBIC:
        return kernel_at(RESAMPLE_BICUBIC, x);
    case RESIZE_BILINEAR:
        return kernel_at(RESAMPLE_BILINEAR, x);
    case RESIZE_GAUSSIAN:
    case RESIZE_SLOPE:
        return exact_exp(-0.5 * x * x / (by->sigma * by->sigma));
    case RESIZE_BOX:
        break;
    }
    return 1;
}

/* Returns the distance between outputs, in samples. */
static double resize_scale(const struct resize *by)
{
    return (double)by->from / by->to;
}

/* Returns the factor by which the filter is widened. */
static double resize_stretch(const struct resize *by)
{
    return fmax(resize_scale(by), 1);
}

/* Returns the radius of the filter in samples. */
static double resize_support(const struct resize *by)
{
    static const double supports[] = {3, 2, 1, 0.5};
    double reach = by->filter < RESIZE_GAUSSIAN ? supports[by->filter] : RESIZE_GAUSSIAN_CUT * by->sigma;
    return reach * resize_stretch(by);
}

/* Returns the position of output i, if sample 0 extends from 0 to 1. */
static double resize_center(const struct resize *by, int i)
{
    return (by->begin + i + 0.5) * resize_scale(by) + by->margin + by->shift;
}

/* Returns the number of samples of the axis, with its margins. */
static int resize_samples(const struct resize *by)
{
    return (by->held > 0 ? by->held : by->from) + 2 * by->margin;
}

/* True if the axis keeps its size and is copied. A Gaussian (not cut) smooths even then. */
static bool resize_is_copy(const struct resize *by, bool cut)
{
    return by->from == by->to && cut;
}

/* Returns the first sample whose centre is not left of the start of output i, i * from / to: rounded half up.
 * Integer arithmetic assigns each sample to one output, even if its centre is exactly between two. */
static int box_begin(const struct resize *by, int64_t i)
{
    return (int)((2 * by->from * i + by->to) / (2 * (int64_t)by->to));
}

/* Returns the samples under the filter of output i. Without `cut` some of them may be outside the axis. */
static struct rows resize_window(const struct resize *by, bool cut, int i)
{
    if (by->filter == RESIZE_BOX) {
        /* The samples of the box; for an enlargement, the sample that contains the output's centre. */
        const int64_t o = (int64_t)by->begin + i;
        const bool shrinks = by->from >= by->to;
        const int begin = shrinks ? box_begin(by, o) : (int)((2 * o + 1) * by->from / (2 * (int64_t)by->to));
        const int end = shrinks ? box_begin(by, o + 1) : begin + 1, last = resize_samples(by) - 1;
        return (struct rows){begin < last ? begin : last, end <= last ? end : last + 1};
    }
    double middle = resize_center(by, i), reach = resize_support(by);
    double begin = floor(middle - reach + 0.5), end = floor(middle + reach + 0.5);
    if (!cut)
        return (struct rows){(int)begin, (int)end};
    return (struct rows){(int)fmax(begin, 0), (int)fmin(end, resize_samples(by))};
}

int resize_max_taps(const struct resize *by, bool cut)
{
    double max = ceil(2 * resize_support(by)) + 1;
    if (resize_is_copy(by, cut))
        return 1;
    return cut && max > resize_samples(by) ? resize_samples(by) : (int)max;
}

struct rows resize_weigh(const struct resize *by, bool cut, int i, double *weights)
{
    struct rows under =
        resize_is_copy(by, cut) ? (struct rows){by->begin + i, by->begin + i + 1} : resize_window(by, cut, i);
    double middle = resize_center(by, i), shrink = 1 / resize_stretch(by), sum = 0;
    for (int k = under.begin; weights && k < under.end; k++)
        sum += weights[k - under.begin] = resize_kernel(by, (k - middle + 0.5) * shrink);
    for (int k = under.begin; weights && k < under.end; k++) {
        weights[k - under.begin] /= sum;
        /* A Gaussian times distance / variance is its derivative, here in outputs. */
        if (by->filter == RESIZE_SLOPE)
            weights[k - under.begin] *=
                (k - middle + 0.5) * shrink / (by->sigma * by->sigma) * resize_scale(by);
    }
    return under;
}
