/* A stage that turns a picture upright according to its orientation tag. chain_auto_orient inserts it at the
 * start of a chain, or after --inverse-wavelet of a coefficient file. It is not in the list of stages, as its
 * parameter comes from the file. */
#include "chain/chain.h"

#include "filters/warp.h"

struct auto_orient {
    int orientation; /* tag 274 of TIFF 6.0, 2 to 8 */
};

static const struct option options[] = {
    {.type = OPTION_INTEGER, .offset = offsetof(struct auto_orient, orientation), .min = 2, .max = 8},
    {.type = OPTION_END},
};

static enum status auto_orient_shape(const void *params, const struct shape *in, struct shape *out,
                                     struct error *error)
{
    const int orientation = ((const struct auto_orient *)params)->orientation;
    const bool swaps_axes = orientation_swaps_axes(orientation);
    (void)error;
    out->width = swaps_axes ? in->height : in->width;
    out->height = swaps_axes ? in->width : in->height;
    if (in->reduced.factor == 0)
        return STATUS_OK;
    /* `in` is a JPEG decoded at 1 / reduced.factor. If its full size is no multiple of the factor, the last
     * pixel of a row or column is only partly inside the full picture. If the picture is mirrored, this
     * becomes the first pixel, and `left` or `top` is its share outside. */
    const struct shape full = shape_full(in);
    const struct affine map = orientation_map(orientation, full.width, full.height);
    struct reduction *reduced = &out->reduced;
    reduced->width = swaps_axes ? full.height : full.width;
    reduced->height = swaps_axes ? full.width : full.height;
    if (map.xx + map.yx < 0)
        reduced->left = out->width - (double)reduced->width / reduced->factor;
    if (map.xy + map.yy < 0)
        reduced->top = out->height - (double)reduced->height / reduced->factor;
    return STATUS_OK;
}

static struct affine auto_orient_inverse_map(const void *params, const struct shape *in)
{
    return orientation_map(((const struct auto_orient *)params)->orientation, in->width, in->height);
}

static enum status run_auto_orient(struct run *run, const void *params, const struct value *in,
                                   struct value *out, struct error *error)
{
    const struct affine corners = auto_orient_inverse_map(params, &in->shape),
                        centres = affine_move_origin(&corners, -0.5);
    return move_image(run, &centres, in, out, error);
}

static struct stage_caps auto_orient_caps(const void *params)
{
    struct stage_caps caps = move_caps(params);
    caps.returns_reduced = true;
    return caps;
}

const struct stage stage_auto_orient = {
    .name = "auto-orient",
    .options = options,
    .params_size = sizeof(struct auto_orient),
    .shape = auto_orient_shape,
    .rows = rows_all,
    .caps = auto_orient_caps,
    .inverse_map = auto_orient_inverse_map,
    .run = run_auto_orient,
};
