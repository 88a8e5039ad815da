#include "filters/gaussian.h"

#include <math.h>

/* Standard deviations from the middle to half a pixel behind the last weight. */
static const double UNTRUNCATED = 4.75;

/* On GPUs smaller ones are faster as they are; on two cores of a CPU those below 4. */
static const double COARSE_MIN_SIGMA = 6;

int gaussian_radius(double sigma, double truncate)
{
    return truncate > 0 ? (int)floor(truncate * sigma + 0.5) : (int)ceil(UNTRUNCATED * sigma - 0.5);
}

bool gaussian_is_coarse(double sigma, double truncate)
{
    return truncate == 0 && sigma >= COARSE_MIN_SIGMA;
}

static double gaussian_sum(double sigma, int radius)
{
    double sum = 0;
    for (int i = -radius; i <= radius; i++)
        sum += exp(-0.5 * i * i / (sigma * sigma));
    return sum;
}

void gaussian_weights(double sigma, int radius, float *weights)
{
    double sum = gaussian_sum(sigma, radius);
    for (int i = -radius; i <= radius; i++)
        weights[i + radius] = (float)(exp(-0.5 * i * i / (sigma * sigma)) / sum);
}

void gaussian_derivative_weights(double sigma, int radius, float *weights)
{
    double sum = gaussian_sum(sigma, radius);
    for (int i = -radius; i <= radius; i++)
        weights[i + radius] = (float)(i / (sigma * sigma) * exp(-0.5 * i * i / (sigma * sigma)) / sum);
}
