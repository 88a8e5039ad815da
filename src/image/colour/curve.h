/* Tone curves: reading them from profiles, and their values. Private to this folder. Pure functions; tables
 * are owned by the caller's space. */
#ifndef CLIMG_IMAGE_COLOUR_CURVE_H
#define CLIMG_IMAGE_COLOUR_CURVE_H

#include "image/colour/colour.h"

/* Reads a curveType or parametricCurveType. False: it is damaged, of another type, or does not increase; or
 * memory is out, which sets *out_of_memory. */
bool curve_parse(const unsigned char *tag, size_t size, struct tone_curve *curve, bool *out_of_memory);

/* Makes the curve of a transfer function of ITU-T H.273, table 3. False: it is not supported. */
bool curve_of_cicp(int transfer, struct tone_curve *curve);

/* Returns a power law, and sRGB's curve (IEC 61966-2-1). */
struct tone_curve curve_power(double exponent);
struct tone_curve curve_srgb(void);

/* Convert a value to linear light (1: full scale), and linear light to a value. Negative arguments count as
 * 0; tables, PQ and HLG end at 1. */
double curve_decode(const struct tone_curve *curve, double v);
double curve_encode(const struct tone_curve *curve, double light);

/* Fills a table of CURVE_TABLE_SIZE floats with a function. Below 0 the table mirrors it (is_mirrored) or is
 * constant. */
void curve_fill(float *table, bool is_mirrored, double (*function)(const void *context, double v),
                const void *context);

/* True if the curves have the same formula and numbers. Tables of profiles are not compared. */
bool curve_is_equal(const struct tone_curve *a, const struct tone_curve *b);

/* True if the curves differ by at most `tolerance` of light at each of 64 values. */
bool curve_is_near(const struct tone_curve *a, const struct tone_curve *b, double tolerance);

#endif
