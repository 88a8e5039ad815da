/* The 2-D dual-tree complex wavelet transform on the device.
 * N. Kingsbury, "Complex wavelets for shift invariant analysis and filtering of signals", ACHA 10 (2001). */
#ifndef CLIMG_FILTERS_DTCWT_H
#define CLIMG_FILTERS_DTCWT_H

#include "engine/run.h"
#include "filters/dtcwt_banks.h"
#include "filters/dtcwt_rows.h"

/* Image planes to the pyramid `out`, whose shape is set; allocates its planes: those rows of them, as
 * dtcwt_forward_rows gave them. */
enum status dtcwt_forward(struct run *run, const struct value *in, const struct dtcwt_rows *rows,
                          struct value *out, struct error *error);

/* The same from the level after `finer` on, whose lowpass is `lowpass`: 0, the image. */
enum status dtcwt_forward_from(struct run *run, int finer, const struct planes *lowpass,
                               const struct dtcwt_rows *rows, struct value *out, struct error *error);

/* Pyramid to image planes of the size that went in, allocated here: the rows of `out`. */
enum status dtcwt_inverse(struct run *run, const struct value *in, struct value *out, struct error *error);

/* One level of that, from the coarsest one on: `lowpass`, at first the pyramid's own, becomes that of the
 * level before, in scratch planes, and with level 1 the planes of `out`. */
enum status dtcwt_inverse_level(struct run *run, const struct shape *shape, const struct dtcwt_rows *rows,
                                int level, const struct planes *subbands, struct planes *lowpass,
                                const struct value *out, struct error *error);

#endif
