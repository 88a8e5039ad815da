/* Elementary functions with the same bits on every system, for weights and other numbers that pixels depend
 * on. libm's exp() and sin() differ in the last bit between versions of glibc and between C libraries.
 *
 * The functions are series of correctly rounded operations. Their error is a few units in the last place of a
 * double. Weights are rounded to float, which is much coarser. Pure functions; any thread may call. */
#ifndef CLIMG_BASE_EXACT_H
#define CLIMG_BASE_EXACT_H

/* Returns e to the power of x: 0 if x <= -745, infinity beyond the largest double, NaN for NaN. */
double exact_exp(double x);

/* Returns the natural logarithm. x > 0 and finite. */
double exact_log(double x);

/* Returns x to the power of `exponent`. x >= 0; 0 to any power is 0. */
double exact_pow(double x, double exponent);

/* Applies the curve of sRGB (IEC 61966-2-1) to linear light; 1 is full scale for both. */
double exact_srgb(double light);

/* Return sine and cosine of x in radians. |x| < 1e6, as the reduction of larger x is not exact. */
double exact_sin(double x);
double exact_cos(double x);

/* Returns sqrt(x * x + y * y). The squares must not overflow. */
double exact_hypot(double x, double y);

#endif
