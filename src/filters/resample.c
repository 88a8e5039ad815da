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

int resample_taps(enum resampler resampler)
{
    static const int taps[] = {4, 2, 4, 0};
    return taps[resampler];
}

void enlarge_weights(enum resampler resampler, int factor, float *weights)
{
    int taps = resample_taps(resampler);
    for (int p = 0; p < factor; p++)
        for (int k = 0; k < taps; k++) {
            double source = (p + 0.5) / factor - 0.5; /* relative to sample i */
            int position = k - taps / 2 + (p >= factor / 2);
            weights[p * taps + k] = (float)resample_kernel(resampler, source - position);
        }
}

int reduce_weights(enum resampler resampler, int factor, int antialias, float *weights, int *start)
{
    if (resampler == RESAMPLE_NEAREST) {
        weights[0] = 1;
        *start = factor / 2;
        return 1;
    }
    double stretch = antialias ? factor : 1, sum = 0;
    int taps = resample_taps(resampler) * (antialias ? factor : 1);
    /* Output 0 lies at factor / 2 - 0.5, between two samples, so the window is even and symmetric. */
    *start = factor / 2 - taps / 2;
    int half = taps / 2;
    for (int k = -half; k < half; k++)
        sum += resample_kernel(resampler, (k + 0.5) / stretch);
    for (int k = -half; k < half; k++)
        weights[k + half] = (float)(resample_kernel(resampler, (k + 0.5) / stretch) / sum);
    return taps;
}
