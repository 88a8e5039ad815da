/* Places the picture on a larger canvas.
 *
 * From raster to raster, kernels/extend_samples.cl copies samples of any type and fills the rest with one
 * pixel of that type. From planes, it is a warp that copies (filters/warp.h), with `fill` beyond the picture.
 * The fill is sRGB; after --linear it is converted, for gray it becomes the luminance of ITU-R BT.709. */
#include "base/exact.h"
#include "filters/box.h"
#include "filters/warp.h"
#include "image/sample.h"
#include "settings/settings.h"

#include <math.h>
#include <string.h>

enum { FILL_ZERO, FILL_EDGE, FILL_TRANSPARENT, FILL_COLOUR };

/* The content of the canvas around the picture. */
struct fill {
    int kind;
    double colour[3]; /* FILL_COLOUR: red, green and blue in sRGB; 1 is full scale */
};

struct extend {
    struct box box;
    struct fill fill;
    bool linear; /* planes hold linear light */
};

/* Parses color=. White and black are colours; zero differs from black by being transparent with alpha. */
static enum status parse_fill(const char *text, void *field, struct error *error)
{
    struct fill *fill = field;
    unsigned rgb[3];
    int length = 0;
    *fill = (struct fill){.kind = FILL_COLOUR};
    if (strcmp(text, "zero") == 0)
        fill->kind = FILL_ZERO;
    else if (strcmp(text, "edge") == 0)
        fill->kind = FILL_EDGE;
    else if (strcmp(text, "transparent") == 0)
        fill->kind = FILL_TRANSPARENT;
    else if (strcmp(text, "white") == 0)
        fill->colour[0] = fill->colour[1] = fill->colour[2] = 1;
    else if (sscanf(text, "#%2x%2x%2x%n", &rgb[0], &rgb[1], &rgb[2], &length) == 3 && length == 7 &&
             strlen(text) == 7 && strspn(text + 1, "0123456789abcdefABCDEF") == 6)
        for (int i = 0; i < 3; i++)
            fill->colour[i] = rgb[i] / 255.0;
    else if (strcmp(text, "black") != 0)
        return fail(error, STATUS_USAGE, "expected black, white, transparent, edge, zero or #rrggbb");
    return STATUS_OK;
}

static void print_fill(FILE *file, const void *params)
{
    const struct fill *fill = &((const struct extend *)params)->fill;
    static const char *const words[] = {"zero", "edge", "transparent"};
    if (fill->kind != FILL_COLOUR)
        fputs(words[fill->kind], file);
    else
        fprintf(file, "#%02x%02x%02x", (unsigned)lrint(255 * fill->colour[0]),
                (unsigned)lrint(255 * fill->colour[1]), (unsigned)lrint(255 * fill->colour[2]));
}

static const struct option options[] = {
    BOX_SIZE(box_parse_canvas,
             "the size of the canvas, in pixels or percent of the picture, and where the picture "
             "begins on it, counted from the top left"),
    {.name = "color",
     .type = OPTION_CUSTOM,
     .offset = offsetof(struct extend, fill),
     .fallback = "zero",
     .value = "COLOR",
     .help =
         "black, white, #rrggbb, transparent, or edge for what --edge says; zero: black, transparent with "
         "alpha",
     .parse = parse_fill,
     .print = print_fill},
    BOX_GRAVITY("the side or corner of the picture if +X+Y is not given"),
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --extend 110%,color=white framed.png", "a white margin around a picture"},
    {"climg samples/soft-alpha.png --extend 640x480+20+40,color=#204060 card.png",
     "on a blue canvas, 20 pixels from the left and 40 from the top"},
    {"climg samples/scene.png --extend 120%x100%,color=edge,gravity=west --edge mirror wide.png",
     "wider to the right, by the picture's mirror image"},
    {NULL, NULL},
};

/* Returns the pixel of the canvas at which the picture begins. */
static struct place place_on_canvas(const struct extend *extend, const struct shape *in)
{
    struct shape canvas = *in;
    box_set_size(&extend->box, in, &canvas);
    return box_place(&extend->box, in, &canvas);
}

static enum status extend_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct extend *extend = params;
    if (extend->fill.kind != FILL_EDGE)
        return fail(error, STATUS_FAILED, "needs color=edge on video, whose black is not 0");
    return box_adapt_to_chroma(&extend->box, chroma->out, chroma->in, chroma, error);
}

static enum status extend_shape(const void *params, const struct shape *in, struct shape *out,
                                struct error *error)
{
    const struct extend *extend = params;
    const struct place at = place_on_canvas(extend, in);
    box_set_size(&extend->box, in, out);
    if (extend->fill.kind == FILL_TRANSPARENT && !in->alpha)
        return fail(error, STATUS_FAILED, "--extend color=transparent: the picture has no alpha");
    if (out->width < in->width || out->height < in->height)
        return fail(error, STATUS_FAILED,
                    "--extend: the picture is %dx%d, larger than the canvas of %dx%d; --crop cuts it",
                    in->width, in->height, out->width, out->height);
    if (out->width > BOX_MAX_SIDE || out->height > BOX_MAX_SIDE)
        return fail(error, STATUS_FAILED, "--extend would make %dx%d pixels; a side is at most %d",
                    out->width, out->height, BOX_MAX_SIDE);
    if ((long long)at.x + in->width <= out->width && (long long)at.y + in->height <= out->height)
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "--extend: the picture is %dx%d, too large for %dx%d from +%d+%d",
                in->width, in->height, out->width, out->height, at.x, at.y);
}

