/* Places the picture on a larger canvas: options and manual; the work is in filters/canvas.h, which --border
 * shares.
 *
 *     dst(x, y) = src(x - X, y - Y) inside the picture, otherwise the colour, or what the border rule says
 *
 * The canvas must contain the picture: a number that is too small fails instead of cropping. */
#include "filters/canvas.h"

static const struct option options[] = {
    BOX_SIZE(box_parse_canvas, "the size of the canvas, in pixels or percent of the picture, and where the "
                               "picture begins on it, counted from the top left; or W:H, the smallest canvas "
                               "of that ratio"),
    CANVAS_COLOUR,
    BOX_GRAVITY("the side or corner of the picture if +X+Y is not given"),
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --extend 110%,color=white framed.png", "a white margin around a picture"},
    {"climg samples/soft-alpha.png --extend 640x480+20+40,color=#204060 card.png",
     "a blue margin, 20 pixels at the left and 40 at the top; what is transparent in the picture stays so"},
    {"climg samples/scene.png --extend 120%x100%,color=edge,gravity=west --edge mirror wide.png",
     "wider to the right, by the picture's mirror image"},
    {"climg samples/scene.png --extend 1:1,color=white square.png",
     "a square, with margins where they are needed"},
    {NULL, NULL},
};

/* Sets the size of the canvas. */
static enum status extend_shape(const void *params, const struct shape *in, struct shape *out,
                                struct error *error)
{
    if (canvas_shape("--extend", params, in, out, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct point at = box_position(params, in, out);
    if (at.x >= 0 && at.y >= 0 && (long long)at.x + in->width <= out->width &&
        (long long)at.y + in->height <= out->height)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "--extend: the picture of %dx%d at %+d%+d does not fit on the canvas of %dx%d; --crop cuts",
                in->width, in->height, at.x, at.y, out->width, out->height);
}

const struct stage stage_extend = {
    .name = "extend",
    .brief = "the picture on a larger canvas",
    .manual =
        "Puts the picture on a canvas of WxH pixels, or of the ratio W:H; a percentage is of the picture's "
        "size. +X+Y is where the picture begins on the canvas; without it the picture is in the middle, or "
        "where gravity= says. Samples are copied unchanged, but 64-bit floats become 32-bit. --crop undoes "
        "it.\n\n"
        "Left and top are those of the picture as it is seen: a photo that is stored on its side is turned "
        "first, unless --stored-orientation is given.\n\n"
        "The rest of the canvas is black, or transparent if the picture has alpha. color= sets it: black, "
        "white or #rrggbb (in a gray picture the gray that looks as bright); transparent, if the picture has "
        "alpha; or edge, which continues the picture by the rule of --edge. In #rrggbb ff is full scale, or "
        "the value that --range makes white. These are samples of the file, also with --linear and after "
        "other stages; with --linear, floats without a profile get their light.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct canvas),
    .shape = extend_shape,
    .rows = canvas_rows,
    .inverse_map = canvas_inverse_map,
    .caps = canvas_caps,
    .adapt_to_chroma = canvas_adapt_to_chroma,
    .run = canvas_run,
};
