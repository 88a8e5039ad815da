/* Separable filters on the device: see kernels/separable.cl. */
#ifndef CLIMG_FILTERS_SEPARABLE_H
#define CLIMG_FILTERS_SEPARABLE_H

#include "engine/run.h"

/* dst[i] = sum over k < taps of weights[k] * src[i * stride + start + k] along one axis. */
struct filter {
    const float *weights;
    int taps;
    int start;  /* minus the centre for a filter of stride 1 */
    int stride; /* 1, or a power of two that the axis shrinks by */
};

/* Along x: src and dst hold the same rows; dst's width is src's divided by the stride, rounded up.
 * `keep` names a channel that is copied (-1: none). */
enum status filter_rows(struct run *run, const struct filter *filter, int keep, const struct planes *src,
                        const struct planes *dst, struct error *error);

/* Along y: src holds what filter_source_rows says. */
enum status filter_columns(struct run *run, const struct filter *filter, int keep, const struct planes *src,
                           const struct planes *dst, struct error *error);

/* Both passes of a filter in one kernel, where filter_both_wins says so. */
bool filter_both_wins(const struct run *run, const struct filter *filter);
enum status filter_both(struct run *run, const struct filter *filter, const struct planes *src,
                        const struct planes *dst, struct error *error);

extern const struct tunable tunable_filter_rows, tunable_filter_columns, tunable_filter_both;

/* A pair of kernels that are built on kernels/planes_filter.h. */
struct filter_kernels {
    const char *file;
    const struct tunable *rows, *columns; /* rows may be NULL */
    int filters;                          /* side by side along x */
    int keep;                             /* a channel that is copied; -1: none */
};

/* The launch of one pass that gives `dst`, in the form that the device likes. */
void filter_work(const struct run *run, const struct filter *filter, const struct filter_kernels *kernels,
                 bool along_x, const struct planes *dst, struct work *work);

/* The source rows that output rows `out` need, not yet clipped to the image. */
struct rows filter_source_rows(const struct filter *filter, struct rows out);

/* The most taps along x with which filter_separable reads samples in place of planes. It writes them for all.
 */
enum { FILTER_READS_TAPS = 64 };

/* Rows, then columns, through a scratch image, into out's planes (allocated here). Either may be samples,
 * unless a channel is kept. */
enum status filter_separable(struct run *run, const struct filter *along_x, const struct filter *along_y,
                             int keep, const struct value *in, struct value *out, struct error *error);

#endif