/* Returns rows that may be outside the picture only if the border rule applies to them. */
static struct rows extend_rows(const void *params, const struct shape *in, struct rows out)
{
    const int y = place_on_canvas(params, in).y;
    const struct rows window = {out.begin - y, out.end - y};
    return ((const struct extend *)params)->fill.kind == FILL_EDGE ? window : rows_clip(window, in->height);
}

static struct affine extend_inverse_map(const void *params, const struct shape *in)
{
    const struct place at = place_on_canvas(params, in);
    return (struct affine){1, 0, -at.x, 0, 1, -at.y};
}

/* With color=edge a border rule such as mirror may lead upwards while slices proceed downwards. */
static struct stage_caps extend_caps(const void *params)
{
    struct stage_caps caps = move_caps(params);
    caps.needs_all_rows = ((const struct extend *)params)->fill.kind == FILL_EDGE;
    return caps;
}

static enum status extend_prepare(void *params, const struct settings *settings, struct error *error)
{
    (void)error;
    ((struct extend *)params)->linear = settings->linear;
    return STATUS_OK;
}

/* True if the canvas continues the picture by the border rule. */
static bool follows_edge(const struct run *run, const struct extend *extend)
{
    return extend->fill.kind == FILL_EDGE && run->edge != EDGE_ZERO;
}

/* Computes the channels of the fill for a shape. In gray it is the luminance (ITU-R BT.709, 3.2), as in
 * --gray. */
static void find_channels(const struct fill *fill, const struct shape *shape, double *channels)
{
    const double *rgb = fill->colour;
    const int colours = shape->channels - shape->alpha;
    for (int c = 0; c < shape->channels; c++)
        channels[c] = colours == 3 ? rgb[c % 3] : 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
    if (shape->alpha)
        channels[colours] = fill->kind == FILL_COLOUR;
}

/* Converts an sRGB value to linear light (IEC 61966-2-1). */
static double to_light(double value)
{
    return value <= 0.04045 ? value / 12.92 : exact_pow((value + 0.055) / 1.055, 2.4);
}

/* Uploads the fill as a pixel of the raster's sample type. */
static enum status run_fill(struct run *run, const struct extend *extend, const struct shape *shape,
                            const struct raster *raster, cl_mem *fill, struct error *error)
{
    const enum sample_type type = (enum sample_type)raster->sample;
    double channels[4];
    float pixel[4] = {0};
    find_channels(&extend->fill, shape, channels);
    for (int c = 0; c < shape->channels; c++) {
        const bool alpha = shape->alpha && c == shape->channels - 1;
        const double black = alpha ? 0 : raster->black, white = alpha ? 1 : raster->white;
        sample_set(type, pixel, (size_t)c, black + channels[c] * (white - black));
    }
    return run_constants(run, pixel, 4, fill, error);
}

/* Enqueues kernels/extend_samples.cl, from raster to raster. */
static enum status extend_samples(struct run *run, const struct extend *extend, const struct value *in,
                                  const struct value *out, struct error *error)
{
    const struct place place = place_on_canvas(extend, &in->shape);
    const struct planes dst = value_planes(out);
    const struct {
        cl_int x, y, picture_width, picture_height, width, first_row, rows, follows;
    } at = {place.x,   place.y,       in->shape.width, in->shape.height,
            dst.width, dst.first_row, dst.rows,        follows_edge(run, extend)};
    cl_mem fill;
    if (run_fill(run, extend, &out->shape, out->raster, &fill, error) != STATUS_OK)
        return STATUS_FAILED;
    cl_int units;
    struct work work = move_work(run, "extend_samples", out, &units);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(in->raster), ARGS_RASTER(out->raster),
                  ARG(units), ARG(at), ARG_MEMORY(fill));
}

static enum status run_extend(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    const struct extend *extend = params;
    const struct affine affine = extend_inverse_map(params, &in->shape);
    struct warp_options copying = {.copies = true,
                                   .outside = extend->fill.kind == FILL_EDGE ? OUTSIDE_EDGE : OUTSIDE_ZERO};
    double channels[4];
    if (out->raster) /* unchanged samples of the file */
        return extend_samples(run, extend, in, out, error);
    find_channels(&extend->fill, &out->shape, channels);
    for (int c = 0; c < out->shape.channels; c++)
        copying.fill[c] = (cl_float)(extend->linear ? to_light(channels[c]) : channels[c]);
    return warp_image(run, &affine, &copying, in, out, error);
}

const struct stage stage_extend = {
    .name = "extend",
    .brief = "the picture on a larger canvas",
    .manual =
        "Puts the picture on a canvas of WxH pixels; a percentage is of the picture's size. +X+Y is where "
        "the picture begins on the canvas; without it the picture is in the middle, or where gravity= "
        "says. Samples are copied unchanged, but 64-bit floats become 32-bit. --crop undoes it.\n\n"
        "Left and top are those of the picture as it is seen: a photo that is stored on its side is turned "
        "first, unless --stored-orientation is given.\n\n"
        "The rest of the canvas is black, or transparent if the picture has alpha. color= sets it: black, "
        "white or #rrggbb (in a gray picture the gray that looks as bright); transparent, if the picture "
        "has alpha; or edge, which continues the picture by the rule of --edge. In #rrggbb ff is full "
        "scale, or the value that --range makes white. With --linear and after another stage the colour is "
        "still sRGB.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct extend),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .prepare = extend_prepare,
    .shape = extend_shape,
    .rows = extend_rows,
    .inverse_map = extend_inverse_map,
    .caps = extend_caps,
    .adapt_to_chroma = extend_adapt_to_chroma,
    .run = run_extend,
};
