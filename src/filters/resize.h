/* Antialiased resizing to any size, on the device: see kernels/resize.h. */
#ifndef CLIMG_FILTERS_RESIZE_H
#define CLIMG_FILTERS_RESIZE_H

#include "engine/run.h"

enum resize_filter { RESIZE_LANCZOS, RESIZE_BICUBIC, RESIZE_BILINEAR, RESIZE_BOX };

#define RESIZE_CHOICES "lanczos|bicubic|bilinear|box"

/* An axis of `from` samples becomes one of `to`, of which outputs [begin, begin + count) are wanted. Output i
 * lies at (i + 0.5) * from / to - 0.5 of the samples' centres. Where there are fewer outputs than samples,
 * the filter is stretched by from / to. It is cut off at the border, and the weights that are left are
 * normalised to sum 1. */
struct resize_axis {
    enum resize_filter filter;
    int from, to;
    int begin, count;
};

/* The samples that output i (of those wanted) is made from: from *first on. */
int resize_taps(const struct resize_axis *axis, int i, int *first);

/* At least the taps of each output. */
int resize_most_taps(const struct resize_axis *axis);

/* Their weights. Lanczos with a = 3 (C. Duchon, J. Appl. Meteorology 18, 1979), Keys' cubic with a = -0.5,
 * the triangle, the box (-0.5, 0.5]. */
void resize_weights(const struct resize_axis *axis, int i, float *weights);

/* The samples that rows `out` need. */
struct rows resize_source_rows(const struct resize_axis *axis, struct rows out);

/* Allocates out's planes. */
enum status resize_image(struct run *run, const struct resize_axis *along_x,
                         const struct resize_axis *along_y, const struct value *in, struct value *out,
                         struct error *error);

#endif
