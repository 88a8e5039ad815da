/* A filter along one axis, and the launches of kernels that apply it: see kernels/filter.h. */
#ifndef CLIMG_FILTERS_FILTER_H
#define CLIMG_FILTERS_FILTER_H

#include "engine/run.h"

/* dst[i] = sum over k < taps of weights[k] * src[i + start + k] along one axis. */
struct filter {
    const float *weights;
    int taps;
    int start; /* minus the centre */
};

/* The same as kernels know it: struct window of kernels/filter.h. */
struct window {
    cl_int start, taps;
};

struct window filter_window(const struct filter *filter);

/* The source rows that output rows `out` need, not yet clipped to the image. */
struct rows filter_source_rows(const struct filter *filter, struct rows out);

/* The kernels of two passes, in one file: on kernels/filter_rows.h and kernels/filter.h. */
struct filter_passes {
    const char *file;
    const struct tunable *rows, *columns;
};

/* The launch of one of them that gives `dst`, in the form that the device likes. */
struct work filter_rows_work(const struct run *run, const struct filter_passes *passes,
                             const struct planes *dst);
struct work filter_columns_work(const struct run *run, const struct filter_passes *passes,
                                const struct planes *dst);

/* Forms that suit passes along x and along y. */
#define FILTER_ROWS_FORMS .wide_images = {8, {16, 1}}, .grouped = {1, {64, 2}}, .grouped_images = {8, {1, 64}}
#define FILTER_COLUMNS_FORMS                                                                                 \
    .wide = {4, {16, 1}}, .wide_images = {8, {16, 1}}, .grouped = {8, {32, 4}}, .grouped_images = {8, {8, 16}}

#endif
