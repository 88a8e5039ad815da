/* Antialiased resizing to any size, on the device: see kernels/resize.h. */
#ifndef CLIMG_FILTERS_RESIZE_H
#define CLIMG_FILTERS_RESIZE_H

#include "engine/run.h"

/* The last two, of the standard deviation `sigma` in samples of the coarser side, are not among the words of
 * --resize: filters/coarse.h. They are cut off at RESIZE_GAUSSIAN_CUT times that: 6e-7 are beyond. */
enum resize_filter {
    RESIZE_LANCZOS,
    RESIZE_BICUBIC,
    RESIZE_BILINEAR,
    RESIZE_BOX,
    RESIZE_GAUSSIAN,
    RESIZE_SLOPE /* the derivative of the Gaussian, by the outputs' positions */
};

#define RESIZE_CHOICES "lanczos|bicubic|bilinear|box"

/* An axis of `from` samples becomes one of `to`, of which outputs [begin, begin + count) are wanted. Output i
 * lies at (i + 0.5) * from / to - 0.5 of the samples' centres. Where there are fewer outputs than samples,
 * the filter is stretched by from / to. It is cut off at the border, and the weights that are left are
 * normalised to sum 1; or the axis is extended by a border rule. There may be more samples, and wanted
 * outputs, than those of the axis itself. */
struct resize_axis {
    enum resize_filter filter;
    double sigma;
    int from, to;
    int begin, count;
    int margin;    /* samples before the first and behind the last one of the axis */
    bool extended; /* by `edge` */
    enum edge edge;
};

#define RESIZE_GAUSSIAN_CUT 5.0

/* The samples that output i (of those wanted) is made from: from *first on. Only those of an axis that wraps
 * may begin before the first sample or end behind the last one. */
int resize_taps(const struct resize_axis *axis, int i, int *first);

/* At least the taps of each output. */
int resize_most_taps(const struct resize_axis *axis);

/* Their weights. Lanczos with a = 3 (C. Duchon, J. Appl. Meteorology 18, 1979), Keys' cubic with a = -0.5,
 * the triangle, the box (-0.5, 0.5]. All are 0 before. */
void resize_weights(const struct resize_axis *axis, int i, float *weights);

/* The samples that rows `out` need. */
struct rows resize_source_rows(const struct resize_axis *axis, struct rows out);

/* The windows and weights of all outputs on the device: TABLE of kernels/resize_table.h. */
struct resize_table {
    cl_mem memory;
    cl_int pitch; /* floats from row to row */
};

#define ARGS_RESIZE_TABLE(table) ARG_MEMORY((table).memory), ARG((table).pitch)

enum status resize_table(struct run *run, const struct resize_axis *axis, struct resize_table *table,
                         struct error *error);

/* A pass along one axis. */
enum status resize_columns(struct run *run, const struct resize_axis *axis, const struct planes *src,
                           const struct planes *dst, struct error *error);
enum status resize_rows(struct run *run, const struct resize_axis *axis, const struct planes *src,
                        const struct planes *dst, struct error *error);

/* The pass along y from samples into planes, and into samples; `dst` then says which. On CPU devices. */
enum status resize_unpack_columns(struct run *run, const struct resize_axis *axis,
                                  const struct raster *raster, const struct planes *dst, struct error *error);
enum status resize_columns_pack(struct run *run, const struct resize_axis *axis, const struct planes *src,
                                const struct planes *dst, const struct raster *raster, struct error *error);

/* Allocates out's planes. */
enum status resize_image(struct run *run, const struct resize_axis *along_x,
                         const struct resize_axis *along_y, const struct value *in, struct value *out,
                         struct error *error);

#endif
