/* ICC profiles, written and read by Little CMS. Private to this folder. Pure functions, but for what they
 * allocate: spaces own it. */
#ifndef CLIMG_IMAGE_COLOUR_PROFILE_H
#define CLIMG_IMAGE_COLOUR_PROFILE_H

#include "image/colour/lcms.h"

/* Primaries and white of a space: x and y of white, red, green, blue, as in cHRM. */
typedef double chromaticities[8];

extern const chromaticities REC709;

/* XYZ of the white of all profiles. */
extern const double D50[3];

enum { PROFILE_MAX = 64 << 20 /* bytes: the largest profiles of printers have 10 MB */ };

/* Returns the primaries of H.273, table 2, or NULL. */
const double *profile_cicp_primaries(int number);

/* Writes a profile of RGB, or of gray without primaries, with the same bytes each time. The caller frees
 * icc->data. */
enum status profile_write(const char *name, const double *xy, const struct tone_curve *curve, double peak,
                          struct blob *icc, struct error *error);

/* Computes the linear Bradford transform of XYZ from a white to D50 (ICC.1:2022, annex E). */
void profile_adapt_white(const double white[3], double adapt[3][3]);

/* Sets matrix and luminance from primaries (SMPTE RP 177), without the rounding of a profile. */
void profile_set_primaries(struct colour_space *space, const double *xy);

/* Sets what is known of curves and primaries: the exponent of power laws, and sRGB. Luminances near
 * BT.709's are replaced by these: profiles of sRGB differ in the third digit, and some are adapted to D50
 * without saying so. */
void profile_recognise(struct colour_space *space);

/* Frees tables of curves; the curves become linear. */
void profile_free_curves(struct colour_space *space);

/* Reads a profile into a zeroed space, which then owns memory also on failure. */
enum status profile_read(struct colour_space *space, const void *icc, size_t size, struct error *error);

#endif
