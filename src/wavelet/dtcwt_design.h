/* The dual-tree transform in numbers: its filters, the weights that kernels take, the sizes of its levels,
 * and the rows that they need. */
#ifndef CLIMG_WAVELET_DTCWT_DESIGN_H
#define CLIMG_WAVELET_DTCWT_DESIGN_H

#include "engine/stage.h"

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

/* End with a NULL name; index 0 is the default. */
extern const struct biort biorts[];
extern const struct qshift qshifts[];

#define BIORT_CHOICES  "near_sym_a|near_sym_b|legall|antonini"
#define QSHIFT_CHOICES "qshift_a|qshift_06|qshift_b|qshift_c|qshift_d"

/* Derived filters: highpass h1[k] = (-1)^(k + taps / 2) g0[k] and g1[k] = (-1)^(k + taps / 2) h0[k]. */
void biort_highpass(const double *lowpass, int taps, double *highpass);

/* h0b = reverse(h0a), h1a[k] = (-1)^k h0b[k], h1b = reverse(h1a); synthesis: the other tree's. */
void qshift_filters(const struct qshift *bank, double *h0b, double *h1a, double *h1b);

enum { MAX_WEIGHTS = 4 * MAX_QSHIFT_TAPS };

/* Weights of a level's filters, time-reversed; the lowpass, then the highpass.
 *
 *     level 1            taps weights each (taps is odd)
 *     level 2, forward   taps pairs (tree a, tree b) each; taps / 2 is odd
 *     level 2, inverse   taps / 2 groups of four each: outputs 4n (tree a), 4n + 1 (b), 4n + 2 (a), 4n + 3
 * (b)
 */
struct bank {
    bool qshift;
    int taps;
    float weights[MAX_WEIGHTS];
    size_t count;
};

void bank_forward(const struct shape *shape, int level, struct bank *bank);
void bank_inverse(const struct shape *shape, int level, struct bank *bank);

/* ---------------------------------------------------------------- sizes and rows */

/* Size along one axis, of n samples, of the lowpass that level `level` gives: S1 = n made even,
 * Sl = 2 * ceil(S(l-1) / 4). The complex subbands of that level have half of it. */
int dtcwt_lowpass_size(int n, int level);

/* Returns the largest number of levels for an image: until the lowpass is two samples wide, but at least 6.
 */
int dtcwt_max_levels(int width, int height);

/* Computes the padding of an axis of n samples before a level: odd axes get a sample at the end. From level 2
 * on, axes that are no multiple of 4 get a sample at both ends, as published, or with `at_end` two at the
 * end, so that parents cover their children exactly. */
void dtcwt_padding(int n, int level, bool at_end, int *pad, int *length);

/* Rows of each level, in coordinates of the level; indices are levels. Rows of a lowpass begin and end at
 * even numbers. */
struct dtcwt_rows {
    struct rows image;                    /* forward: rows that the transform reads */
    struct rows lowpass[1 + MAX_LEVELS];  /* of Sl */
    struct rows subbands[1 + MAX_LEVELS]; /* of Sl / 2 */
    int places; /* only rows near this number of places, spread over the level (wavelet/noise.h), are needed;
                   0: all */
};

/* Returns the rows by which the transform pads S(level - 1) at its beginning: 0 or 1. */
int dtcwt_crop(const struct shape *shape, int level);

/* Computes the rows of lowpass and subbands that rows `image` of the reconstruction need. The planes of a
 * pyramid value contain these for the value's rows. */
void dtcwt_inverse_rows(const struct shape *shape, struct rows image, struct dtcwt_rows *rows);

/* Returns the subband rows of a level that rows `made` of the inverse's output need: of the finer lowpass
 * before cropping, or of the image. */
struct rows dtcwt_subband_rows(const struct shape *shape, int level, struct rows made);

/* Computes, from the needed rows of the subbands and the coarsest lowpass, the rows of the other lowpasses
 * and of the image. Extends the coarsest lowpass if the subbands need more. */
void dtcwt_forward_rows(const struct shape *shape, struct dtcwt_rows *rows);

#endif
