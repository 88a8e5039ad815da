/* Crops a part of the picture: a move (filters/warp.h), so samples of any type are copied unchanged.
 *
 *     dst(x, y) = src(x + X, y + Y)
 *
 * filters/box.h has the size and the position, which may be percentages or a gravity and so depend on the
 * picture. A part that reaches beyond the picture is an error: cutting it short would give a batch outputs of
 * differing sizes. Chroma planes of video are cropped to whole chroma pixels, or the stage fails. */
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
    BOX_SIZE(parse_part,
             "the size that is kept, in pixels or percent, and where it begins, counted from the top left"),
    BOX_GRAVITY("the side or corner of the part if +X+Y is not given"),
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --crop 50% middle.png", "the middle of a picture"},
    {"climg samples/scene.png --crop 40x30+12+8 part.png",
     "a part, 12 pixels from the left and 8 from the top"},
    {"climg samples/scene.png --crop 30x30,gravity=southeast corner.png", "the lower right corner"},
    {NULL, NULL},
};

/* Callback `inverse_map`: returns the map from the part to the picture. */
static struct affine crop_map(const void *params, const struct shape *in)
{
    const struct crop *crop = params;
    struct shape part = *in;
    box_set_size(&crop->box, in, &part);
    const struct place at = box_place(&crop->box, &part, in);
    return (struct affine){1, 0, at.x, 0, 1, at.y};
}

/* Divides the box by the subsampling. */
static enum status crop_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    return box_adapt_to_chroma(&((struct crop *)params)->box, chroma->in, chroma->out, chroma, error);
}

/* Sets the size of the part. Fails if the part is not inside the picture. */
static enum status crop_shape(const void *params, const struct shape *in, struct shape *out,
                              struct error *error)
{
    const struct crop *crop = params;
    const struct affine at = crop_map(crop, in);
    box_set_size(&crop->box, in, out);
    if (at.x >= 0 && at.y >= 0 && at.x + out->width <= in->width && at.y + out->height <= in->height)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "--crop: the picture is %dx%d, which does not hold %dx%d from +%.0f+%.0f", in->width,
                in->height, out->width, out->height, fmax(at.x, 0), fmax(at.y, 0));
}

static struct rows crop_rows(const void *params, const struct shape *in, struct rows out)
{
    const int y = (int)crop_map(params, in).y;
    return (struct rows){out.begin + y, out.end + y};
}

static enum status run_crop(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct affine affine = crop_map(params, &in->shape);
    return move_image(run, &affine, in, out, error);
}

const struct stage stage_crop = {
    .name = "crop",
    .brief = "keep a part of the picture",
    .manual =
        "Keeps a part of WxH pixels, or percent of the picture's size, and drops the rest. +X+Y is where "
        "the part begins; without it the part is in the middle, or where gravity= says. The part must be "
        "inside the picture. Samples are copied unchanged, but 64-bit floats become 32-bit.\n\n"
        "Left and top are those of the picture as it is seen: a photo that is stored on its side is turned "
        "first, unless --stored-orientation is given.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct crop),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .shape = crop_shape,
    .rows = crop_rows,
    .inverse_map = crop_map,
    .caps = move_caps,
    .adapt_to_chroma = crop_adapt_to_chroma,
    .run = run_crop,
};
