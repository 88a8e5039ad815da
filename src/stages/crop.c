/* Crops a part of the picture: a move (filters/warp.h), so samples of any type are copied unchanged.
 *
 *     dst(x, y) = src(x + X, y + Y)
 *
 * filters/box.h computes size and position, which may be a percentage or a gravity, for each picture. A part
 * that reaches beyond the picture is an error, as a batch would get outputs of different sizes otherwise.
 * Chroma planes of video are cropped to whole chroma pixels, or the stage fails. */
#include "filters/box.h"
#include "filters/warp.h"

#include <math.h>
#include <string.h>

struct crop {
    struct box box; /* the size of the part and its position in the picture */
};

/* "inside" is a size only after a rotation, whose angle is not known here. */
static enum status parse_part(const char *text, void *field, struct error *error)
{
    if (strcmp(text, "inside") == 0)
        return fail(error, STATUS_USAGE, "not a size; --rotate DEGREES,crop=inside cuts off empty corners");
    return box_parse_part(text, field, error);
}

static const struct option options[] = {
    BOX_SIZE(
        parse_part,
        "the size that is kept, in pixels or percent, and where it begins, counted from the top left; or "
        "W:H, the largest part of that ratio"),
    BOX_GRAVITY("the side or corner of the part if +X+Y is not given"),
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --crop 50% middle.png", "the middle of a picture"},
    {"climg samples/scene.png --crop 40x30+12+8 part.png",
     "a part, 12 pixels from the left and 8 from the top"},
    {"climg samples/scene.png --crop 30x30,gravity=southeast corner.png", "the lower right corner"},
    {"climg samples/scene.png --crop 16:9 wide.png", "as large as fits a wide screen"},
    {NULL, NULL},
};

/* Returns the position of the part in the picture and sets its size, both in pixels of the full picture. */
static struct point crop_position(const struct crop *crop, const struct shape *in, struct shape *part)
{
    const struct shape full = shape_full(in);
    *part = full;
    box_set_size(&crop->box, &full, part);
    return box_position(&crop->box, part, &full);
}

/* Returns the map from the part to the picture. In a reduced picture the part begins with the pixel that
 * contains its first column and row. */
static struct affine crop_map(const void *params, const struct shape *in)
{
    struct shape part;
    const struct point at = crop_position(params, in, &part);
    if (in->reduced.factor == 0)
        return (struct affine){1, 0, at.x, 0, 1, at.y};
    return (struct affine){1, 0, floor(in->reduced.left + (double)at.x / in->reduced.factor),
                           0, 1, floor(in->reduced.top + (double)at.y / in->reduced.factor)};
}

/* Divides the box by the subsampling. */
static enum status crop_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    return box_adapt_to_chroma(&((struct crop *)params)->box, chroma->luma_in, chroma->luma_out, chroma,
                               error);
}

/* Sets the size of the part. In a reduced picture it has all pixels that it touches. Fails if the part is not
 * inside the picture. */
static enum status crop_shape(const void *params, const struct shape *in, struct shape *out,
                              struct error *error)
{
    const struct shape full = shape_full(in);
    struct shape part;
    const struct point at = crop_position(params, in, &part);
    if (at.x < 0 || at.y < 0 || (int64_t)at.x + part.width > full.width ||
        (int64_t)at.y + part.height > full.height)
        return fail(error, STATUS_FAILED,
                    "--crop: the picture is %dx%d, which does not hold %dx%d from +%d+%d", full.width,
                    full.height, part.width, part.height, at.x > 0 ? at.x : 0, at.y > 0 ? at.y : 0);
    out->width = part.width;
    out->height = part.height;
    if (in->reduced.factor == 0)
        return STATUS_OK;
    const int factor = in->reduced.factor;
    const struct affine first = crop_map(params, in);
    const double left = in->reduced.left + (double)at.x / factor,
                 top = in->reduced.top + (double)at.y / factor;
    out->reduced = (struct reduction){.factor = factor,
                                      .width = part.width,
                                      .height = part.height,
                                      .left = left - first.x,
                                      .top = top - first.y};
    out->width = (int)(fmin(ceil(left + (double)part.width / factor), in->width) - first.x);
    out->height = (int)(fmin(ceil(top + (double)part.height / factor), in->height) - first.y);
    return STATUS_OK;
}

static struct interval crop_rows(const void *params, const struct shape *in, struct interval out)
{
    const int y = (int)crop_map(params, in).y;
    return (struct interval){out.begin + y, out.end + y};
}

static enum status run_crop(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    /* Warn if the size is probably a ratio, as in --crop 16x9 of a photo. A square is probably meant as it
     * is. */
    enum { RATIO_MAX_SIDE = 21, SMALLEST_REDUCTION = 16 };
    const struct affine affine = crop_map(params, &in->shape);
    const struct box *box = &((const struct crop *)params)->box;
    const double width = box->width.number, height = box->height.number;
    const bool is_like_ratio = !box->has_position && box->ratio == 0 && !box->width.is_percent &&
                               !box->height.is_percent && width != height &&
                               fmax(width, height) <= RATIO_MAX_SIDE &&
                               fmin(in->shape.width / width, in->shape.height / height) >= SMALLEST_REDUCTION;
    for (int i = 0; i < in->shape.images && is_like_ratio; i++)
        run_warn(run, i, "--crop WxH counts pixels; a ratio has a colon, as in 16:9");
    return move_image(run, &affine, in, out, error);
}

/* A part of a reduced picture is a reduced picture, too. */
static struct stage_caps crop_caps(const void *params)
{
    struct stage_caps caps = move_caps(params);
    caps.returns_reduced = true;
    return caps;
}

const struct stage stage_crop = {
    .name = "crop",
    .brief = "keep a part of the picture",
    .manual = "Keeps a part of WxH pixels, percent of the picture's size, or the ratio W:H, and drops the "
              "rest. +X+Y is "
              "where the part begins; without it the part is in the middle, or where gravity= says. The part "
              "must be inside the picture. Samples are copied unchanged, but 64-bit floats become 32-bit.\n\n"
              "Left and top are those of the picture as it is seen: a photo that is stored on its side is "
              "turned first, unless --stored-orientation is given.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct crop),
    .shape = crop_shape,
    .rows = crop_rows,
    .inverse_map = crop_map,
    .caps = crop_caps,
    .adapt_to_chroma = crop_adapt_to_chroma,
    .run = run_crop,
};
