/* Reads and writes ICC profiles by Little CMS. Private to src/image/colour. Thread safety: the functions use
 * only their arguments. */
#ifndef CLIMG_IMAGE_COLOUR_PROFILE_H
#define CLIMG_IMAGE_COLOUR_PROFILE_H

#include "image/colour/lcms.h"

/* x and y of white, red, green and blue, as in PNG's cHRM. */
typedef double chromaticities[8];

/* XYZ of the white of the profile connection space. */
extern const double D50[3];

enum { PROFILE_MAX = 64 << 20 /* bytes; the largest printer profiles have 10 MB */ };

/* Returns the primaries of a number in H.273, table 2, or NULL. */
const double *profile_cicp_primaries(int number);

/* Writes an RGB profile, or if `xy` is NULL a gray one. Equal arguments give equal bytes. The caller frees
 * icc->data. */
enum status profile_write(const char *name, const double *xy, const struct tone_curve *curve, double peak,
                          struct blob *icc, struct error *error);

/* Sets `adapt` to the linear Bradford transform of XYZ from a white to D50 (ICC.1:2022, annex E). */
void profile_adapt_white(const double white[3], double adapt[3][3]);

/* Sets matrix, luminance and primaries from chromaticities (SMPTE RP 177), without the rounding of a profile.
 */
void profile_set_primaries(struct colour_space *space, const double *xy);

/* Sets `exponent` and `is_srgb` from curves and matrix. If the matrix is nearly BT.709's, sets `luminance` to
 * BT.709's: sRGB profiles differ in the third digit, and some are adapted to D50 without saying so. */
void profile_recognise(struct colour_space *space);

/* Frees the tables of curves, and makes the curves linear. */
void profile_free_curves(struct colour_space *space);

/* Reads a profile into a zeroed space, whose memory the caller frees also on failure. */
enum status profile_read(struct colour_space *space, const void *icc, size_t size, struct error *error);

#endif
