/* Mirrors the picture: a move (filters/warp.h), so samples of any type are copied unchanged.
 *
 *     --flip h   dst(x, y) = src(width - 1 - x, y)
 *     --flip v   dst(x, y) = src(x, height - 1 - y)
 *
 * Slices proceed from top to bottom, so a vertical flip needs the whole input. As the first stage it moves
 * rasters, before they become planes.
 *
 * Video: chroma is interpolated if it is sited on one side of the luma samples.
 *
 *     luma      0   1   2   3    flipped   3   2   1   0
 *     chroma    0       2        needed    3       1        but only 2 and 0 exist
 */
#include "filters/warp.h"

struct flip {
    int axis;          /* HORIZONTALLY or VERTICALLY */
    bool is_chroma;    /* a chroma plane: `map` replaces the axis */
    struct affine map; /* from the output's chroma positions to the input's */
};

/* For chroma whose mirrored positions are between samples: the filter. */
static const struct warp_options interpolation = {.resampler = RESAMPLE_BICUBIC, .outside = OUTSIDE_EDGE};

enum { HORIZONTALLY, VERTICALLY };

static const struct option options[] = {
    {.type = OPTION_CHOICE,
     .offset = offsetof(struct flip, axis),
     .choices = "h|v",
     .value = "h|v",
     .help = "h: exchange left and right; v: exchange top and bottom",
     .hint = "h is horizontal, v vertical"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --flip h mirrored.png", "mirror left-right"},
    {"climg samples/scene.png --flip v reflection.png", "upside down"},
    {NULL, NULL},
};

/* Returns the map from the output to the input; a flip is its own inverse. */
static struct affine flip_map(const struct flip *flip, const struct shape *in)
{
    if (flip->is_chroma)
        return flip->map;
    return flip->axis == HORIZONTALLY ? (struct affine){-1, 0, in->width - 1, 0, 1, 0}
                                      : (struct affine){1, 0, 0, 0, -1, in->height - 1};
}

/* True if chroma cannot be copied. */
static bool interpolates(const struct flip *flip)
{
    return flip->is_chroma && !warp_is_whole(&flip->map);
}

/* Returns the mirrored rows. Interpolated chroma needs the rows around them, too. */
static struct interval flip_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct flip *flip = params;
    if (interpolates(flip))
        return warp_source_rows(&flip->map, &interpolation, in->width, in, out);
    return flip->axis == HORIZONTALLY ? out : (struct interval){in->height - out.end, in->height - out.begin};
}

static struct affine flip_inverse_map(const void *params, const struct shape *in)
{
    const struct affine affine = flip_map(params, in);
    return affine_move_origin(&affine, 0.5);
}

/* Interpolated chroma is a warp, not a lossless move. */
static struct stage_caps flip_caps(const void *params)
{
    const struct flip *flip = params;
    struct stage_caps caps = move_caps(params);
    caps.needs_all_rows = flip->axis == VERTICALLY;
    if (interpolates(flip))
        caps = (struct stage_caps){
            .needs_all_rows = true, .groups = true, .needs_upright = true, .relative_cost = 6};
    return caps;
}

/* A plain flip would move chroma sited on left luma samples (C422, C420mpeg2) to the right ones. */
static enum status flip_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct flip *flip = params;
    (void)error;
    const struct affine luma = flip_map(flip, chroma->luma_in);
    flip->map = warp_chroma_map(&luma, chroma);
    flip->is_chroma = true;
    return STATUS_OK;
}

static enum status run_flip(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct affine affine = flip_map(params, &in->shape);
    if (interpolates(params))
        return warp_image(run, &affine, &interpolation, in, out, error);
    return move_image(run, &affine, in, out, error);
}

const struct stage stage_flip = {
    .name = "flip",
    .brief = "mirror left to right, or top to bottom",
    .manual = "Mirrors the picture: --flip h exchanges left and right, --flip v top and bottom. Samples are "
              "copied unchanged, but 64-bit floats become 32-bit; a JPEG of whole blocks is mirrored without "
              "coding it again, which -v says. Quarter turns are --rotate 90.\n\n"
              "Left and top are those of the picture as it is seen: a photo that is stored on its side is "
              "turned first, unless --stored-orientation is given.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct flip),
    .rows = flip_rows,
    .caps = flip_caps,
    .inverse_map = flip_inverse_map,
    .adapt_to_chroma = flip_adapt_to_chroma,
    .run = run_flip,
};
