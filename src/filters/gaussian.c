#include "filters/gaussian.h"

#include <math.h>

int gaussian_radius(double sigma, double truncate)
{
    return (int)floor(truncate * sigma + 0.5);
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
