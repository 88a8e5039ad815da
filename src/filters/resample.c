/* Interpolation kernels and the weights made from them.
 *
 *   BICUBIC   Keys' cubic convolution, a = -0.5 (R. Keys, IEEE TASSP 29, 1981)
 *   BILINEAR  triangle
 *   BSPLINE   cubic B-spline
 *   LANCZOS   sinc(x) sinc(x / 3) (C. Duchon, J. Appl. Meteorology 18, 1979)
 *
 * The first half serves --scale, whose factors are powers of two: all weights are a short periodic table.
 * Positions count from the centre of sample 0, so sample i is at i. With grid=corners the pixel corners are
 * interpolated from the samples, and the outputs from the corners. interpolate_corners merges both into one
 * filter.
 *
 * The second half serves --resize and the coarse grid of wide Gaussians: weights are computed output by
 * output. Positions count from the edge of sample 0, so sample i is from i to i + 1, its centre at i + 0.5.
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

/* Returns the interpolation kernel at distance x in samples. The B-spline has no prefilter, so it smooths. */
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
    static const int taps[] = {[RESAMPLE_BICUBIC] = 4,
                               [RESAMPLE_BILINEAR] = 2,
                               [RESAMPLE_BSPLINE] = 4,
                               [RESAMPLE_NEAREST] = 1,
                               [RESAMPLE_LANCZOS] = 6};
    return taps[resampler];
}

/* Stores the weights of samples first, first + 1, ... for an output at `position`. They sum to 1. */
static void kernel_weigh(enum resampler resampler, double position, int first, double *weights)
{
    int taps = kernel_taps(resampler);
    double sum = 0;
    for (int k = 0; k < taps; k++)
        sum += weights[k] = kernel_at(resampler, position - (first + k));
    for (int k = 0; k < taps; k++)
        weights[k] /= sum;
}

/* Converts weights of corners 0 to count - 1 into weights of samples -taps / 2 to count + taps / 2 - 2.
 * Corner i, at i - 0.5, is a weighted sum of `taps` samples:
 *
 *     corner[i] = sum over k < taps of kernel(k - (taps - 1) / 2.0) * src[i - taps / 2 + k] */
static void interpolate_corners(enum resampler resampler, const double *corners, int count, float *weights)
{
    int taps = kernel_taps(resampler);
    double corner_weights[MAX_RESAMPLE_TAPS] = {0}; /* clang-tidy does not see that all taps are set */
    kernel_weigh(resampler, (taps - 1) / 2.0, 0, corner_weights);
    for (int n = 0; n < count + taps - 1; n++) {
        double sum = 0;
        for (int k = 0; k < taps; k++)
            if (n - k >= 0 && n - k < count)
                sum += corners[n - k] * corner_weights[k];
        weights[n] = (float)sum;
    }
}

void enlarge_filter(enum resampler resampler, enum grid grid, int factor, float *weights,
                    struct filter *filter)
{
    const int kernel = kernel_taps(resampler), taps = grid == GRID_CORNERS ? 2 * kernel - 1 : kernel;
    double phase[MAX_RESAMPLE_TAPS];
    /* An even window moves on to the next sample in the middle of a period, an odd one at its start:
     * filter.lead shifts it. */
    const int lead = taps % 2 == 0 ? factor - factor / 2 : 0;
    *filter = (struct filter){
        .weights = weights, .taps = taps, .start = -(taps / 2), .step = 1, .period = factor, .lead = lead};
    for (int p = 0; p < factor; p++, weights += taps) {
        if (resampler == RESAMPLE_NEAREST) {
            weights[0] = 1;
        } else if (grid == GRID_CORNERS) {
            /* Counted from corner i, output factor * i + p is at (p + 0.5) / factor. Its window has corners
             * 1 - kernel / 2 to kernel / 2. */
            kernel_weigh(resampler, (p + 0.5) / factor, 1 - kernel / 2, phase);
            interpolate_corners(resampler, phase, kernel, weights);
        } else {
            /* Counted from sample i. From the middle of the period on, the window begins a sample later. */
            const int first = (p >= factor / 2) - kernel / 2;
            kernel_weigh(resampler, (p + 0.5) / factor - 0.5, first, phase);
            for (int k = 0; k < kernel; k++)
                weights[k] = (float)phase[k];
        }
    }
}

/* Computes a reduction on the grid of corners. Output d is at corner factor * d + factor / 2, so the window
 * is odd. The kernel is 0 at both ends, which are omitted. Returns the number of taps. */
static int reduce_corners(enum resampler resampler, int factor, int stretch, float *weights, int *start)
{
    double corners[MAX_RESAMPLE_TAPS * MAX_FACTOR], sum = 0;
    int taps = kernel_taps(resampler), half = taps / 2 * stretch - 1, count = 2 * half + 1;
    for (int k = 0; k < count; k++)
        sum += corners[k] = kernel_at(resampler, (double)(k - half) / stretch);
    for (int k = 0; k < count; k++)
        corners[k] /= sum;
    interpolate_corners(resampler, corners, count, weights);
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
    const int stretch = antialias ? factor : 1;
    *filter =
        (struct filter){.weights = weights, .taps = 1, .start = factor / 2, .step = factor, .period = 1};
    if (resampler == RESAMPLE_NEAREST)
        weights[0] = 1;
    else
        filter->taps = (grid == GRID_CORNERS ? reduce_corners : reduce_centers)(resampler, factor, stretch,
                                                                                weights, &filter->start);
}

/* ---------------------------------------------------------------- any size */

/* Returns the kernel of a resize, without normalisation, at distance x in samples of the coarser side. The
 * box is 1 everywhere; resize_window limits it. */
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
static double samples_per_output(const struct resize *by)
{
    return (double)by->from / by->to;
}

/* Returns the factor by which the filter is widened. */
static double resize_stretch(const struct resize *by)
{
    return fmax(samples_per_output(by), 1);
}

/* Returns the radius of the filter in samples. */
static double resize_support(const struct resize *by)
{
    static const double radius[] = {
        [RESIZE_LANCZOS] = 3, [RESIZE_BICUBIC] = 2, [RESIZE_BILINEAR] = 1, [RESIZE_BOX] = 0.5};
    const bool is_gaussian = by->filter == RESIZE_GAUSSIAN || by->filter == RESIZE_SLOPE;
    return (is_gaussian ? RESIZE_GAUSSIAN_CUT * by->sigma : radius[by->filter]) * resize_stretch(by);
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
    return (int)((2 * by->from * i + by->to) / (2 * (int64_t)by->to));
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
    double begin = floor(middle - reach + 0.5), end = floor(middle + reach + 0.5);
    if (!ends_at_border)
        return (struct interval){(int)begin, (int)end};
    return (struct interval){(int)fmax(begin, 0), (int)fmin(end, resize_samples(by))};
}

int resize_max_taps(const struct resize *by, bool ends_at_border)
{
    double max = ceil(2 * resize_support(by)) + 1;
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
