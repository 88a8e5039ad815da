/* Each function reduces its argument to where a Taylor series of a dozen terms is exact to the last place. */
#include "base/exact.h"

#include <math.h>

/* ln 2 and pi / 2 as sums, whose first parts have so many zeros at their ends that their multiples are exact.
 */
static const double LN2[] = {0x1.62e42feep-1, 0x1.a39ef35793c76p-33};
static const double HALF_PI[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};

double exact_exp(double x)
{
    if (!(x > -745))
        return x < 0 ? 0 : x;
    if (x > 710)
        return INFINITY;
    const double n = rint(x / (LN2[0] + LN2[1])), r = (x - n * LN2[0]) - n * LN2[1];
    double sum = 1;
    for (int k = 14; k > 0; k--)
        sum = 1 + r / k * sum;
    return ldexp(sum, (int)n);
}

/* The series of 2 artanh((m - 1) / (m + 1)). */
double exact_log(double x)
{
    int n;
    double m = frexp(x, &n);
    if (m < 0x1.6a09e667f3bcdp-1) {
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

/* The sine of r for |r| <= pi / 4, or its cosine. */
static double sine(double r, int cosine)
{
    const double t = r * r;
    double sum = 1;
    for (int k = 18 - cosine; k > 0; k -= 2)
        sum = 1 - t / (k * (k + 1)) * sum;
    return cosine ? sum : r * sum;
}

static double sine_from(double x, int quarters)
{
    const double n = rint(x / HALF_PI[0]), r = ((x - n * HALF_PI[0]) - n * HALF_PI[1]) - n * HALF_PI[2];
    const int quarter = ((int)fmod(n, 4) + 4 + quarters) % 4;
    const double value = sine(r, quarter & 1);
    return quarter > 1 ? -value : value;
}

double exact_sin(double x)
{
    return sine_from(x, 0);
}

double exact_cos(double x)
{
    return sine_from(x, 1);
}

double exact_hypot(double x, double y)
{
    return sqrt(x * x + y * y);
}
