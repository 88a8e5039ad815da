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
 * those that are allocated. */
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

/* Transforms a pyramid to rows `out->rows` of an image of the original size. Allocates the image's planes. */
enum status dtcwt_inverse(struct run *run, const struct value *in, struct value *out, struct error *error);

/* Inverts only the levels after level `finest`, to its lowpass, which is in scratch planes; or if `finest` is
 * 0, to the planes of `out`. The rows are those that rows `out->rows` of the image need. */
enum status dtcwt_inverse_to(struct run *run, int finest, const struct value *in, const struct value *out,
                             struct planes *lowpass, struct error *error);

/* The inverse in steps, for callers that compute subbands strip by strip. For each level, from the coarsest
 * to the finest:
 *
 *     dtcwt_inverse_output(…, &output, …);
 *     while (dtcwt_inverse_next_strip(run, &output, &strip))
 *         compute rows dtcwt_subband_rows(shape, level, strip), then dtcwt_inverse_strip(…)
 *
 * dtcwt_inverse_output sets *output to the planes that the level writes: scratch planes for the finer
 * lowpass, or on level 1 the planes of `out`. The caller begins with an empty *strip. Each call of
 * dtcwt_inverse_next_strip sets *strip to the strip above it, first to the last one of the planes, and
 * returns false after the top one. GPUs have one strip, of all rows. */
enum status dtcwt_inverse_output(struct run *run, const struct shape *shape, const struct dtcwt_rows *rows,
                                 int level, const struct value *out, struct planes *output,
                                 struct error *error);
bool dtcwt_inverse_next_strip(const struct run *run, const struct planes *output, struct interval *strip);

/* Inverts one strip of a level. `subbands` has at least the rows dtcwt_subband_rows(shape, level, strip). */
enum status dtcwt_inverse_strip(struct run *run, const struct shape *shape, int level, struct interval strip,
                                const struct planes *lowpass, const struct planes *subbands,
                                const struct planes *output, struct error *error);

#endif
