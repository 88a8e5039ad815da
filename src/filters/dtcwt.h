/* The 2-D dual-tree complex wavelet transform on the device.
 * N. Kingsbury, "Complex wavelets for shift invariant analysis and filtering of signals", ACHA 10 (2001). */
#ifndef CLIMG_FILTERS_DTCWT_H
#define CLIMG_FILTERS_DTCWT_H

#include "engine/run.h"

enum { MAX_BIORT_TAPS = 19, MAX_QSHIFT_TAPS = 18 };

/* Biorthogonal filters of level 1: analysis and synthesis lowpass, of odd lengths. */
struct biort {
    const char *name;
    int h0_taps;
    double h0[MAX_BIORT_TAPS];
    int g0_taps;
    double g0[MAX_BIORT_TAPS];
};

/* Quarter-sample-shift filters of the other levels: the analysis lowpass of tree a, of even length. */
struct qshift {
    const char *name;
    int taps;
    double h0a[MAX_QSHIFT_TAPS];
};

/* A level on GPUs: the first, and those from the second on. */
extern const struct tunable tunable_forward_1, tunable_forward_2, tunable_inverse_1, tunable_inverse_2;

/* End with a NULL name; index 0 is the default. */
extern const struct biort biorts[];
extern const struct qshift qshifts[];

#define BIORT_CHOICES  "near_sym_a|near_sym_b|legall|antonini"
#define QSHIFT_CHOICES "qshift_a|qshift_06|qshift_b|qshift_c|qshift_d"

/* Size along one axis, of n samples, of the lowpass that level `level` gives: S1 = n made even,
 * Sl = 2 * ceil(S(l-1) / 4). The complex subbands of that level have half of it. */
int dtcwt_lowpass_size(int n, int level);

/* The largest number of levels for an image: where the lowpass is two samples wide, but at least 6. */
int dtcwt_max_levels(int width, int height);

/* Derived filters: highpass h1[k] = (-1)^(k + taps / 2) g0[k] and g1[k] = (-1)^(k + taps / 2) h0[k]. */
void biort_highpass(const double *lowpass, int taps, double *highpass);

/* h0b = reverse(h0a), h1a[k] = (-1)^k h0b[k], h1b = reverse(h1a); synthesis: the other tree's. */
void qshift_filters(const struct qshift *bank, double *h0b, double *h1a, double *h1b);

/* Rows of each level, in coordinates of the level; indices are levels. Those of a lowpass are even numbers.
 */
struct dtcwt_rows {
    struct rows image;                    /* forward: that the transform reads */
    struct rows lowpass[1 + MAX_LEVELS];  /* of Sl */
    struct rows subbands[1 + MAX_LEVELS]; /* of Sl / 2 */
};

/* Samples that the transform pads axis S(level - 1) of an image of n with at each end: 0 or 1. */
int dtcwt_crop(int n, int level);

/* The rows of the lowpass (on levels that the inverse makes: of its own) and of the subbands that rows
 * `image` of the reconstruction need. A pyramid that goes through in subbands holds these for its value's
 * rows. */
void dtcwt_inverse_rows(const struct shape *shape, struct rows image, struct dtcwt_rows *rows);

/* From the rows of the subbands and of the coarsest lowpass that are wanted, those of the other lowpasses and
 * of the image; the coarsest lowpass has more of them afterwards where the subbands want more. */
void dtcwt_forward_rows(const struct shape *shape, struct dtcwt_rows *rows);

/* Rounded outwards; all from the first to the last of two. */
struct rows rows_aligned(struct rows rows, int unit);
struct rows rows_joined(struct rows a, struct rows b);

/* Image planes to the pyramid `out`, whose shape is set; allocates its planes: those rows of them, as
 * dtcwt_forward_rows gave them. */
enum status dtcwt_forward(struct run *run, const struct value *in, const struct dtcwt_rows *rows,
                          struct value *out, struct error *error);

/* Pyramid to image planes of the size that went in, allocated here: the rows of `out`. */
enum status dtcwt_inverse(struct run *run, const struct value *in, struct value *out, struct error *error);

#endif
