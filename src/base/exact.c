/* exp, log, sin and cos by argument reduction and a series.
 *
 *     exp(x) = 2^n exp(r),             r = x - n ln 2,       |r| <= ln 2 / 2     Taylor, degree 14
 *     log(x) = n ln 2 + log(m),        x = 2^n m,            sqrt(1/2) <= m < sqrt(2)
 *     log(m) = 2 artanh(s),            s = (m - 1) / (m + 1)                     Taylor, degree 11 in s^2
 *     sin(x) = +-sin(r) or +-cos(r),   r = x - n pi / 2,     |r| <= pi / 4       Taylor, degree 9 in r^2
 *
 * The first omitted term is below half a unit in the last place of a double. Only +, -, *, /, sqrt, rint,
 * fmod, frexp and ldexp are used, whose results are defined to the bit; the build has -ffp-contract=off. */
#include "base/exact.h"

#include <math.h>

/* ln 2 and pi / 2 in parts (Cody and Waite): the low bits of all but the last part are zero, so that their
 * products with n are exact. */
static const double LN2[] = {0x1.62e42feep-1, 0x1.a39ef35793c76p-33};
static const double HALF_PI[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};

double exact_exp(double x)
{
    if (!(x > -745)) /* 0, although exp(-745) is near the smallest subnormal number; NaN stays NaN */
        return x < 0 ? 0 : x;
    if (x > 710) /* exp exceeds the largest double; from 709.79 to 710 ldexp returns infinity */
        return INFINITY;
    const double n = rint(x / (LN2[0] + LN2[1])), r = (x - n * LN2[0]) - n * LN2[1];
    double sum = 1;
    for (int k = 14; k > 0; k--)
        sum = 1 + r / k * sum;
    return ldexp(sum, (int)n);
}

double exact_log(double x)
{
    int n;
    double m = frexp(x, &n);
    if (m < 0x1.6a09e667f3bcdp-1) { /* sqrt(1/2) */
        m *= 2;
        n--;
    }
    const double s = (m - 1) / (m + 1), t = s * s;
    double sum = 0;
    for (int k = 23; k > 1; k -= 2)
        sum = t * (1.0 / k + sum);
    return n * LN2[0] + (2 * s + (2 * s * sum + n * LN2[1]));
}

double exact_pow(double x, double exponent)
{
    return x > 0 ? exact_exp(exponent * exact_log(x)) : 0;
}

double exact_srgb(double light)
{
    return light <= 0.0031308 ? 12.92 * light : 1.055 * exact_pow(light, 1 / 2.4) - 0.055;
}

/* Returns the sine of x + quarters * pi / 2, for quarters 0 or 1. */
static double sine_shifted(double x, int quarters)
{
    const double n = rint(x / HALF_PI[0]), r = ((x - n * HALF_PI[0]) - n * HALF_PI[1]) - n * HALF_PI[2];
    const int quarter = ((int)(n - 4 * floor(n / 4)) + quarters) % 4;

    /* Sum the series of sin(r), or in odd quarters of cos(r). */
    const int cosine = quarter & 1;
    const double t = r * r;
    double sum = 1;
    for (int k = 18 - cosine; k > 0; k -= 2)
        sum = 1 - t / (k * (k + 1)) * sum;
    const double value = cosine ? sum : r * sum;
    return quarter > 1 ? -value : value;
}

double exact_sin(double x)
{
    return sine_shifted(x, 0);
}

double exact_cos(double x)
{
    return sine_shifted(x, 1);
}

double exact_hypot(double x, double y)
{
    return sqrt(x * x + y * y);
}
