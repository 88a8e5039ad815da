/* The separable product dst = A * src * transposed(B) for banded A and B: all filters and resamplings along
 * the axes. kernels/product.h has the formula and a drawing.
 *
 * Functions enqueue work and do not wait. A struct product borrows its planes, rasters and weights. Tables of
 * weights are cached in the run. The result does not depend on the kernel that is chosen: all of them add in
 * the same order. */
#ifndef CLIMG_FILTERS_PRODUCT_H
#define CLIMG_FILTERS_PRODUCT_H

#include "filters/axis.h"

/* The last operation on each value: COPY, SHARPEN and MAGNITUDE of kernels/product.h. */
enum epilogue_op { EPILOGUE_COPY, EPILOGUE_SHARPEN, EPILOGUE_MAGNITUDE };

/* The same layout as struct epilogue of kernels/product.h. */
struct epilogue {
    cl_int op;                  /* enum epilogue_op */
    cl_float amount, threshold; /* of EPILOGUE_SHARPEN; full scale is 1 */
    cl_int alpha_channel;       /* copied from the second operand; -1 without alpha */
};

/* One product.
 *
 * Rasters (interleaved samples, engine/run.h) may be NULL, and are NULL on GPUs. If src.object is NULL, src
 * has only size and rows, and the source is src_raster; dst likewise. If one product of a stage uses a
 * raster, the others should have it, too: programs with and without rasters differ.
 *
 * `rows`: rows of dst to compute; all blocks of PRODUCT_ROWS that contain them are computed. Empty: all of
 * dst.
 *
 * `other` is the second operand of the epilogue, of the size of dst; not used by EPILOGUE_COPY without alpha.
 * EPILOGUE_SHARPEN uses src_raster instead, if it is not NULL. */
struct product {
    struct axis x, y;
    struct epilogue epilogue;
    struct planes src, dst, other;
    const struct raster *src_raster, *dst_raster;
    struct interval rows;
};

/* Enqueues a product. `src` must have the rows that axis_inside_rows() returns for the computed rows. */
enum status product_run(struct run *run, const struct product *product, struct error *error);

/* Enqueues the square root of the sum of the squares of two products, for a gradient. Both products have the
 * same src, dst and border rule, as many taps, and EPILOGUE_COPY. The alpha channel is copied. */
enum status gradient_magnitude(struct run *run, const struct product *a, const struct product *b,
                               struct error *error);

/* Returns the product of a stage's input along both axes; all rows of `out` are computed. */
struct product product_of(const struct axis *x, const struct axis *y, const struct epilogue *epilogue,
                          const struct value *in, const struct value *out);

/* Enqueues the product of a stage's input. Allocates the planes of `out`, unless `out` is a raster. */
enum status product_image(struct run *run, const struct axis *x, const struct axis *y,
                          const struct epilogue *epilogue, const struct value *in, struct value *out,
                          struct error *error);

/* Callback `caps` of a stage that is one product. */
struct stage_caps product_caps(const void *params);

/* Stores values unchanged, and copies no channel. */
extern const struct epilogue epilogue_copy;

#endif
