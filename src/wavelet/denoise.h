/* Denoising an image in the dual-tree frame, at once or in slices.
 *
 * A row depends on 870 rows above it and below through six levels of the transform, on 90 through three. So
 * slices have the fine levels alone. A survey, which goes over slices, too, keeps the lowpass of the last of
 * these, a sixteenth of the image or less, and counts energies where the noise is to be found. At its end the
 * coarser levels are transformed, shrunk and transformed back at once. What slices want of them is the
 * lowpass that comes of it, and the parents of their last level. */
#ifndef CLIMG_WAVELET_DENOISE_H
#define CLIMG_WAVELET_DENOISE_H

#include "wavelet/shrink.h"
#include "filters/tiles.h"

struct denoise {
    double sigma; /* 8-bit counts; NAN: estimate */
    int levels;
    double strength;
    int high; /* quality: a second step with cosines */
};

/* Rows of the image that rows `out` need: of a group all. The same of columns. */
struct rows denoise_rows(const struct denoise *denoise, const struct shape *image, struct rows out);
struct rows denoise_columns(const struct denoise *denoise, const struct shape *image, struct rows out);

/* From `image`, a tile of all of it, to `out`, whose planes are allocated here. Three colours are in opponent
 * colours where the value says so. Without a finding all that is needed is in `image`. */
enum status denoise_image(struct run *run, const struct denoise *denoise, const struct tile *tile,
                          const struct value *image, struct value *out, struct error *error);

/* The stage's survey. */
bool denoise_wants_survey(const struct denoise *denoise, const struct shape *image);
struct rows denoise_survey_rows(const struct denoise *denoise, const struct shape *image, struct rows part);
enum status denoise_survey_begin(struct run *run, const struct denoise *denoise, const struct shape *image,
                                 struct finding *finding, struct error *error);
enum status denoise_survey_take(struct run *run, const struct denoise *denoise, const struct value *image,
                                struct rows part, struct finding *finding, struct error *error);
enum status denoise_survey_end(struct run *run, const struct denoise *denoise, const struct shape *image,
                               struct finding *finding, struct error *error);

#endif
