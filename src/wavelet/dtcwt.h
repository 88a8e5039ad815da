/* The 2-D dual-tree complex wavelet transform on the device.
 * N. Kingsbury, "Complex wavelets for shift invariant analysis and filtering of signals", ACHA 10 (2001). */
#ifndef CLIMG_WAVELET_DTCWT_H
#define CLIMG_WAVELET_DTCWT_H

#include "engine/run.h"
#include "wavelet/dtcwt_design.h"

/* Transforms an image to the pyramid `out`, whose shape is set. Allocates its planes, with the rows computed
 * by dtcwt_forward_rows. */
enum status dtcwt_forward(struct run *run, const struct value *in, const struct dtcwt_rows *rows,
                          struct value *out, struct error *error);

/* Computes only the levels after `finer` (0: all), from the lowpass of level `finer`. */
enum status dtcwt_forward_from(struct run *run, int finer, const struct planes *lowpass,
                               const struct dtcwt_rows *rows, struct value *out, struct error *error);

/* Transforms a pyramid to rows `out->rows` of an image of the original size. Allocates its planes. */
enum status dtcwt_inverse(struct run *run, const struct value *in, struct value *out, struct error *error);

/* Steps of an inverse, for callers that prepare subbands strip by strip. From the coarsest level on:
 * dtcwt_inverse_made allocates the output of a level (the next finer lowpass, in scratch planes; on level 1
 * the planes of `out`), and dtcwt_inverse_next moves `strip`, which is empty at first, to the preceding strip
 * of rows. It returns false after the first row. */
enum status dtcwt_inverse_made(struct run *run, const struct shape *shape, const struct dtcwt_rows *rows,
                               int level, const struct value *out, struct planes *made, struct error *error);
bool dtcwt_inverse_next(const struct run *run, const struct planes *made, struct rows *strip);

/* `subbands` has the rows of dtcwt_subband_rows. */
enum status dtcwt_inverse_strip(struct run *run, const struct shape *shape, int level, struct rows strip,
                                const struct planes *lowpass, const struct planes *subbands,
                                const struct planes *made, struct error *error);

#endif
