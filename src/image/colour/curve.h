/* Parses and evaluates tone curves. Private to src/image/colour. The caller owns the tables. Thread safety:
 * the functions use only their arguments. */
#ifndef CLIMG_IMAGE_COLOUR_CURVE_H
#define CLIMG_IMAGE_COLOUR_CURVE_H

#include "image/colour/colour.h"

/* Parses a curveType or parametricCurveType. False: it is damaged, of another type, or decreases; or out of
 * memory, which sets *out_of_memory. */
bool curve_parse(const unsigned char *tag, size_t size, struct tone_curve *curve, bool *out_of_memory);

/* Sets the curve of a transfer function of ITU-T H.273, table 3. False: it is not supported. */
bool curve_of_cicp(int transfer, struct tone_curve *curve);

/* Return a power law, and sRGB's curve (IEC 61966-2-1). */
struct tone_curve curve_power(double exponent);
struct tone_curve curve_srgb(void);

/* Convert a value to light, and light to a value; both are 1 at full scale. Arguments below 0 count as 0; for
 * tables, PQ and HLG, those above 1 count as 1. */
double curve_decode(const struct tone_curve *curve, double v);
double curve_encode(const struct tone_curve *curve, double light);

/* Fills a table of CURVE_TABLE_SIZE floats with values of a function, which is mirrored or constant below 0.
 */
void curve_fill(float *table, bool is_mirrored, double (*function)(const void *context, double v),
                const void *context);

/* True if the curves have the same formula and parameters. False for tables. */
bool curve_is_equal(const struct tone_curve *a, const struct tone_curve *b);

/* True if the light of the curves differs by at most `tolerance` at each of 64 values. */
bool curve_is_near(const struct tone_curve *a, const struct tone_curve *b, double tolerance);

#endif
