/* The dual-tree transform in numbers: filters, weights as kernels read them, sizes of levels, and the rows
 * that they need. Pure functions without a device; any thread may call them. */
#ifndef CLIMG_WAVELET_DTCWT_DESIGN_H
#define CLIMG_WAVELET_DTCWT_DESIGN_H

#include "engine/stage.h"

enum { MAX_BIORT_TAPS = 19, MAX_QSHIFT_TAPS = 18 };

/* A biorthogonal pair for level 1, with odd lengths. Both lowpass filters have DC gain 1. */
struct biort {
    const char *name;
    int h0_taps;               /* analysis lowpass */
    double h0[MAX_BIORT_TAPS]; /* symmetric */
    int g0_taps;               /* synthesis lowpass */
    double g0[MAX_BIORT_TAPS];
};

/* A quarter-sample-shift filter for the other levels: the analysis lowpass of tree a. Its length is even, its
 * DC gain sqrt(2), and its delay a quarter of a sample off the centre. All other filters derive from it. */
struct qshift {
    const char *name;
    int taps;
    double h0a[MAX_QSHIFT_TAPS];
};

/* The filters that the options offer. The tables end with a NULL name; index 0 is the default. */
extern const struct biort biorts[];
extern const struct qshift qshifts[];

#define BIORT_CHOICES  "near_sym_a|near_sym_b|legall|antonini"
#define QSHIFT_CHOICES "qshift_a|qshift_06|qshift_b|qshift_c|qshift_d"

/* Computes a highpass of level 1 from the lowpass of the other direction:
 *
 *     h1[k] = (-1)^(k + taps / 2) g0[k],   g1[k] = (-1)^(k + taps / 2) h0[k] */
void biort_highpass(const double *lowpass, int taps, double *highpass);

/* Computes the other analysis filters of a q-shift set:
 *
 *     h0b = reverse(h0a),   h1a[k] = (-1)^k h0b[k],   h1b = reverse(h1a)
 *
 * Synthesis uses the other tree's filters: g0a = h0b, g0b = h0a, g1a = h1b, g1b = h1a. */
void qshift_filters(const struct qshift *qshift, double *h0b, double *h1a, double *h1b);

enum { MAX_WEIGHTS = 4 * MAX_QSHIFT_TAPS };

/* The filters of one level and direction as kernels read them: the lowpass, then the highpass, each reversed:
 *
 *     level 1             w[k], for k = taps - 1 ... 0                              taps is odd
 *     level 2+, forward   a[k] b[k], for k = taps - 1 ... 0                         taps / 2 is odd
 *     level 2+, inverse   a[k] b[k] a[k+1] b[k+1], for k = taps - 2, taps - 4 ... 0 (outputs 4n ... 4n + 3)
 *
 * Here a is the filter of tree b, and b of tree a, as in the kernels (struct trees, dtcwt_design.c). */
struct bank {
    bool qshift; /* level 2 or higher */
    int taps;    /* of each filter and tree, zeros at the ends included */
    float weights[MAX_WEIGHTS];
    size_t count; /* number of weights */
};

/* Fills a bank for a level of the transform, or of its inverse, with the filters of `shape`. */
void bank_forward(const struct shape *shape, int level, struct bank *bank);
void bank_inverse(const struct shape *shape, int level, struct bank *bank);

/* ---------------------------------------------------------------- sizes and rows */

/* Returns the size of a level's lowpass along an axis of n samples:
 *
 *     S1 = n rounded up to an even number,   Sl = 2 ceil(S(l-1) / 4)
 *
 * The complex subbands of level l have size Sl / 2. An example: n = 100 has subbands of 50, 25, 13 and 7. */
int dtcwt_lowpass_size(int n, int level);

/* Returns the largest number of levels of an image: the lowpass of the last one has two samples along the
 * longer axis. At least 6, the default of --denoise, and at most MAX_LEVELS. */
int dtcwt_max_levels(int width, int height);

/* Computes the padding of an axis of n samples before a level: *pad samples at the beginning, *length samples
 * in all. Level 1: an odd axis gets a sample at the end. Later levels: an axis that is no multiple of 4 gets
 * a sample at both ends, as published, or with `pad_at_end` two at the end. Then a coefficient covers exactly
 * its 2 x 2 children of the finer level. */
void dtcwt_padding(int n, int level, bool pad_at_end, int *pad, int *length);

/* The rows of each level that a slice needs. Indices are levels, from 1. Rows count from the top of the whole
 * image's level. Rows of a lowpass begin and end at even numbers. */
struct dtcwt_rows {
    struct interval image;                    /* rows that the forward transform reads */
    struct interval lowpass[1 + MAX_LEVELS];  /* of Sl rows */
    struct interval subbands[1 + MAX_LEVELS]; /* of Sl / 2 rows */
    /* CPUs compute only the subband rows near this number of evenly spaced positions, for counting noise
     * (wavelet/noise.h). This saves 5% of a photograph's --denoise. 0: all rows. */
    int positions;
};

/* Returns the rows of a level of `height` rows that belong to rows `part` of an image of `image` rows. If the
 * parts divide the image, each row of the level belongs to exactly one part. */
struct interval dtcwt_part_rows(struct interval part, int image, int height);

/* Returns the number of rows, 0 or 1, by which the transform pads the source of a level (2 or higher) at the
 * beginning. The inverse crops them. */
int dtcwt_crop(const struct shape *shape, int level);

/* Computes the rows of lowpass and subbands that rows `image` of the reconstruction need. A
 * pyramid (struct value) has these rows in its planes, with its `rows` as `image`. */
void dtcwt_inverse_rows(const struct shape *shape, struct interval image, struct dtcwt_rows *rows);

/* Returns the subband rows of a level that rows `output` of the level's inverse need. These are rows of the
 * finer lowpass before cropping, or on level 1 of the image. */
struct interval dtcwt_subband_rows(const struct shape *shape, int level, struct interval output);

/* Computes rows->image and rows->lowpass of all levels. The caller sets rows->subbands, and the rows that it
 * needs of the coarsest lowpass, to which rows may be added. */
void dtcwt_forward_rows(const struct shape *shape, struct dtcwt_rows *rows);

#endif
