/* The filters of the dual-tree transform, and the weights that its kernels take. */
#ifndef CLIMG_FILTERS_DTCWT_BANKS_H
#define CLIMG_FILTERS_DTCWT_BANKS_H

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

/* Weights a filter of the set takes in the kernels, which want half of them to be an odd number: 2 more than
 * the filter has where that half is even. The two outer ones are 0 then, but the samples below them are read.
 */
int qshift_kernel_taps(const struct qshift *bank);

/* Derived filters: highpass h1[k] = (-1)^(k + taps / 2) g0[k] and g1[k] = (-1)^(k + taps / 2) h0[k]. */
void biort_highpass(const double *lowpass, int taps, double *highpass);

/* h0b = reverse(h0a), h1a[k] = (-1)^k h0b[k], h1b = reverse(h1a); synthesis: the other tree's. */
void qshift_filters(const struct qshift *bank, double *h0b, double *h1a, double *h1b);

enum { MAX_WEIGHTS = 4 * MAX_QSHIFT_TAPS };

/* The filters of a level in reading order (reversed), those of the lowpass before those of the highpass.
 * Level 1: taps weights of each, taps odd. From level 2 on, taps / 2 being odd: forward, taps pairs of
 * weights of the trees a and b; inverse, taps / 2 fours, of output 4n of tree a, 4n + 1 of b, 4n + 2 of a, 4n
 * + 3 of b. */
struct bank {
    bool qshift;
    int taps;
    float weights[MAX_WEIGHTS];
    size_t count;
};

void bank_forward(const struct shape *shape, int level, struct bank *bank);
void bank_inverse(const struct shape *shape, int level, struct bank *bank);

#endif
