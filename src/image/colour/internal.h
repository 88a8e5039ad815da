/* Private to src/image/colour: what its files share, by the file that defines it. Thread safety: the
 * functions use only their arguments, except colour_links_drop, which any thread may call. */
#ifndef CLIMG_IMAGE_COLOUR_INTERNAL_H
#define CLIMG_IMAGE_COLOUR_INTERNAL_H

#include "image/colour/colour.h"

#include <lcms2.h>

/* ---------------- curve.c: tone curves. The caller owns their tables. */

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

/* Fills a table of CURVE_TABLE_SIZE floats (colour.h) with a function f. Below 0 it continues as
 * 2 f(0) - f(-v) if `is_mirrored`, else as f(0). */
void curve_fill(float *table, bool is_mirrored, double (*function)(const void *context, double v),
                const void *context);

/* True if the curves have the same formula and parameters, or equal tables. */
bool curve_is_equal(const struct tone_curve *a, const struct tone_curve *b);

/* True if the light of the curves differs by at most `tolerance` at each of 64 values. */
bool curve_is_near(const struct tone_curve *a, const struct tone_curve *b, double tolerance);

/* ---------------- profile_read.c: ICC profiles ─▶ struct colour_space, by Little CMS */

/* CIE x and y of white, red, green and blue: eight numbers, as in PNG's cHRM. */
typedef double chromaticities[8];

/* XYZ of the white of the profile connection space. */
extern const double D50[3];

/* Inverts a 3x3 matrix. False: it is singular. */
bool matrix_invert(double (*m)[3], double (*inverse)[3]);

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

/* ---------------- profile_write.c: contexts of Little CMS, limits on profiles, profiles that climg makes */

enum { LCMS_MESSAGE = 256 /* bytes of a message, with its NUL */ };

/* Opens a context that copies its first error to `message`, which must outlive it. NULL on failure. */
cmsContext lcms_open(char message[LCMS_MESSAGE], struct error *error);

/* Fails with "ICC profile cannot be used: " and a reason, such as Little CMS's message; "": it is damaged. */
enum status lcms_fail(const char *reason, struct error *error);

/* True if a tag D2Bx or B2Dx (multiProcessElements) has more than `max_count` elements or 1 MiB. A hostile
 * profile could take hours: each element is evaluated for every colour, may have thousands of segments, and
 * may share its data with others. Real profiles have at most three elements. */
bool lcms_has_many_elements(cmsHPROFILE profile, uint32_t max_count);

/* Maximum processor time of filling one conversion; usual ones take 0.03 s. */
enum { LCMS_SECONDS_MAX = 10 };

/* Returns this thread's processor time in seconds. */
double thread_cpu_seconds(void);

/* Returns the chromaticities of a value of ColourPrimaries (ITU-T H.273, table 2), or NULL if the value is
 * not supported. */
const double *profile_cicp_primaries(int number);

/* Creates an RGB profile with the chromaticities `xy`, or if `xy` is NULL a gray one. `peak` is the light at
 * full scale relative to white; light above white is clipped. Equal arguments give equal bytes. The caller
 * frees icc->data, which is NULL on failure. */
enum status profile_write(const char *name, const double *xy, const struct tone_curve *curve, double peak,
                          struct blob *icc, struct error *error);

/* ---------------- link.c */

/* Frees the links from or to a space; NULL is allowed. The lock of spaces must not be held. */
void colour_links_drop(const struct colour_space *space);

#endif
