/* Functions of libm that are the same on every system: the bits of a result depend on them. libm's exp() and
 * sin() differ from system to system in the last bit, and so would weights that are made by them. These are
 * series of correctly rounded operations, off by a few units in the last place of a double; a weight is
 * rounded to a float then. */
#ifndef CLIMG_BASE_EXACT_H
#define CLIMG_BASE_EXACT_H

double exact_exp(double x);

/* x > 0. */
double exact_log(double x);

/* x >= 0. */
double exact_pow(double x, double exponent);

/* |x| < 1e6. */
double exact_sin(double x);
double exact_cos(double x);

/* Without a guard against overflow. */
double exact_hypot(double x, double y);

#endif
