/* Inverse dual-tree complex wavelet transform (wavelet/dtcwt.h), from a pyramid to an image.
 *
 * The pyramid's struct shape has the size of the image and the filters. So the stage has no options, and also
 * inverts pyramids that were read from a TIFF. The inverse of an unchanged pyramid is the original image, up
 * to rounding.
 *
 * `rows` is rows_same(): rows of a pyramid are rows of its image, and the planes of a slice contain all
 * coefficients that the inverse of these rows needs (dtcwt_inverse_rows). The preceding stages compute them.
 * On coarse levels the halo is large (caps.large_halo). */
#include "engine/run.h"
#include "wavelet/dtcwt.h"

static const struct option options[] = {{.type = OPTION_END}};

static const struct example examples[] = {
    {"climg samples/scene.png --wavelet=6 --inverse-wavelet same.png", "returns the picture that went in"},
    {NULL, NULL},
};

/* Only the kind changes: a pyramid already has the size and the channels of its image. */
static enum status inverse_wavelet_shape(const void *params, const struct shape *in, struct shape *out,
                                         struct error *error)
{
    (void)params;
    (void)in;
    (void)error;
    out->kind = KIND_IMAGE;
    return STATUS_OK;
}

/* Enqueues the transform, which allocates the planes of `out`. */
static enum status run_inverse(struct run *run, const void *params, const struct value *in, struct value *out,
                               struct error *error)
{
    (void)params;
    return dtcwt_inverse(run, NULL, in, out, error);
}

const struct stage stage_inverse_wavelet = {
    .name = "inverse-wavelet",
    .brief = "pyramid back to image",
    .manual = "Reconstructs the image from its dual-tree complex wavelet transform, with the filters of the "
              "forward transform, and crops it to its original size.",
    .examples = examples,
    .options = options,
    .in = KIND_PYRAMID,
    .shape = inverse_wavelet_shape,
    .rows = rows_same,
    .fixed_caps = {.large_halo = true, .groups = true, .relative_cost = 4},
    .run = run_inverse,
};
