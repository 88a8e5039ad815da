/* Reads and writes ICC profiles by Little CMS. Private to src/image/colour. Thread safety: the functions use
 * only their arguments. */
#ifndef CLIMG_IMAGE_COLOUR_PROFILE_H
#define CLIMG_IMAGE_COLOUR_PROFILE_H

#include "image/colour/lcms.h"

/* CIE x and y of white, red, green and blue: eight numbers, as in PNG's cHRM. */
typedef double chromaticities[8];

/* XYZ of the white of the profile connection space. */
extern const double D50[3];

enum { PROFILE_MAX = 64 << 20 /* bytes; the largest printer profiles have 10 MB */ };

/* Returns the chromaticities of a value of ColourPrimaries (ITU-T H.273, table 2), or NULL if the value is
 * not supported. */
const double *profile_cicp_primaries(int number);

/* Creates an RGB profile with the chromaticities `xy`, or if `xy` is NULL a gray one. `peak` is the light at
 * full scale relative to white; light above white is clipped. Equal arguments give equal bytes. The caller
 * frees icc->data, which is NULL on failure. */
enum status profile_write(const char *name, const double *xy, const struct tone_curve *curve, double peak,
                          struct blob *icc, struct error *error);

/* Sets `adapt` to the linear Bradford transform from `white` (XYZ) to D50 (ICC.1:2022, annex E). */
void profile_adapt_white(const double white[3], double adapt[3][3]);

/* Sets to_xyz, luminance and primaries from chromaticities (SMPTE RP 177). They are exact, while the numbers
 * of a profile are rounded. Does nothing if the primaries are on a line. */
void profile_set_primaries(struct colour_space *space, const double *xy);

/* Sets `exponent` and `is_srgb` from the curves and the matrix. If the matrix is nearly BT.709's, also sets
 * `luminance` to the exact weights of BT.709. The matrices of sRGB profiles differ in the third digit, and
 * some profiles are adapted to D50 without saying so. */
void profile_recognise(struct colour_space *space);

/* Frees the tables of curves, and makes the curves linear. */
void profile_free_curves(struct colour_space *space);

/* Reads a profile into a zeroed space, whose memory the caller frees also on failure. */
enum status profile_read(struct colour_space *space, const void *icc, size_t size, struct error *error);

#endif
