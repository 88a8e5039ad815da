/* A border of constant width around the picture, or if the width is negative, cuts as much off each side.
 *
 * This is --extend (filters/canvas.h) with fixed parameters: the canvas has 100% of the picture's size and a
 * margin at each end (struct length), and the picture is in the middle (gravity 0 of struct box).
 *
 *     |<- W ->|<----- picture ----->|<- W ->|
 *
 * A fraction of the picture, as ImageMagick's -border 10%, is --extend 120%. */
#include "filters/canvas.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Parses "20", "-20" or "20x10": pixels at the left and right, and at the top and bottom. */
static enum status parse_border(const char *text, void *field, struct error *error)
{
    struct box *box = field;
    int x, y, length = 0;
    const int numbers = sscanf(text, "%9d%nx%9d%n", &x, &length, &y, &length);
    if (numbers == 1)
        y = x;
    if (numbers >= 1 && text[length] == ',' && isalpha((unsigned char)text[length + 1]))
        return fail(error, STATUS_USAGE, "did you mean %.*s,color=%s?", length, text, text + length + 1);
    if (numbers < 1 || text[length] != '\0' || abs(x) > BOX_MAX_SIDE || abs(y) > BOX_MAX_SIDE)
        return fail(error, STATUS_USAGE,
                    "expected the pixels on every side, or WxH for left and right, top and bottom, as in 20, "
                    "-20 or 20x10, up to %d; --extend takes percent",
                    BOX_MAX_SIDE);
    box->width = (struct length){.number = 100, .is_percent = true, .margin = x};
    box->height = (struct length){.number = 100, .is_percent = true, .margin = y};
    return STATUS_OK;
}

/* Prints both numbers, so that "20" and "20x20" are equal for --resume. */
static void print_border(FILE *file, const void *field)
{
    const struct box *box = field;
    fprintf(file, "%dx%d", box->width.margin, box->height.margin);
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .value = "N|WxH",
     .help = "pixels on every side, negative ones to cut off; or W at the left and the right, H at the top "
             "and the bottom",
     .parse = parse_border,
     .print = print_border},
    CANVAS_COLOUR,
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --border 20,color=white framed.png", "20 white pixels on every side"},
    {"climg samples/scene.png --border 40x0,color=edge --edge mirror wide.png",
     "40 pixels more at the left and the right, the picture's mirror image"},
    {"climg samples/page.jpg --border -12 cut.png", "12 pixels less on every side"},
    {NULL, NULL},
};

static enum status border_shape(const void *params, const struct shape *in, struct shape *out,
                                struct error *error)
{
    if (canvas_shape("--border", params, in, out, error) != STATUS_OK)
        return STATUS_FAILED;
    return out->width > 0 && out->height > 0
               ? STATUS_OK
               : fail(error, STATUS_FAILED, "--border leaves nothing of the picture, which is %dx%d",
                      in->width, in->height);
}

const struct stage stage_border = {
    .name = "border",
    .brief = "a border around the picture, or cut one off",
    .manual =
        "Adds N pixels on every side of the picture, or W at its left and right and H at its top and bottom. "
        "This is --extend to a canvas that is larger by these pixels; its help explains color=. Negative "
        "numbers cut as many pixels off, whatever the size of the picture. Samples are copied unchanged, but "
        "64-bit floats become 32-bit.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct canvas),
    .shape = border_shape,
    .rows = canvas_rows,
    .inverse_map = canvas_inverse_map,
    .caps = canvas_caps,
    .adapt_to_chroma = canvas_adapt_to_chroma,
    .run = canvas_run,
};
