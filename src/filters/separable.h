/* Separable filters on the device: see kernels/separable*.cl. */
#ifndef CLIMG_FILTERS_SEPARABLE_H
#define CLIMG_FILTERS_SEPARABLE_H

#include "filters/filter.h"

/* The most taps along x with which filter_separable reads samples in place of planes. It writes them for all.
 */
enum { FILTER_READS_TAPS = 257 };

/* Both axes, into out's planes (allocated here). Either end may be samples, unless a channel is kept. `keep`
 * names a channel that is copied (-1: none). */
enum status filter_separable(struct run *run, const struct filter *along_x, const struct filter *along_y,
                             int keep, const struct value *in, struct value *out, struct error *error);

extern const struct tunable tunable_filter_rows, tunable_filter_columns, tunable_filter_both;

#endif
