/* The 2-D dual-tree complex wavelet transform (DT-CWT) on the device: N. Kingsbury, "Complex wavelets for
 * shift invariant analysis and filtering of signals", ACHA 10 (2001); I. Selesnick, R. Baraniuk, N.
 * Kingsbury, "The dual-tree complex wavelet transform", IEEE SPM 22 (2005).
 *
 *     image ─▶ level 1 ─ lowpass ─▶ level 2 ─ lowpass ─▶ … ─▶ planes[0] of the pyramid
 *                 └ planes[1]          └ planes[2]               six complex subbands a level:
 *                                                               15, 45, 75, -75, -45, -15 degrees
 *
 * Layer 2b of subband planes is the real part of subband b, layer 2b + 1 the imaginary part. The lowpass
 * after L levels has DC gain 2^(L-1). White noise of standard deviation s has RMS |z| of about s / sqrt(2).
 *
 * Functions enqueue kernels and do not wait. The caller owns the planes of its values; on failure it releases
 * the planes that are allocated. */
#ifndef CLIMG_WAVELET_DTCWT_H
#define CLIMG_WAVELET_DTCWT_H

#include "engine/run.h"
#include "wavelet/dtcwt_design.h"

/* Transforms an image to the pyramid `out`, whose shape is set. Allocates its planes with the rows in `rows`,
 * which come from dtcwt_forward_rows. */
enum status dtcwt_forward(struct run *run, const struct value *in, const struct dtcwt_rows *rows,
                          struct value *out, struct error *error);

/* Computes only the levels after `finer`, from the lowpass of level `finer`, or from the image if it is 0. */
enum status dtcwt_forward_from(struct run *run, int finer, const struct planes *lowpass,
                               const struct dtcwt_rows *rows, struct value *out, struct error *error);

/* A filter of subbands. The inverse computes a level in strips: it filters the subbands of a strip, then
 * reads the result while it is in the caches. --denoise shrinks subbands in this way, with a third less
 * memory than for whole levels. */
struct subband_filter {
    /* Computes `rows` of the subbands of a level of pyramid `in`, in scratch planes that the inverse
     * releases. `lowpass` is the level's, after the inverse of the coarser levels. */
    enum status (*run)(struct run *run, const void *context, const struct value *in, int level,
                       struct interval rows, const struct planes *lowpass, struct planes *filtered,
                       struct error *error);
    const void *context; /* second argument of `run` */
};

/* Transforms a pyramid to rows `out->rows` of an image of the original size. Allocates the image's planes.
 * `filter` may be NULL. */
enum status dtcwt_inverse(struct run *run, const struct subband_filter *filter, const struct value *in,
                          struct value *out, struct error *error);

/* Inverts only the levels after level `finest`, which is at least 1, to all rows of its lowpass, in scratch
 * planes. */
enum status dtcwt_inverse_to(struct run *run, int finest, const struct subband_filter *filter,
                             const struct value *in, struct planes *lowpass, struct error *error);

#endif
