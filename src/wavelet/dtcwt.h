/* The 2-D dual-tree complex wavelet transform on the device.
 * N. Kingsbury, "Complex wavelets for shift invariant analysis and filtering of signals", ACHA 10 (2001). */
#ifndef CLIMG_WAVELET_DTCWT_H
#define CLIMG_WAVELET_DTCWT_H

#include "engine/run.h"
#include "wavelet/dtcwt_design.h"

/* Image planes to the pyramid `out`, whose shape is set; allocates its planes: those rows of them, as
 * dtcwt_forward_rows gave them. */
enum status dtcwt_forward(struct run *run, const struct value *in, const struct dtcwt_rows *rows,
                          struct value *out, struct error *error);

/* The same from the level after `finer` on, whose lowpass is `lowpass`: 0, the image. */
enum status dtcwt_forward_from(struct run *run, int finer, const struct planes *lowpass,
                               const struct dtcwt_rows *rows, struct value *out, struct error *error);

/* Pyramid to image planes of the size that went in, allocated here: the rows of `out`. */
enum status dtcwt_inverse(struct run *run, const struct value *in, struct value *out, struct error *error);

/* The parts of that, from the coarsest level on. A level gives `made`: the lowpass of the level before, in
 * scratch planes, or the planes of `out`. It does so in strips, from the last to the first: the strip before
 * `strip`, which is empty at first; false where there is none. */
enum status dtcwt_inverse_made(struct run *run, const struct shape *shape, const struct dtcwt_rows *rows,
                               int level, const struct value *out, struct planes *made, struct error *error);
bool dtcwt_inverse_next(const struct run *run, const struct planes *made, struct rows *strip);

/* `subbands` has the rows of dtcwt_subband_rows. */
enum status dtcwt_inverse_strip(struct run *run, const struct shape *shape, int level, struct rows strip,
                                const struct planes *lowpass, const struct planes *subbands,
                                const struct planes *made, struct error *error);

#endif
