#include "filters/resample.h"

#include <math.h>

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

double resample_kernel(enum resampler resampler, double x)
{
    x = fabs(x);
    switch (resampler) {
    case RESAMPLE_BICUBIC:
        return keys(x);
    case RESAMPLE_BILINEAR:
        return x < 1 ? 1 - x : 0;
    case RESAMPLE_BSPLINE:
        return cubic_spline(x);
    case RESAMPLE_NEAREST:
        break;
    }
    return x <= 0.5;
}

/* Samples that the kernel reaches at any place between two of them. */
static int kernel_taps(enum resampler resampler)
{
    static const int taps[] = {4, 2, 4, 1};
    return taps[resampler];
}

static int enlarge_taps(enum resampler resampler, enum grid grid)
{
    int taps = kernel_taps(resampler);
    return grid == GRID_CORNERS ? 2 * taps - 1 : taps;
}

/* The half-pixel step. Corner i lies at i - 0.5 of the pixels' centres:
 *
 *     corner[i] = sum over k < taps of kernel(k - (taps - 1) / 2) * src[i - taps / 2 + k]
 *
 * which makes weights of `count` corners into those of count + taps - 1 samples, from taps / 2 before the
 * first corner on. */
static void fuse_half_step(enum resampler resampler, const double *corners, int count, float *weights)
{
    int taps = kernel_taps(resampler);
    for (int n = 0; n < count + taps - 1; n++) {
        double sum = 0;
        for (int k = 0; k < taps; k++)
            if (n - k >= 0 && n - k < count)
                sum += corners[n - k] * resample_kernel(resampler, k - (taps - 1) / 2.0);
        weights[n] = (float)sum;
    }
}

/* Output factor * i + p lies at i + (p + 0.5) / factor of the corners, among corners i - taps / 2 + 1 to
 * i + taps / 2. */
static void corner_phase(enum resampler resampler, int factor, int p, float *weights)
{
    double corners[4];
    int taps = kernel_taps(resampler), first = 1 - taps / 2;
    for (int k = 0; k < taps; k++)
        corners[k] = resample_kernel(resampler, (p + 0.5) / factor - (first + k));
    fuse_half_step(resampler, corners, taps, weights);
}

static void center_phase(enum resampler resampler, int factor, int p, float *weights)
{
    int taps = kernel_taps(resampler), first = (p >= factor / 2) - taps / 2;
    double source = (p + 0.5) / factor - 0.5; /* relative to sample i */
    for (int k = 0; k < taps; k++)
        weights[k] = (float)resample_kernel(resampler, source - (first + k));
}

void enlarge_filter(enum resampler resampler, enum grid grid, int factor, float *weights,
                    struct filter *filter)
{
    const int taps = enlarge_taps(resampler, grid);
    /* An even number of taps lies around the output, and changes halfway from one sample to the next. */
    const int lead = taps % 2 == 0 ? factor - factor / 2 : 0;
    *filter = (struct filter){weights, taps, -(taps / 2), .step = 1, .period = factor, .lead = lead};
    for (int p = 0; p < factor; p++)
        if (resampler == RESAMPLE_NEAREST)
            weights[p] = 1;
        else
            (grid == GRID_CORNERS ? corner_phase : center_phase)(resampler, factor, p, weights + p * taps);
}

/* Output d lies on corner factor * d + factor / 2, at whole distances from the other corners. */
static int reduce_corners(enum resampler resampler, int factor, int stretch, float *weights, int *start)
{
    double corners[4 * MAX_FACTOR], sum = 0;
    int taps = kernel_taps(resampler), half = taps / 2 * stretch - 1, count = 2 * half + 1;
    for (int k = 0; k < count; k++)
        sum += corners[k] = resample_kernel(resampler, (double)(k - half) / stretch);
    for (int k = 0; k < count; k++)
        corners[k] /= sum;
    fuse_half_step(resampler, corners, count, weights);
    *start = factor / 2 - half - taps / 2;
    return count + taps - 1;
}

/* Output d lies at factor * d + factor / 2 - 0.5, between two samples, so the window is even. */
static int reduce_centers(enum resampler resampler, int factor, int stretch, float *weights, int *start)
{
    int half = kernel_taps(resampler) / 2 * stretch;
    double sum = 0;
    for (int k = -half; k < half; k++)
        sum += resample_kernel(resampler, (k + 0.5) / stretch);
    for (int k = -half; k < half; k++)
        weights[k + half] = (float)(resample_kernel(resampler, (k + 0.5) / stretch) / sum);
    *start = factor / 2 - half;
    return 2 * half;
}

void reduce_filter(enum resampler resampler, enum grid grid, int factor, bool antialias, float *weights,
                   struct filter *filter)
{
    const int stretch = antialias ? factor : 1;
    *filter = (struct filter){weights, 1, factor / 2, .step = factor, .period = 1};
    if (resampler == RESAMPLE_NEAREST)
        weights[0] = 1;
    else
        filter->taps = (grid == GRID_CORNERS ? reduce_corners : reduce_centers)(resampler, factor, stretch,
                                                                                weights, &filter->start);
}
