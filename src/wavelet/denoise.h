/* Denoising an image in the dual-tree frame, at once or in slices.
 *
 * A row depends on 870 rows above it and below through six levels of the transform, on 90 through three. So
 * slices have the fine levels alone. A survey, which goes over slices, too, keeps the lowpass of the last of
 * these, a sixteenth of the image or less, and counts energies where the noise is to be found. At its end the
 * coarser levels are transformed, shrunk and transformed back at once. What slices want of them is the
 * lowpass that comes of it, and the parents of their last level. */
#ifndef CLIMG_WAVELET_DENOISE_H
#define CLIMG_WAVELET_DENOISE_H

#include "filters/tiles.h"
#include "wavelet/shrink.h"

/* The stage's params. */
struct denoise {
    double sigma; /* 8-bit counts; NAN: estimate */
    int levels;
    double strength; /* multiplies the noise */
    int high;        /* quality=high: a second step with cosines */
};

/* `rows`, `run` and `survey` of the stage. */
struct rows denoise_rows(const void *params, const struct shape *image, struct rows out);
enum status denoise_run(struct run *run, const void *params, const struct value *in, struct value *out,
                        struct error *error);
extern const struct analysis denoise_survey;

#endif
