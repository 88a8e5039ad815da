/* Forward dual-tree complex wavelet transform: options and rows; the transform is in wavelet/dtcwt.h.
 * N. Kingsbury, "Complex wavelets for shift invariant analysis and filtering of signals", Applied and
 * Computational Harmonic Analysis 10 (2001).
 *
 *     image -> level 1: six complex subbands of half the size, and a lowpass -> level 2 -> ... -> lowpass
 *
 * Level n has 12 real numbers for 4^n pixels of the image, so a pyramid takes about four times the memory of
 * its image. Odd sizes are padded. The shape of the pyramid contains the parameters, for the inverse
 * transform.
 *
 * Slices of a pyramid are counted in rows of the image. A slice has the coefficients from which the inverse
 * transform computes these rows.
 *
 *     slice of the image --dtcwt_inverse_rows()--> rows of subbands and lowpass
 *                        --dtcwt_forward_rows()--> rows of the image that the forward transform reads
 *
 * Each level doubles the reach of the filters. So slices are used only if the whole image does not fit into
 * memory (caps.large_halo). */
#include "engine/run.h"
#include "wavelet/dtcwt.h"

struct wavelet {
    int levels; /* 1 to MAX_LEVELS */
    int biort;  /* index into BIORT_CHOICES: filters of level 1 */
    int qshift; /* index into QSHIFT_CHOICES: filters of all coarser levels */
};

static const struct option options[] = {
    {.type = OPTION_INTEGER,
     .offset = offsetof(struct wavelet, levels),
     .fallback = "4",
     .min = 1,
     .max = MAX_LEVELS,
     .value = "LEVELS",
     .optional = true,
     .help = "number of levels"},
    {.name = "biort",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct wavelet, biort),
     .fallback = "near_sym_a",
     .choices = BIORT_CHOICES,
     .help = "biorthogonal filters of level 1"},
    {.name = "qshift",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct wavelet, qshift),
     .fallback = "qshift_a",
     .choices = QSHIFT_CHOICES,
     .help = "quarter-shift filters of the coarser levels"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --wavelet levels.png", "all levels and orientations in one picture"},
    {"climg samples/scene.png --wavelet coefficients.tif",
     "every coefficient, for --inverse-wavelet and Python"},
    {"climg samples/scene.png --wavelet=5 --inverse-wavelet --depth float same.tif",
     "transform and reconstruct"},
    {NULL, NULL},
};

/* Sets the shape of the pyramid. Fails if the picture is too small for that many levels. */
static enum status wavelet_shape(const void *params, const struct shape *in, struct shape *out,
                                 struct error *error)
{
    const struct wavelet *wavelet = params;
    const int max_levels = dtcwt_max_levels(in->width, in->height);
    if (wavelet->levels > max_levels)
        return fail(error, STATUS_FAILED, "--wavelet=%d: an image of %dx%d pixels allows at most %d levels",
                    wavelet->levels, in->width, in->height, max_levels);
    out->kind = KIND_PYRAMID;
    out->levels = wavelet->levels;
    out->biort = wavelet->biort;
    out->qshift = wavelet->qshift;
    return STATUS_OK;
}

/* Returns the rows of the image that the slice of rows `out` needs. */
static struct interval wavelet_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct wavelet *wavelet = params;
    struct shape pyramid = {
        .height = in->height, .levels = wavelet->levels, .biort = wavelet->biort, .qshift = wavelet->qshift};
    struct dtcwt_rows needed = {.positions = 0}; /* 0: all rows; the noise estimate samples some */
    dtcwt_inverse_rows(&pyramid, out, &needed);
    dtcwt_forward_rows(&pyramid, &needed);
    return needed.image;
}

static enum status run_wavelet(struct run *run, const void *params, const struct value *in, struct value *out,
                               struct error *error)
{
    struct dtcwt_rows needed = {.positions = 0};
    (void)params; /* out->shape has them */
    dtcwt_inverse_rows(&out->shape, out->rows, &needed);
    dtcwt_forward_rows(&out->shape, &needed);
    return dtcwt_forward(run, in, &needed, out, error);
}

const struct stage stage_wavelet = {
    .name = "wavelet",
    .brief = "dual-tree complex wavelet transform",
    .manual =
        "Splits the picture into a lowpass of about 1 / 2^(LEVELS - 1) of its size and, on each level, six "
        "complex subbands: stripes at 15, 45, 75, -75, -45 and -15 degrees (anticlockwise from horizontal). "
        "Their magnitude hardly changes when the picture shifts, which sets this transform apart from the "
        "ordinary wavelet transform. Any size works; borders are mirrored, independent of --edge.\n\n"
        "The result is a pyramid. A TIFF keeps every coefficient (--inverse-wavelet and Python read it); in "
        "any other format, or before an image stage, it becomes the picture that --mosaic makes. "
        "--inverse-wavelet reconstructs the image.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct wavelet),
    .out = KIND_PYRAMID,
    .shape = wavelet_shape,
    .rows = wavelet_rows,
    .fixed_caps = {.large_halo = true, .groups = true, .relative_cost = 4},
    .run = run_wavelet,
};
