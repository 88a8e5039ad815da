/* dst = A * src * transposed(B): see kernels/product.h. */
#ifndef CLIMG_FILTERS_PRODUCT_H
#define CLIMG_FILTERS_PRODUCT_H

#include "filters/axis.h"

/* What is done last with a value: COPY, SHARPEN and MAGNITUDE of kernels/product.h. */
enum epilogue_op { EPILOGUE_COPY, EPILOGUE_SHARPEN, EPILOGUE_MAGNITUDE };

/* The same as kernels know it: struct epilogue there. */
struct epilogue {
    cl_int op;
    cl_float amount, threshold;
    cl_int alpha_channel; /* a channel that is copied; -1: none */
};

/* `read` and `write` may be NULL. If `src` or `dst` has no memory it only gives the size and the rows, and
 * the source is the samples of `read`, the destination those of `write`. Products of one stage that name the
 * same samples are one program, whichever of them it reads and writes. `other`, of dst's size, is what the
 * last step works with, and copies from; EPILOGUE_SHARPEN uses `read` instead if there is one. */
struct product {
    struct axis x, y;
    struct epilogue epilogue;
    struct planes src, dst, other;
    const struct raster *read, *write;
};

/* `src` holds the rows that `dst` needs: axis_held_rows. */
enum status product_run(struct run *run, const struct product *product, struct error *error);

/* Channel by channel the length of what two products of one image give, which copy or keep. */
enum status gradient_magnitude(struct run *run, const struct product *product, const struct product *another,
                               struct error *error);

/* A product from a stage's input to its output, whose planes it allocates where that is not samples. */
enum status product_image(struct run *run, const struct axis *x, const struct axis *y,
                          const struct epilogue *epilogue, const struct value *in, struct value *out,
                          struct error *error);

/* The `traits` of a stage that is a product: it works on groups, reads samples and writes them. */
struct stage_caps product_caps(const void *params);

/* No last step, and no channel that is copied. */
extern const struct epilogue epilogue_copy;

#endif
